//! Tests of cancels: only queued tasks are cancelled, and the record of an ended task is never deleted.

use crate::harness::error_shape::assert_error_body;
use crate::harness::http_response::json_response;
use crate::harness::request::BOB;
use crate::harness::video::{
    FAMILY_A, FAMILY_B, GENERIC, ask, cancel, cancel_request, count, create, fresh_for, id_of,
    operations, video_config,
};
use crate::harness::{
    Gateway, ScriptedProvider, ScriptedResponse, Simulator, WholeResponse, eventually,
};
use headgate_core::task::families;
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// The routes for tasks, each with a model and the protocol of its errors.
const WAYS: [(&str, &str, Protocol); 4] = [
    (GENERIC, "demo-video-a", Protocol::Chat),
    (GENERIC, "demo-video-b", Protocol::Chat),
    (FAMILY_A, "demo-video-a", Protocol::FamilyA),
    (FAMILY_B, "demo-video-b", Protocol::FamilyB),
];

fn status_of(path: &str, answer: &WholeResponse) -> String {
    let at = match path {
        FAMILY_B => "/output/task_status",
        _ => "/status",
    };
    let json = answer.json();
    let word = json.pointer(at).and_then(Value::as_str);
    word.unwrap_or_default().to_lowercase()
}

/// A gateway and a provider whose tasks have these directives, and a task of each route.
async fn tasks(course: &str) -> (Simulator, Gateway, Vec<(usize, String)>) {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&video_config(&simulator, course)).await;
    let mut ids = Vec::new();
    for (number, (path, model, _)) in WAYS.into_iter().enumerate() {
        let made = create(&gateway, path, model).await;
        ids.push((number, id_of(path, &made)));
    }
    (simulator, gateway, ids)
}

/// The code of an error in any format.
fn code_of(answer: &WholeResponse) -> Value {
    let json = answer.json();
    json.pointer("/error/code").unwrap_or(&json["code"]).clone()
}

#[tokio::test]
async fn a_queued_task_is_cancelled_once_the_provider_confirms() {
    let (simulator, gateway, ids) = tasks("queue=60m;run=1s").await;
    for (number, id) in ids {
        let (path, model, _) = WAYS[number];
        let before = operations(&simulator).await.len();
        let answer = cancel(&gateway, path, &id).await;
        assert_eq!(answer.status, 200, "{path} {model}: {}", answer.text());
        let json = answer.json();
        match path {
            GENERIC => {
                assert_eq!(json["task_id"], id.as_str());
                assert_eq!(json["status"], "cancelled");
                assert_eq!(json["model"], model);
                assert!(answer.headers.get("retry-after").is_none());
            }
            FAMILY_A => assert_eq!(json, json!({})),
            _ => assert!(json["request_id"].is_string(), "{json}"),
        }
        assert_eq!(operations(&simulator).await[before..], ["query", "cancel"]);
        let reported = ask(&gateway, path, &id).await;
        assert!(
            status_of(path, &reported).starts_with("cancel"),
            "{}",
            reported.text()
        );
        let again = cancel(&gateway, path, &id).await;
        assert_eq!(again.status, 409, "{}", again.text());
        let after = operations(&simulator).await;
        assert_eq!(after.len(), before + 2, "the end is known: {after:?}");
    }
}

#[tokio::test]
async fn running_and_finished_tasks_are_not_cancelled() {
    for (course, word) in [
        ("queue=1ms;run=60m", "running"),
        ("queue=1ms;run=1ms", "succeeded"),
        ("queue=1ms;run=1ms;ends=failed", "failed"),
        ("queue=1ms;run=1ms;ends=cancelled", "cancel"),
    ] {
        let (simulator, gateway, ids) = tasks(course).await;
        // Half of the tasks are queried first, so that their end is known already.
        for (number, id) in ids {
            let (path, model, protocol) = WAYS[number];
            if number % 2 == 0 {
                eventually("the state", async || {
                    let reported = ask(&gateway, path, &id).await;
                    status_of(path, &reported).starts_with(word).then_some(())
                })
                .await;
            }
            let answer = cancel(&gateway, path, &id).await;
            assert_error_body(protocol, &answer, 409);
            let code = match path {
                FAMILY_B => "UnsupportedOperation",
                _ => "task_not_cancellable",
            };
            assert_eq!(code_of(&answer), code, "{path} {model} {word}");
            let reported = ask(&gateway, path, &id).await;
            assert!(
                status_of(path, &reported).starts_with(word),
                "{}",
                reported.text()
            );
        }
        assert_eq!(count(&simulator, "cancel").await, 0, "{word}");
    }
}

