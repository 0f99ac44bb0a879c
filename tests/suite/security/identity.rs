//! Tests of authentication and permissions: keys, headers that carry them, models.

use crate::harness::error_shape::assert_error_body;
use crate::harness::request::{ANN, BOB};
use crate::harness::{PROTOCOLS, Request, TestSetup, body_of};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

#[tokio::test]
async fn a_key_is_found_in_its_carriers_and_nowhere_else() {
    let world = TestSetup::start().await;
    let bearer = |key: &str| ("Authorization", format!("Bearer {key}"));
    let api_key = |key: &str| ("X-Api-Key", key.to_string());
    for (what, carriers, on_messages, elsewhere) in [
        ("a bearer", vec![bearer(ANN)], 200, 200),
        (
            "a bearer in capitals",
            vec![("AUTHORIZATION", format!("BEARER {ANN}"))],
            200,
            200,
        ),
        ("an api key", vec![api_key(ANN)], 200, 401),
        ("both, the same", vec![bearer(ANN), api_key(ANN)], 200, 200),
        ("both, different", vec![bearer(ANN), api_key(BOB)], 401, 200),
        ("nothing", vec![], 401, 401),
        ("an unknown key", vec![bearer("sk-eve")], 401, 401),
        ("half a key", vec![bearer(&ANN[..ANN.len() - 1])], 401, 401),
        ("a key and more", vec![bearer(&format!("{ANN}x"))], 401, 401),
        (
            "a key in capitals",
            vec![bearer(&ANN.to_uppercase())],
            401,
            401,
        ),
        (
            "an empty bearer",
            vec![("Authorization", "Bearer ".into())],
            401,
            401,
        ),
        (
            "another scheme",
            vec![("Authorization", format!("Basic {ANN}"))],
            401,
            401,
        ),
        ("no scheme", vec![("Authorization", ANN.into())], 401, 401),
        ("a bearer twice", vec![bearer(ANN), bearer(ANN)], 401, 401),
        (
            "an api key twice",
            vec![api_key(ANN), api_key(BOB)],
            401,
            401,
        ),
        ("a query", vec![("X-Query", ANN.into())], 401, 401),
        ("a cookie", vec![("Cookie", format!("key={ANN}"))], 401, 401),
    ] {
        for protocol in PROTOCOLS {
            let bare = Request::ask(protocol).without("authorization");
            let request = carriers
                .iter()
                .fold(bare, |request, (name, value)| request.header(name, value));
            let before = world.simulator.records().await.len();
            let answer = world.ask(&request).await;
            let expected = match protocol {
                Protocol::Messages => on_messages,
                _ => elsewhere,
            };
            assert_eq!(
                answer.status,
                expected,
                "{what}, {protocol:?}: {}",
                answer.text()
            );
            if expected == 401 {
                let message = assert_error_body(protocol, &answer, 401);
                assert!(!message.contains("sk-"), "{message}");
                assert_eq!(answer.headers.get("www-authenticate"), Some("Bearer"));
                assert_eq!(world.simulator.records().await.len(), before);
            }
        }
    }
}

#[tokio::test]
async fn a_stranger_is_refused_before_its_body_is_read() {
    let world = TestSetup::start().await;
    for protocol in PROTOCOLS {
        let request = Request::ask(protocol).key("sk-eve");
        let mut connection = world.gateway.connect().await;
        connection.send(&request.head()).await.unwrap();
        assert_error_body(protocol, &connection.answer().await.unwrap(), 401);
    }
}

