//! Tests of vendors' own APIs: each is served to its SDKs as the family's definition declares it.

use crate::harness::native_apis::{
    GATEWAY, NativeApi, assert_urls_are_the_gateways, native_apis, native_config, urls_in,
};
use crate::harness::request::{ANN, BOB};
use crate::harness::video::{GENERIC, OPENAI, ask, id_of};
use crate::harness::{Gateway, Request, Simulator};
use serde_json::{Value, json};

const DONE: &str = "queue=0ms;run=0ms";
const QUEUED: &str = "queue=60m";

/// Creates a task in the vendor's own format.
async fn create(gateway: &Gateway, api: &NativeApi) -> String {
    let created = gateway.ask(&api.create_request()).await;
    assert!(
        (200..300).contains(&created.status),
        "{}: {}",
        api.family,
        created.text()
    );
    // Short tasks of some vendors have ended at once.
    let json = created.json();
    let file = json.pointer(api.video_at).and_then(Value::as_str);
    assert_urls_are_the_gateways(api, &created, file);
    api.id_in(&created)
}

#[tokio::test]
async fn a_task_of_a_vendors_own_api_is_polled_there_and_in_every_other_format() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&native_config(&simulator, DONE)).await;
    for api in native_apis() {
        let id = create(&gateway, &api).await;
        let generic = ask(&gateway, GENERIC, &id).await;
        assert_eq!(
            generic.json()["status"],
            "succeeded",
            "{}: {}",
            api.family,
            generic.text()
        );
        let file = generic.json()["video_url"].as_str().unwrap().to_owned();
        let polled = gateway.ask(&api.query_request(&id)).await;
        let (place, done) = &api.state;
        let json = polled.json();
        assert_eq!(
            json.pointer(place),
            Some(done),
            "{}: {}",
            api.family,
            polled.text()
        );
        assert!(
            polled.text().contains(&id) || api.family == "xai",
            "{}",
            polled.text()
        );
        assert_urls_are_the_gateways(&api, &polled, Some(&file));
        for url in urls_in(&json).iter().filter(|url| url.starts_with(GATEWAY)) {
            let path = url.strip_prefix(GATEWAY).unwrap();
            if !path.contains("cancel") {
                let followed = gateway.ask(&Request::get(path)).await;
                assert_eq!(
                    followed.status,
                    200,
                    "{} {path}: {}",
                    api.family,
                    followed.text()
                );
            }
        }
        let openai = ask(&gateway, OPENAI, &id).await;
        assert_eq!(
            openai.json()["status"],
            "completed",
            "{}: {}",
            api.family,
            openai.text()
        );
    }
    let records = json!(simulator.records().await).to_string();
    assert!(!records.contains(ANN), "the caller's key arrived");
    let mut apis = native_apis().into_iter();
    let named = apis.find(|api| records.contains(&api.model));
    assert!(named.is_none(), "the platform model arrived: {records}");
}

#[tokio::test]
async fn a_result_of_a_vendors_own_api_is_the_video_or_its_url() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&native_config(&simulator, DONE)).await;
    for api in native_apis() {
        let id = create(&gateway, &api).await;
        let results = ["/files/retrieve", "/requests/{id}"];
        let own = api.tasks.iter();
        let mut own = own.filter(|pattern| {
            let is_result =
                |end: &&str| pattern.ends_with(*end) || pattern.contains("/files/retrieve");
            results.iter().any(is_result)
        });
        let pattern = own.next().unwrap_or(&api.tasks[0]);
        let result = gateway.ask(&api.task_request(pattern, &id)).await;
        let json = result.json();
        let url = json.pointer(api.video_at).and_then(Value::as_str);
        let url = url.unwrap_or_else(|| panic!("{}: {}", api.family, result.text()));
        if let Some(path) = url.strip_prefix(GATEWAY) {
            let ranged = Request::get(path).header("Range", "bytes=0-3");
            let video = gateway.ask(&ranged).await;
            assert_eq!(video.status, 206, "{} {path}: {}", api.family, video.text());
            assert_eq!(video.body.len(), 4, "{}", api.family);
        }
    }
}

