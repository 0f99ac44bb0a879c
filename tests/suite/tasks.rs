//! Video tasks end to end: made and asked for in the generic protocol and in both families' own.

use crate::harness::error_shape::assert_error_body;
use crate::harness::request::{ANN, BOB};
use crate::harness::video::{
    FAMILY_A, FAMILY_B, GENERIC, ask, create, create_body, creates, id_of, video_config,
};
use crate::harness::{Gateway, Request, Simulator, eventually};
use headgate::protocol::Protocol;
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
            let told = answer.json();
            (told.pointer(status_at) == Some(&json!(word))).then_some(told)
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
async fn what_a_family_cannot_do_is_said_before_anything_is_sent() {
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
async fn a_status_that_nobody_knows_reads_running_and_its_word_is_told() {
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
