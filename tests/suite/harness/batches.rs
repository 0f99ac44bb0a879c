//! Batches: a configuration with their routes, and files of requests.

use super::config::{self, channel};
use super::{Gateway, Request, Simulator, WholeResponse};
use serde_json::{Value, json};

pub const BATCHES: &str = "/v1/batches";
pub const MESSAGE_BATCHES: &str = "/v1/messages/batches";
pub const CHAT: &str = "/v1/chat/completions";

/// Two accounts for all models, and a third one that has `demo-apart` alone. The first two name models differently.
pub fn batch_config(first: &str, second: &str) -> Value {
    let mut config = config::standard(first);
    let protocols = [
        "chat",
        "responses",
        "messages",
        "batches",
        "message_batches",
    ];
    let mut other = channel(second, &protocols, json!({"bearer": "sk-second"}));
    other["models"] = json!({"demo-large": "other-large", "demo-small": "other-small"});
    other["tier"] = 1.into();
    let mut apart = channel(first, &protocols, json!({"bearer": "sk-apart"}));
    apart["models"] = json!({"demo-apart": "sim-apart"});
    apart["tier"] = 2.into();
    let mut plain = channel(first, &["chat"], json!({"bearer": "sk-plain"}));
    plain["models"] = json!({"demo-plain": "sim-plain"});
    config["channels"] = json!({
        "first": channel(first, &protocols, json!({"bearer": "sk-first"})),
        "second": other, "apart": apart, "plain": plain,
    });
    let by_id = json!(["authenticate", "follow_ids"]);
    let ids = json!(["remember_ids"]);
    let tracked = json!(["track_batches", "remember_ids"]);
    let results = json!(["authenticate", "follow_ids", "map_results"]);
    let list = json!(["authenticate", "first_channel", "rate_limit"]);
    let urls = json!(["map_results_url", "track_batches", "remember_ids"]);
    let routes = config["routes"].as_array_mut().unwrap();
    for route in routes.iter_mut() {
        match route["name"].as_str() {
            Some("files") => {
                route["request"] = json!(["authenticate", {"limit_body": "64MiB"}, "follow_ids",
                    {"check_batch": {"input": "file"}}, "first_channel"]);
            }
            Some("file") => route["response"] = tracked.clone(),
            Some("file_content") => route["request"] = results.clone(),
            _ => {}
        }
    }
    routes.extend([
        json!({"name": "batches", "match": format!("POST {BATCHES}"), "protocol": "batches",
            "request": ["require_json", "authenticate", "follow_ids",
                {"check_batch": {"input": "file_id"}}, "idempotency", "rate_limit"],
            "response": ids}),
        json!({"name": "batch_list", "match": format!("GET {BATCHES}"), "protocol": "batches",
            "request": ["authenticate", "follow_ids", "first_channel", "rate_limit"],
            "response": ["keep_own", "track_batches"]}),
        json!({"name": "batch", "match": "GET /v1/batches/{id}", "protocol": "batches",
            "request": ["authenticate", "follow_ids", "rate_limit"], "response": tracked}),
        json!({"name": "batch_cancel", "match": "POST /v1/batches/{id}/cancel",
            "protocol": "batches", "request": by_id, "response": tracked}),
        json!({"name": "message_batches", "match": format!("POST {MESSAGE_BATCHES}"),
            "protocol": "message_batches",
            "request": ["require_version", "require_json", "authenticate", {"limit_body": "32MiB"},
                {"check_batch": {"input": "requests"}}, "idempotency", "rate_limit"],
            "response": urls}),
        json!({"name": "message_batch_list", "match": format!("GET {MESSAGE_BATCHES}"),
            "protocol": "message_batches", "request": list,
            "response": ["keep_own", "map_results_url", "track_batches"]}),
        json!({"name": "message_batch", "match": "GET|DELETE /v1/messages/batches/{id}",
            "protocol": "message_batches", "request": by_id, "response": urls}),
        json!({"name": "message_batch_cancel", "match": "POST /v1/messages/batches/{id}/cancel",
            "protocol": "message_batches", "request": by_id, "response": urls}),
        json!({"name": "message_batch_results", "match": "GET /v1/messages/batches/{id}/results",
            "request": results}),
    ]);
    config
}

/// A gateway in front of a provider with three accounts.
pub async fn batch_gateway(simulator: &Simulator) -> Gateway {
    Gateway::start(&batch_config(&simulator.url(), &simulator.url())).await
}

/// A line for a chat.
pub fn line(custom_id: &str, model: &str) -> String {
    let body = json!({"messages": [{"role": "user", "content": "Hello"}], "model": model});
    json!({"custom_id": custom_id, "method": "POST", "url": CHAT, "body": body}).to_string()
}

/// The upload of a file for a batch.
pub fn upload(file: impl AsRef<[u8]>) -> Request {
    upload_for("batch", file)
}

/// The upload of a file with a purpose.
pub fn upload_for(purpose: &str, file: impl AsRef<[u8]>) -> Request {
    let mut form = format!(
        "--gate-7f\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\n{purpose}\r\n\
         --gate-7f\r\nContent-Disposition: form-data; name=\"file\"; filename=\"b.jsonl\"\r\n\
         Content-Type: application/jsonl\r\n\r\n"
    )
    .into_bytes();
    form.extend_from_slice(file.as_ref());
    form.extend_from_slice(b"\r\n--gate-7f--\r\n");
    Request::new("POST", "/v1/files")
        .header("Content-Type", "multipart/form-data; boundary=gate-7f")
        .with_body(form)
}

/// The create of a batch of a file.
pub fn create(file: &str) -> Request {
    let body = json!({"input_file_id": file, "endpoint": CHAT, "completion_window": "24h"});
    Request::post(BATCHES, body.to_string())
}

/// The create of a message batch of these requests.
pub fn create_messages(requests: &Value) -> Request {
    Request::post(MESSAGE_BATCHES, json!({"requests": requests}).to_string())
        .header("anthropic-version", "2023-06-01")
}

/// A request of a message batch.
pub fn entry(custom_id: &str, model: &str) -> Value {
    json!({"custom_id": custom_id, "params": {"model": model, "max_tokens": 9,
        "messages": [{"role": "user", "content": "Hello"}]}})
}

/// The id of what a successful response made.
#[track_caller]
pub fn id_in(response: &WholeResponse) -> String {
    assert_eq!(response.status, 200, "{}", response.text());
    response.json()["id"].as_str().unwrap().to_owned()
}

/// Uploads a file for a batch, and returns its id.
pub async fn upload_lines(gateway: &Gateway, lines: &[String]) -> String {
    id_in(&gateway.ask(&upload(lines.join("\n"))).await)
}

/// The number of requests that the provider has received, those for models left out.
pub async fn received(simulator: &Simulator) -> usize {
    let records = simulator.records().await;
    let of_models = |record: &&Value| record["endpoint"] != "models";
    records.iter().filter(of_models).count()
}