#[tokio::test]
async fn a_task_of_a_vendors_own_api_is_cancelled_there() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&native_config(&simulator, QUEUED)).await;
    for api in native_apis() {
        let id = create(&gateway, &api).await;
        let polled = gateway.ask(&api.query_request(&id)).await;
        assert_eq!(polled.status, 200, "{}: {}", api.family, polled.text());
        assert_ne!(
            polled.json().pointer(api.state.0),
            Some(&api.state.1),
            "{}",
            api.family
        );
        assert_urls_are_the_gateways(&api, &polled, None);
        let cancels = |pattern: &&&str| pattern.contains("cancel") || pattern.starts_with("DELETE");
        if let Some(pattern) = api.tasks.iter().find(cancels) {
            let cancelled = gateway.ask(&api.task_request(pattern, &id)).await;
            assert_eq!(
                cancelled.status,
                200,
                "{}: {}",
                api.family,
                cancelled.text()
            );
            let generic = ask(&gateway, GENERIC, &id).await;
            assert_eq!(
                generic.json()["status"],
                "cancelled",
                "{}: {}",
                api.family,
                generic.text()
            );
        }
    }
}

#[tokio::test]
async fn a_task_of_another_caller_is_unknown_in_every_call_of_a_vendors_own_api() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&native_config(&simulator, DONE)).await;
    for api in native_apis() {
        let id = create(&gateway, &api).await;
        let asked = simulator.records().await.len();
        for pattern in api.tasks {
            let mut answers = Vec::new();
            for (id, key) in [(&*id, BOB), ("task_unknown", ANN), ("..", ANN)] {
                if id == ".." && !pattern.contains('?') {
                    continue;
                }
                let answer = gateway.ask(&api.task_request(pattern, id).key(key)).await;
                assert_eq!(
                    answer.status,
                    404,
                    "{} {pattern}: {}",
                    api.family,
                    answer.text()
                );
                assert!(!answer.text().contains("vendor-key"));
                let request = answer.headers.get("x-request-id");
                answers.push(answer.text().replace(request.unwrap_or_default(), ""));
            }
            assert!(
                answers.iter().all(|answer| *answer == answers[0]),
                "{answers:?}"
            );
        }
        assert_eq!(simulator.records().await.len(), asked, "{}", api.family);
    }
}

#[tokio::test]
async fn a_create_of_a_vendors_own_api_arrives_with_the_channels_model_and_key() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&native_config(&simulator, DONE)).await;
    for api in native_apis() {
        let request = api.create_request().header("Prefer", "wait=60");
        let created = gateway.ask(&request).await;
        assert!(created.status < 300, "{}: {}", api.family, created.text());
        let record = simulator.records().await.into_iter().next_back().unwrap();
        let sent = record.to_string();
        let path_or_body = sent + &String::from_utf8_lossy(&simulator.last_body().await);
        assert!(
            path_or_body.contains(api.vendor().model),
            "{}: {path_or_body}",
            api.family
        );
        assert!(
            !path_or_body.contains(&api.model),
            "{}: {path_or_body}",
            api.family
        );
        assert!(
            !path_or_body.contains("wait=60"),
            "{}: {path_or_body}",
            api.family
        );
        let twice = [api.create_request(), api.create_request()]
            .map(|request| request.header("Idempotency-Key", "once"));
        let first = gateway.ask(&twice[0]).await;
        let second = gateway.ask(&twice[1]).await;
        assert_eq!(api.id_in(&first), api.id_in(&second), "{}", api.family);
    }
}

#[tokio::test]
async fn an_unknown_model_of_a_vendors_own_api_gets_404_in_its_place() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&native_config(&simulator, DONE)).await;
    for mut api in native_apis() {
        api.model = api.model.replace("own", "other");
        let answer = gateway.ask(&api.create_request()).await;
        assert_eq!(answer.status, 404, "{}: {}", api.family, answer.text());
        assert!(
            answer.text().contains("own"),
            "{}: {}",
            api.family,
            answer.text()
        );
    }
    assert!(simulator.records().await.is_empty());
}

#[tokio::test]
async fn a_task_of_the_generic_format_is_polled_in_the_vendors_own() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&native_config(&simulator, DONE)).await;
    for api in native_apis() {
        let mut body = api.vendor().create;
        body["model"] = json!(api.model);
        let created = gateway.ask(&Request::post(GENERIC, body.to_string())).await;
        let id = id_of(GENERIC, &created);
        let polled = gateway.ask(&api.query_request(&id)).await;
        let (place, done) = &api.state;
        let text = polled.text();
        assert_eq!(polled.status, 200, "{} {id}: {text}", api.family);
        assert_eq!(
            polled.json().pointer(place),
            Some(done),
            "{}: {text}",
            api.family
        );
        let file = ask(&gateway, GENERIC, &id).await.json()["video_url"].clone();
        assert_urls_are_the_gateways(&api, &polled, file.as_str());
    }
}