#[tokio::test]
async fn a_strangers_cancel_is_a_404_and_reaches_nobody() {
    let (simulator, gateway, ids) = tasks("queue=60m").await;
    let before = operations(&simulator).await;
    for (number, id) in &ids {
        let (path, _, protocol) = WAYS[*number];
        let answer = gateway.ask(&cancel_request(path, id).key(BOB)).await;
        assert_error_body(protocol, &answer, 404);
        let answer = cancel(&gateway, path, "task_x").await;
        assert_error_body(protocol, &answer, 404);
    }
    assert_eq!(operations(&simulator).await, before);
    // The route of another family does not know the task, either.
    let answer = cancel(&gateway, FAMILY_B, &ids[2].1).await;
    assert_error_body(Protocol::FamilyB, &answer, 404);
}

#[tokio::test]
async fn a_task_that_began_to_run_meanwhile_is_a_409_too() {
    let provider = ScriptedProvider::start(vec![ScriptedResponse::Answer(begins_to_run)]).await;
    let simulator = Simulator::start().await;
    let mut config = video_config(&simulator, "");
    config["channels"]["a"]["base_url"] = json!(format!("http://{}/api/v3", provider.address));
    let gateway = Gateway::start(&config).await;
    let id = id_of(GENERIC, &create(&gateway, GENERIC, "demo-video-a").await);
    let answer = cancel(&gateway, GENERIC, &id).await;
    assert_error_body(Protocol::Chat, &answer, 409);
    assert!(!answer.text().contains("cgt-"), "{}", answer.text());
    let lines: Vec<String> = provider
        .requests()
        .iter()
        .map(|request| first_word(request))
        .collect();
    assert_eq!(lines, ["POST", "GET", "DELETE"]);
}

/// A provider whose task is queued when it is queried, and runs when it is cancelled.
fn begins_to_run(request: &str) -> Vec<u8> {
    let (status, body) = match &*first_word(request) {
        "POST" => (200, r#"{"id":"cgt-20260101000000-abcde"}"#),
        "GET" => (
            200,
            r#"{"id":"cgt-20260101000000-abcde","status":"queued"}"#,
        ),
        _ => (
            403,
            r#"{"error":{"code":"OperationDenied.InvalidState","message":"cgt-20260101000000-abcde runs"}}"#,
        ),
    };
    json_response(status, body)
}

fn first_word(text: &str) -> String {
    text.split(' ').next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_cancel_for_a_family_without_cancel_is_refused_without_a_subrequest() {
    let simulator = Simulator::start().await;
    let mut config = video_config(&simulator, "queue=60m");
    let shipped = families::shipped("family-b").unwrap();
    let mut family: Value = serde_saphyr::from_str(shipped).unwrap();
    family.as_object_mut().unwrap().remove("cancel");
    config["families"] = json!({"steadfast": family});
    config["channels"]["b"]["family"] = json!("steadfast");
    let gateway = Gateway::start(&config).await;
    let id = id_of(GENERIC, &create(&gateway, GENERIC, "demo-video-b").await);
    let answer = cancel(&gateway, GENERIC, &id).await;
    assert_error_body(Protocol::Chat, &answer, 409);
    assert!(
        answer.text().contains("does not support cancelling tasks"),
        "{}",
        answer.text()
    );
    assert_eq!(operations(&simulator).await, ["create"]);
}

#[tokio::test]
async fn polls_show_the_status_that_a_cancel_learned() {
    for (word, course) in [
        ("running", "queue=1s;run=60m"),
        ("succeeded", "queue=1s;run=1ms"),
        ("failed", "queue=1s;run=1ms;ends=failed"),
    ] {
        let simulator = Simulator::start().await;
        let mut config = video_config(&simulator, course);
        fresh_for(&mut config, "1ms", "1ms", &json!({}));
        // This gateway caches nothing, so that it shows when the provider's task has proceeded.
        let watching = Gateway::start(&config).await;
        fresh_for(&mut config, "10m", "10m", &json!({}));
        let gateway = Gateway::start(&config).await;
        for (path, model, protocol) in WAYS {
            let id = id_of(path, &create(&gateway, path, model).await);
            let before = status_of(path, &ask(&gateway, path, &id).await);
            assert!(["queued", "pending"].contains(&&*before), "{before}");
            eventually("the state", async || {
                let reported = ask(&watching, path, &id).await;
                (status_of(path, &reported) == word).then_some(())
            })
            .await;
            assert_eq!(status_of(path, &ask(&gateway, path, &id).await), before);
            let answer = cancel(&gateway, path, &id).await;
            let message = assert_error_body(protocol, &answer, 409);
            assert!(message.contains(word), "{message}");
            let reported = ask(&gateway, path, &id).await;
            assert_eq!(
                status_of(path, &reported),
                word,
                "{path}: {}",
                reported.text()
            );
        }
    }
}
