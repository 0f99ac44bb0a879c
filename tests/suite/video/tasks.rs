//! End-to-end tests of video tasks: created and queried in the generic protocol and in both families' own.

use crate::harness::error_shape::assert_error_body;
use crate::harness::http_response::json_response;
use crate::harness::request::{ANN, BOB};
use crate::harness::video::{
    FAMILY_A, FAMILY_B, GENERIC, ask, create, create_body, creates, id_of, video_config,
};
use crate::harness::{Gateway, Request, ScriptedProvider, ScriptedResponse, Simulator, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

#[tokio::test]
async fn a_task_is_made_asked_for_and_done_in_every_protocol() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&video_config(&simulator, "queue=50ms;run=50ms")).await;
    for (path, model, status_at, url_at, word) in [
        (
            GENERIC,
            "demo-video-a",
            "/status",
            "/video_url",
            "succeeded",
        ),
        (
            GENERIC,
            "demo-video-b",
            "/status",
            "/video_url",
            "succeeded",
        ),
        (
            FAMILY_A,
            "demo-video-a",
            "/status",
            "/content/video_url",
            "succeeded",
        ),
        (
            FAMILY_B,
            "demo-video-b",
            "/output/task_status",
            "/output/video_url",
            "SUCCEEDED",
        ),
    ] {
        let made = create(&gateway, path, model).await;
        assert_eq!(made.status, 200, "{path}: {}", made.text());
        let id = id_of(path, &made);
        let done = eventually("the video", async || {
            let answer = ask(&gateway, path, &id).await;
            assert_eq!(answer.status, 200, "{path}: {}", answer.text());
            let reported = answer.json();
            (reported.pointer(status_at) == Some(&json!(word))).then_some(reported)
        })
        .await;
        assert!(done.pointer(url_at).is_some_and(Value::is_string), "{done}");
        let text = done.to_string();
        assert!(
            !text.contains(&format!("upstream-{model}")),
            "{path}: {text}"
        );
        assert_eq!(id_of(path, &made), id);
    }
}

#[tokio::test]
async fn ids_of_others_forged_ones_and_the_providers_own_are_the_same_404() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&video_config(&simulator, "")).await;
    let made = create(&gateway, GENERIC, "demo-video-a").await;
    let id = id_of(GENERIC, &made);
    let mut forged = id.clone().into_bytes();
    let last = forged.len() - 2;
    forged[last] = if forged[last] == b'A' { b'B' } else { b'A' };
    let forged = String::from_utf8(forged).unwrap();
    let upstream = simulator.records().await[0]["response_id"].clone();
    let upstream = upstream
        .as_str()
        .unwrap_or("cgt-20260101000000-abcde")
        .to_owned();
    let mut bodies = Vec::new();
    for (key, id) in [
        (BOB, &id),
        (ANN, &forged),
        (ANN, &upstream),
        (ANN, &"task_x".to_owned()),
    ] {
        let request = Request::get(&format!("{GENERIC}/{id}")).key(key);
        let answer = gateway.ask(&request).await;
        assert_error_body(Protocol::Chat, &answer, 404);
        bodies.push(answer.text());
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "{bodies:?}");
    assert_eq!(ask(&gateway, GENERIC, &id).await.status, 200);
}

#[tokio::test]
async fn another_edge_with_the_same_keys_answers_for_a_task_it_never_saw() {
    let simulator = Simulator::start().await;
    let config = video_config(&simulator, "");
    let (first, other) = (Gateway::start(&config).await, Gateway::start(&config).await);
    let id = id_of(GENERIC, &create(&first, GENERIC, "demo-video-b").await);
    for edge in [first, other] {
        edge.process.signal(libc::SIGKILL);
    }
    let second = Gateway::start(&config).await;
    let answer = ask(&second, GENERIC, &id).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.json()["model"], "demo-video-b");
    let other = second
        .ask(&Request::get(&format!("{GENERIC}/{id}")).key(BOB))
        .await;
    assert_eq!(other.status, 404);
}

#[tokio::test]
async fn what_a_family_does_not_support_is_refused_before_sending() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&video_config(&simulator, "")).await;
    for (model, field, value) in [
        ("demo-video-b", "resolution", json!("4k")),
        ("demo-video-b", "ratio", json!("21:9")),
        ("demo-video-a", "negative_prompt", json!("rain")),
    ] {
        let mut body = create_body(GENERIC, model);
        body[field] = value;
        let answer = gateway.ask(&Request::post(GENERIC, body.to_string())).await;
        assert_error_body(Protocol::Chat, &answer, 400);
        assert_eq!(answer.json()["error"]["param"], field, "{}", answer.text());
    }
    assert_eq!(creates(&simulator).await, 0);
}