#[tokio::test]
async fn errors_in_a_vendors_own_api_have_the_vendors_form() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&native_config(&simulator, DONE)).await;
    for api in native_apis() {
        let (unknown_key, unknown_id) = match api.family {
            "runway" => (json!({"error": ()}), json!({"error": ()})),
            "luma" | "flux" => (json!({"detail": ()}), json!({"detail": ()})),
            "fal" => (
                json!({"detail": (), "error_type": "invalid_api_key"}),
                json!({"detail": (), "error_type": "id_not_found"}),
            ),
            "replicate" => (
                json!({"title": "Unauthenticated", "detail": (), "status": 401}),
                json!({"title": "Not found", "detail": (), "status": 404}),
            ),
            "veo" | "gemini-omni" => (
                json!({"error": {"code": 401, "message": (), "status": "UNAUTHENTICATED"}}),
                json!({"error": {"code": 404, "message": (), "status": "NOT_FOUND"}}),
            ),
            "kling" => (
                json!({"code": 1000, "message": (), "request_id": ()}),
                json!({"code": 1203, "message": (), "request_id": ()}),
            ),
            "minimax" => (
                json!({"base_resp": {"status_code": 1004, "status_msg": ()}}),
                json!({"base_resp": {"status_code": 2013, "status_msg": ()}}),
            ),
            "minimax-v2" => (
                json!({"type": "error", "request_id": (),
                    "error": {"type": "authentication_error", "message": (), "http_code": 401}}),
                json!({"type": "error", "request_id": (),
                    "error": {"type": "not_found_error", "message": (), "http_code": 404}}),
            ),
            "vidu" => (
                json!({"code": 401, "reason": "Unauthorized", "message": (), "metadata": {"trace_id": ()}}),
                json!({"code": 404, "reason": "TaskNotFound", "message": (), "metadata": {"trace_id": ()}}),
            ),
            "pixverse" => (
                json!({"ErrCode": 401, "ErrMsg": (), "Resp": ()}),
                json!({"ErrCode": 404, "ErrMsg": (), "Resp": ()}),
            ),
            "xai" => (
                json!({"code": "invalid_api_key", "error": ()}),
                json!({"code": "id_not_found", "error": ()}),
            ),
            other => panic!("{other}"),
        };
        let refused = gateway.ask(&api.create_request().key("sk-nobody")).await;
        let unknown = gateway.ask(&api.query_request("task_unknown")).await;
        for (answer, status, expected) in [(refused, 401, unknown_key), (unknown, 404, unknown_id)]
        {
            assert_eq!(answer.status, status, "{}: {}", api.family, answer.text());
            assert_eq!(
                without_texts(&answer.json(), &expected),
                expected,
                "{}",
                api.family
            );
        }
    }
    assert!(simulator.records().await.is_empty());
}

/// A value with null in place of each text where `expected` has null.
fn without_texts(value: &Value, expected: &Value) -> Value {
    match (value, expected) {
        (Value::String(text), Value::Null) if !text.is_empty() => Value::Null,
        (Value::Object(members), Value::Object(expected)) => {
            let members = members.iter();
            let member = |(name, member): (&String, &Value)| {
                let expected = expected.get(name).unwrap_or(&Value::Bool(false));
                (name.clone(), without_texts(member, expected))
            };
            Value::Object(members.map(member).collect())
        }
        (value, _) => value.clone(),
    }
}

#[tokio::test]
async fn callers_send_their_key_where_the_vendors_sdks_send_it() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&native_config(&simulator, QUEUED)).await;
    for api in native_apis() {
        let (name, scheme) = match api.family {
            "veo" | "gemini-omni" => ("x-goog-api-key", ""),
            "pixverse" => ("API-KEY", ""),
            "flux" => ("x-key", ""),
            "fal" => ("Authorization", "Key "),
            "vidu" => ("Authorization", "Token "),
            _ => ("Authorization", "Bearer "),
        };
        let request = api.create_request().without("authorization");
        let request = request.header(name, &format!("{scheme}{ANN}"));
        let created = gateway.ask(&request).await;
        let id = api.id_in(&created);
        let request = api.query_request(&id).without("authorization");
        let polled = gateway
            .ask(&request.header(name, &format!("{scheme}{ANN}")))
            .await;
        assert_eq!(polled.status, 200, "{}: {}", api.family, polled.text());
    }
    let records = json!(simulator.records().await).to_string();
    assert!(!records.contains(ANN), "the caller's key arrived");
}
