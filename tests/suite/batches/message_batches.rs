//! Tests of message batches, from the create to the results.

use crate::harness::batches::{MESSAGE_BATCHES, batch_gateway, create_messages, entry, id_in};
use crate::harness::request::BOB;
use crate::harness::{Request, Simulator};
use serde_json::{Value, json};

fn batch(method: &str, id: &str, rest: &str) -> Request {
    Request::new(method, &format!("{MESSAGE_BATCHES}/{id}{rest}"))
        .header("anthropic-version", "2023-06-01")
}

#[tokio::test]
async fn a_message_batch_runs_from_the_create_to_the_results() {
    let simulator = Simulator::start().await;
    let gateway = batch_gateway(&simulator).await;
    let requests = json!([entry("a", "demo-large"), entry("b", "demo-small")]);
    let id = id_in(&gateway.ask(&create_messages(&requests)).await);
    let sent = String::from_utf8(simulator.last_body().await).unwrap();
    let expected = json!({"requests": requests}).to_string();
    let expected = expected
        .replace("demo-large", "sim-large-2026-08")
        .replace("demo-small", "sim-small-2026-08");
    assert_eq!(sent, expected);
    let early = gateway.ask(&batch("GET", &id, "/results")).await;
    assert_eq!(early.status, 404, "{}", early.text());
    let first = gateway.ask(&batch("GET", &id, "")).await.json();
    assert_eq!(
        (&first["processing_status"], &first["results_url"]),
        (&json!("in_progress"), &Value::Null)
    );
    let done = gateway.ask(&batch("GET", &id, "")).await.json();
    let url = format!("http://gate.test{MESSAGE_BATCHES}/{id}/results");
    assert_eq!(
        (&done["processing_status"], &done["results_url"]),
        (&json!("ended"), &json!(url))
    );
    let list = gateway
        .ask(&Request::get(MESSAGE_BATCHES).header("anthropic-version", "2023-06-01"))
        .await;
    assert_eq!(
        list.json()["data"][0]["results_url"],
        url,
        "{}",
        list.text()
    );
    let results = gateway.ask(&batch("GET", &id, "/results")).await;
    assert_eq!(results.status, 200, "{}", results.text());
    let found: Vec<(String, String)> = results
        .text()
        .lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            (
                line["custom_id"].to_string(),
                line["result"]["message"]["model"].to_string(),
            )
        })
        .collect();
    let expected = [("\"a\"", "\"demo-large\""), ("\"b\"", "\"demo-small\"")];
    assert_eq!(
        found,
        expected.map(|(id, model)| (id.to_owned(), model.to_owned()))
    );
    for (method, rest) in [
        ("GET", ""),
        ("GET", "/results"),
        ("POST", "/cancel"),
        ("DELETE", ""),
    ] {
        let request = batch(method, &id, rest)
            .key(BOB)
            .header("Content-Length", "0");
        let foreign = gateway.ask(&request).await;
        assert_eq!(foreign.status, 404, "{method} {rest}: {}", foreign.text());
        assert_eq!(
            foreign.json()["type"],
            "error",
            "{method} {rest}: {}",
            foreign.text()
        );
    }
    let deleted = gateway.ask(&batch("DELETE", &id, "")).await;
    assert_eq!(
        deleted.json()["type"],
        "message_batch_deleted",
        "{}",
        deleted.text()
    );
    assert_eq!(gateway.ask(&batch("GET", &id, "")).await.status, 404);
}

#[tokio::test]
async fn a_message_batch_can_be_cancelled() {
    let simulator = Simulator::start().await;
    let gateway = batch_gateway(&simulator).await;
    let requests = json!([entry("a", "demo-large")]);
    let id = id_in(&gateway.ask(&create_messages(&requests)).await);
    let cancel = batch("POST", &id, "/cancel").header("Content-Length", "0");
    let cancelled = gateway.ask(&cancel).await.json();
    assert_eq!(cancelled["processing_status"], "canceling");
    let ended = gateway.ask(&batch("GET", &id, "")).await.json();
    assert_eq!(ended["request_counts"]["canceled"], 1);
}