#[tokio::test]
async fn an_unknown_status_is_reported_as_running_with_its_word_in_a_header() {
    let simulator = Simulator::start().await;
    let config = video_config(&simulator, "queue=1ms;run=60m;unknown_status=PONDERING");
    let gateway = Gateway::start(&config).await;
    let id = id_of(GENERIC, &create(&gateway, GENERIC, "demo-video-a").await);
    let answer = eventually("the unknown word", async || {
        let answer = ask(&gateway, GENERIC, &id).await;
        let word = answer
            .headers
            .get("x-headgate-upstream-status")
            .map(str::to_owned);
        word.map(|word| (word, answer))
    })
    .await;
    assert_eq!(answer.0, "PONDERING");
    assert_eq!(answer.1.json()["status"], "running");
    assert!(answer.1.headers.get("retry-after").is_some());
}

#[tokio::test]
async fn an_unknown_field_is_refused_before_anything_is_paid_for_unless_the_route_ignores_it() {
    let simulator = Simulator::start().await;
    let mut config = video_config(&simulator, "");
    let gateway = Gateway::start(&config).await;
    let image = json!({"type": "image", "url": "https://media.example/a.png", "weight": 1});
    for (field, value, param, words) in [
        (
            "image_url",
            json!("https://media.example/a.png"),
            "image_url",
            "`medias`",
        ),
        ("aspect_ratio", json!("16:9"), "aspect_ratio", "`ratio`"),
        ("medias", json!([image]), "medias[0].weight", "`url`"),
    ] {
        for model in ["demo-video-a", "demo-video-b"] {
            let mut body = create_body(GENERIC, model);
            body[field] = value.clone();
            let answer = gateway.ask(&Request::post(GENERIC, body.to_string())).await;
            let message = assert_error_body(Protocol::Chat, &answer, 400);
            assert_eq!(answer.json()["error"]["param"], param);
            assert!(message.contains(words), "{message}");
        }
    }
    assert_eq!(creates(&simulator).await, 0);
    let mut silent = create_body(GENERIC, "demo-video-a");
    silent["image_url"] = Value::Null;
    let answer = gateway
        .ask(&Request::post(GENERIC, silent.to_string()))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    config["routes"][0]["request"][2] =
        json!({"map_task": {"operation": "create", "unsupported": "ignore"}});
    let lenient = Gateway::start(&config).await;
    let mut body = create_body(GENERIC, "demo-video-a");
    body["image_url"] = json!("https://media.example/a.png");
    body["medias"] = json!([image]);
    let answer = lenient.ask(&Request::post(GENERIC, body.to_string())).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let ignored = answer.headers.get("x-headgate-ignored");
    assert_eq!(ignored, Some("image_url, medias[0].weight"));
}

#[tokio::test]
async fn empty_text_in_a_generic_create_is_as_if_it_were_not_there() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&video_config(&simulator, "")).await;
    let empty = json!({"negative_prompt": "", "duration": "", "resolution": "", "ratio": "",
        "generate_audio": "", "watermark": "", "seed": "", "callback_url": ""});
    for model in ["demo-video-a", "demo-video-b"] {
        let mut bodies = Vec::new();
        for more in [json!({}), empty.clone()] {
            let image = json!({"type": "image", "role": "", "url": "https://media.example/a.png"});
            let mut body = json!({"model": model, "prompt": "a gate", "medias": [image]});
            let members = body.as_object_mut().unwrap();
            members.extend(more.as_object().unwrap().clone());
            let answer = gateway.ask(&Request::post(GENERIC, body.to_string())).await;
            assert_eq!(answer.status, 200, "{body}: {}", answer.text());
            bodies.push(simulator.last_body().await);
        }
        assert_eq!(bodies[0], bodies[1]);
    }
    let mut body = create_body(GENERIC, "demo-video-a");
    body["duration"] = json!(0);
    let answer = gateway.ask(&Request::post(GENERIC, body.to_string())).await;
    assert_error_body(Protocol::Chat, &answer, 400);
    assert_eq!(answer.json()["error"]["param"], "duration");
}

#[tokio::test]
async fn a_failure_with_a_message_alone_keeps_it() {
    let provider =
        ScriptedProvider::start(vec![ScriptedResponse::Answer(fails_without_code)]).await;
    let simulator = Simulator::start().await;
    let mut config = video_config(&simulator, "");
    config["channels"]["a"]["base_url"] = json!(format!("http://{}/api/v3", provider.address));
    let gateway = Gateway::start(&config).await;
    let id = id_of(GENERIC, &create(&gateway, GENERIC, "demo-video-a").await);
    let reported = ask(&gateway, GENERIC, &id).await.json();
    assert_eq!(reported["status"], "failed");
    assert_eq!(reported["error_code"], "upstream_failed");
    assert_eq!(reported["error_message"], "the clip is too dark");
}

/// A provider whose task fails with a message and no code.
fn fails_without_code(request: &str) -> Vec<u8> {
    let body = match request.starts_with("POST") {
        true => r#"{"id":"cgt-20260101000000-abcde"}"#,
        false => {
            r#"{"id":"cgt-20260101000000-abcde","status":"failed","error":{"message":"the clip is too dark"}}"#
        }
    };
    json_response(200, body)
}