#[tokio::test]
async fn a_model_of_others_is_forbidden_and_an_unknown_one_not_found() {
    let world = TestSetup::start().await;
    for protocol in PROTOCOLS {
        let ask = |model: &str, key: &str| {
            let mut body = body_of(protocol);
            body["model"] = model.into();
            Request::to(protocol, body.to_string()).key(key)
        };
        let forbidden = world.ask(&ask("demo-large", BOB)).await;
        assert_error_body(protocol, &forbidden, 403);
        assert_eq!(forbidden.json()["error"]["type"], "permission_error");
        assert_eq!(world.ask(&ask("demo-small", BOB)).await.status, 200);
        for (model, key, near) in [
            ("demo-larg", ANN, Some("demo-large")),
            ("demo-smalll", BOB, Some("demo-small")),
            ("demo-larg", BOB, None),
            ("d\u{435}mo-large", ANN, Some("demo-large")),
            ("Demo-Large", ANN, Some("demo-large")),
            ("demo-large\r\nx-injected: 1", ANN, None),
            ("sim-large-2026-08", ANN, None),
            ("nothing like it at all", ANN, None),
        ] {
            let answer = world.ask(&ask(model, key)).await;
            let message = assert_error_body(protocol, &answer, 404);
            let reported = message.replacen(model, "", 1);
            let has_hint = reported.contains("did you mean");
            assert_eq!(has_hint, near.is_some(), "{model}: {message}");
            // Models of other callers are not listed either.
            let is_foreign = key == BOB && reported.contains("demo-large");
            assert!(!is_foreign, "{model}: {message}");
            assert!(
                near.is_none_or(|near| reported.contains(near)),
                "{model}: {message}"
            );
            assert!(answer.headers.get("x-injected").is_none());
            let error = &answer.json()["error"];
            match protocol {
                Protocol::Messages => assert_eq!(error["type"], "not_found_error"),
                _ => {
                    assert_eq!(error["code"], "model_not_found");
                    assert_eq!(error["param"], "model");
                }
            }
        }
    }
    assert_eq!(world.simulator.records().await.len(), PROTOCOLS.len());
}

#[tokio::test]
async fn a_model_is_not_found_over_a_protocol_that_no_channel_of_it_speaks() {
    let world = TestSetup::with(|config| {
        config["channels"]["messages"]["models"] = json!({"other": "sim-other"});
    })
    .await;
    assert_error_body(
        Protocol::Messages,
        &world.ask(&Request::ask(Protocol::Messages)).await,
        404,
    );
    assert_eq!(world.ask(&Request::ask(Protocol::Chat)).await.status, 200);
}

#[tokio::test]
async fn the_model_list_shows_only_the_callers_own_models_in_the_callers_shape() {
    let world = TestSetup::start().await;
    for (key, models) in [
        (ANN, vec!["demo-large", "demo-small"]),
        (BOB, vec!["demo-small"]),
    ] {
        let list = Request::get("/v1/models").key(key);
        let chat = world.ask(&list).await.json();
        assert_eq!(chat["object"], "list");
        assert_eq!(ids(&chat), models);
        for model in chat["data"].as_array().unwrap() {
            assert_eq!(model["object"], "model");
            assert!(
                model["created"].is_u64() && model["owned_by"].is_string(),
                "{model}"
            );
        }
        let list = list.header("anthropic-version", "2023-06-01");
        let messages = world.ask(&list).await.json();
        assert_eq!(ids(&messages), models);
        assert_eq!(messages["has_more"], false);
        assert_eq!(messages["first_id"], models[0]);
        assert_eq!(messages["last_id"], *models.last().unwrap());
        for model in messages["data"].as_array().unwrap() {
            assert_eq!(model["type"], "model");
            assert!(
                model["created_at"].as_str().unwrap().ends_with('Z'),
                "{model}"
            );
            assert!(model["display_name"].is_string(), "{model}");
        }
    }
    let one = world
        .ask(&Request::get("/v1/models/demo-large"))
        .await
        .json();
    assert_eq!(
        (&one["id"], &one["created"]),
        (&json!("demo-large"), &json!(1767225600))
    );
    assert_eq!(world.simulator.records().await.len(), 0);
}

#[tokio::test]
async fn a_model_of_others_looks_like_none_in_the_list() {
    let world = TestSetup::start().await;
    for version in [None, Some("2023-06-01")] {
        let ask = async |model: &str| {
            let request = Request::get(&format!("/v1/models/{model}")).key(BOB);
            let request = match version {
                Some(date) => request.header("anthropic-version", date),
                None => request,
            };
            let answer = world.ask(&request).await;
            let protocol = version.map_or(Protocol::Chat, |_| Protocol::Messages);
            assert_error_body(protocol, &answer, 404)
        };
        assert_eq!(ask("demo-large").await, ask("no-such-model").await);
    }
}

#[tokio::test]
async fn a_stranger_sees_no_models_and_reads_why_in_its_own_shape() {
    let world = TestSetup::start().await;
    for path in ["/v1/models", "/v1/models/demo-large"] {
        let request = Request::get(path).key("sk-eve");
        assert_error_body(Protocol::Chat, &world.ask(&request).await, 401);
        let request = request.header("anthropic-version", "2023-06-01");
        assert_error_body(Protocol::Messages, &world.ask(&request).await, 401);
    }
}

fn ids(list: &Value) -> Vec<&str> {
    let models = list["data"].as_array().unwrap();
    models
        .iter()
        .map(|model| model["id"].as_str().unwrap())
        .collect()
}
