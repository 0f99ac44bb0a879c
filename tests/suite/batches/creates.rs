//! Tests of creates of batches: each is paid for, so that none is sent twice after it may have arrived.

use crate::harness::batches::{
    BATCHES, CHAT, batch_config, batch_gateway, create, create_messages, entry, id_in, line,
    received, upload_lines,
};
use crate::harness::config::caller;
use crate::harness::paid::is_replayed;
use crate::harness::request::{ANN, BOB};
use crate::harness::{Gateway, Request, Simulator};
use serde_json::{Value, json};

async fn creates(simulator: &Simulator) -> usize {
    let records = simulator.records().await;
    let is_create = |record: &&Value| {
        let endpoint = record["endpoint"].as_str();
        endpoint.is_some_and(|name| name.ends_with("batches.create"))
    };
    records.iter().filter(is_create).count()
}

#[tokio::test]
async fn only_a_checked_file_of_the_caller_becomes_a_batch() {
    let simulator = Simulator::start().await;
    let gateway = batch_gateway(&simulator).await;
    let file = upload_lines(&gateway, &[line("a", "demo-small")]).await;
    let body = |file: Value, endpoint: Value| {
        let body = json!({"input_file_id": file, "endpoint": endpoint, "completion_window": "24h"});
        Request::post(BATCHES, body.to_string())
    };
    let before = received(&simulator).await;
    for (request, status, param) in [
        (create("file-unknown"), 404, "input_file_id"),
        (create(&file).key(BOB), 404, "input_file_id"),
        (body(json!(file), json!("/v1/responses")), 400, "endpoint"),
        (body(json!(file), json!(null)), 400, "endpoint"),
        (body(json!([file]), json!(CHAT)), 400, "input_file_id"),
        (body(json!(""), json!(CHAT)), 400, "input_file_id"),
        (
            Request::post(BATCHES, format!(r#"{{"endpoint":"{CHAT}"}}"#)),
            400,
            "input_file_id",
        ),
        (
            Request::post(
                BATCHES,
                format!(r#"{{"Input_File_Id":"x","input_file_id":"{file}","endpoint":"{CHAT}"}}"#),
            ),
            400,
            "input_file_id",
        ),
    ] {
        let refused = gateway.ask(&request).await;
        assert_eq!(refused.status, status, "{}", refused.text());
        assert_eq!(
            refused.json()["error"]["param"],
            param,
            "{}",
            refused.text()
        );
    }
    assert_eq!(received(&simulator).await, before);
    assert_eq!(gateway.ask(&create(&file)).await.status, 200);
}

#[tokio::test]
async fn a_caller_that_lost_a_model_creates_no_batch_for_it() {
    let simulator = Simulator::start().await;
    let mut config = batch_config(&simulator.url(), &simulator.url());
    let gateway = Gateway::start(&config).await;
    let file = upload_lines(&gateway, &[line("a", "demo-large")]).await;
    config["callers"] = json!([caller("ann", ANN, &["demo-small"])]);
    gateway.reload(&config).await;
    let refused = gateway.ask(&create(&file)).await;
    assert_eq!(refused.status, 403, "{}", refused.text());
    assert_eq!(creates(&simulator).await, 0);
}

#[tokio::test]
async fn a_create_that_may_have_arrived_is_not_sent_again() {
    let simulator = Simulator::start().await;
    let gateway = batch_gateway(&simulator).await;
    let file = upload_lines(&gateway, &[line("a", "demo-large")]).await;
    let list = json!([entry("a", "demo-large")]);
    for (directives, status) in [("cut", 504), ("status=503", 502), ("status=500", 502)] {
        for request in [create(&file), create_messages(&list)] {
            let before = creates(&simulator).await;
            let reply = gateway.ask(&request.simulate(directives)).await;
            assert_eq!(reply.status, status, "{directives}: {}", reply.text());
            assert_eq!(
                reply.headers.get("x-should-retry"),
                Some("false"),
                "{directives}"
            );
            assert_eq!(creates(&simulator).await, before + 1, "{directives}");
        }
    }
}

#[tokio::test]
async fn a_message_batch_that_was_surely_not_made_goes_to_another_account() {
    let simulator = Simulator::start().await;
    let closed = "http://127.0.0.1:9/v1";
    let gateway = Gateway::start(&batch_config(closed, &simulator.url())).await;
    let made = gateway
        .ask(&create_messages(&json!([entry("a", "demo-large")])))
        .await;
    assert_eq!(made.status, 200, "{}", made.text());
    let sent: Value = serde_json::from_slice(&simulator.last_body().await).unwrap();
    assert_eq!(sent["requests"][0]["params"]["model"], "other-large");
}

#[tokio::test]
async fn a_create_with_an_idempotency_key_is_made_once() {
    let simulator = Simulator::start().await;
    let gateway = batch_gateway(&simulator).await;
    let file = upload_lines(&gateway, &[line("a", "demo-small")]).await;
    let list = json!([entry("a", "demo-small")]);
    for (request, other) in [
        (
            create(&file),
            create(&file).with_body(create("x").body.unwrap()),
        ),
        (
            create_messages(&list),
            create_messages(&json!([entry("b", "demo-small")])),
        ),
    ] {
        let before = creates(&simulator).await;
        let request = request.header("Idempotency-Key", "once");
        let first = gateway.ask(&request).await;
        let second = gateway.ask(&request).await;
        assert_eq!(id_in(&first), id_in(&second));
        assert!(is_replayed(&second) && !is_replayed(&first));
        let other = gateway.ask(&other.header("Idempotency-Key", "once")).await;
        assert!(matches!(other.status, 404 | 422), "{}", other.text());
        assert_eq!(creates(&simulator).await, before + 1);
    }
    // The first request is lost after it was sent: its key stands for an unknown outcome.
    let lost = create_messages(&list).header("Idempotency-Key", "lost");
    let before = creates(&simulator).await;
    let first = gateway.ask(&lost.clone().simulate("cut")).await;
    assert_eq!(first.status, 504, "{}", first.text());
    assert!(first.text().contains("outcome unknown"), "{}", first.text());
    let second = gateway.ask(&lost).await;
    assert_eq!(second.status, 504, "{}", second.text());
    assert_eq!(creates(&simulator).await, before + 1);
}
