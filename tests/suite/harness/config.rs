//! Configurations as JSON, which is also YAML: a full one for tests to change.

use super::request::{ANN, BOB, OPERATOR, VIEWER};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The gateway's credentials at the providers, which no caller may see.
pub const CREDENTIALS: [&str; 2] = [
    "sk-upstream-openai-canary-77d0",
    "sk-upstream-messages-canary-4e2b",
];

/// A configuration in which both channels have the base URL `provider`.
pub fn standard(provider: &str) -> Value {
    json!({
        "server": {"listen": "127.0.0.1:0", "admin": "127.0.0.1:0", "workers": 2},
        "state": "memory",
        "callers": [caller("ann", ANN, &["*"]), caller("bob", BOB, &["demo-small"])],
        "channels": {
            "openai": channel(provider, &["chat", "responses"], json!({"bearer": CREDENTIALS[0]})),
            "messages": channel(provider, &["messages"], json!({"api_key": CREDENTIALS[1]})),
        },
        "models": {"demo-large": {"display_name": "Demo Large", "created": 1767225600}},
        "chains": {"body": ["require_json", "authenticate", {"limit_body": "32MiB"}, "route_model"]},
        "routes": routes(),
    })
}

pub fn caller(name: &str, key: &str, models: &[&str]) -> Value {
    json!({"name": name, "key_sha256": sha256(key.as_bytes()), "models": models})
}

/// The admin keys of `operator`, who may act, and of `viewer`, who may read.
pub fn admin_keys() -> Value {
    json!([
        {"name": "operator", "key_sha256": sha256(OPERATOR.as_bytes()), "role": "act"},
        {"name": "viewer", "key_sha256": sha256(VIEWER.as_bytes()), "role": "read"},
    ])
}

/// A channel that serves `demo-large` and `demo-small`.
pub fn channel(base_url: &str, protocols: &[&str], credential: Value) -> Value {
    json!({
        "base_url": base_url,
        "credential": credential,
        "protocols": protocols,
        "models": {"demo-large": "sim-large-2026-08", "demo-small": "sim-small-2026-08"},
    })
}

/// Disables cool-downs, so that the cases of a test do not affect each other.
pub fn without_cool_downs(config: &mut Value) {
    for channel in config["channels"].as_object_mut().unwrap().values_mut() {
        channel["health"] = json!({"consecutive_failures": 0});
    }
}

/// Gives retries a budget that no test uses up, so that every request may be tried again.
pub fn with_unlimited_retries(config: &mut Value) {
    config["retries"] = json!({"budget_percent": 100, "min_per_second": 1000});
}

/// The route with this name.
pub fn route<'c>(config: &'c mut Value, name: &str) -> &'c mut Value {
    let routes = config["routes"].as_array_mut().unwrap();
    let found = routes.iter_mut().find(|route| route["name"] == name);
    found.unwrap_or_else(|| panic!("no route `{name}`"))
}

pub fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Adds the routes of stored chat completions, uploads in parts and vector stores.
pub fn add_stored_objects(config: &mut Value) {
    let follow = json!(["authenticate", "follow_ids"]);
    let home = json!(["authenticate", {"limit_body": "64MiB"}, "follow_ids", "first_channel"]);
    let added = json!([
        {"name": "chat_completions", "match": "GET /v1/chat/completions", "protocol": "chat",
         "request": home, "response": ["keep_own"]},
        {"name": "chat_completion", "match": "GET|POST|DELETE /v1/chat/completions/{id}", "protocol": "chat",
         "request": follow, "response": ["remember_ids"]},
        {"name": "chat_completion_messages", "match": "GET /v1/chat/completions/{id}/messages",
         "protocol": "chat", "request": follow},
        {"name": "uploads", "match": "POST /v1/uploads", "protocol": "responses", "request": home,
         "response": ["remember_ids"]},
        {"name": "upload_parts", "match": "POST /v1/uploads/{id}/parts", "protocol": "responses", "request": follow},
        {"name": "upload_end", "match": ["POST /v1/uploads/{id}/complete", "POST /v1/uploads/{id}/cancel"],
         "protocol": "responses", "request": follow, "response": ["remember_ids"]},
        {"name": "vector_stores", "match": "GET|POST /v1/vector_stores", "protocol": "responses", "request": home,
         "response": ["keep_own", "remember_ids"]},
        {"name": "vector_store", "match": "GET|POST|DELETE /v1/vector_stores/{id}", "protocol": "responses",
         "request": follow, "response": ["remember_ids"]},
        {"name": "vector_store_parts", "match": ["POST /v1/vector_stores/{id}/search",
         "GET|POST /v1/vector_stores/{id}/files", "GET|POST|DELETE /v1/vector_stores/{id}/files/{file}",
         "POST /v1/vector_stores/{id}/file_batches", "GET /v1/vector_stores/{id}/file_batches/{batch}"],
         "protocol": "responses", "request": follow},
    ]);
    let routes = config["routes"].as_array_mut().expect("a list of routes");
    routes.extend(added.as_array().expect("a list").iter().cloned());
}

fn routes() -> Value {
    let answer = json!(["pass_sse", "meter_usage"]);
    let follow = json!(["authenticate", "follow_ids"]);
    let home = json!(["authenticate", {"limit_body": "64MiB"}, "follow_ids", "first_channel"]);
    json!([
        {"name": "chat", "match": "POST /v1/chat/completions", "protocol": "chat",
         "request": [{"use": "body"}, "validate"], "response": answer},
        {"name": "messages", "match": "POST /v1/messages", "protocol": "messages",
         "request": ["require_version", {"use": "body"}, "follow_ids", "validate", "normalise"],
         "response": ["pass_sse", "meter_usage", "remember_ids"]},
        {"name": "count_tokens", "match": "POST /v1/messages/count_tokens", "protocol": "messages",
         "request": ["require_version", {"use": "body"}, {"validate": {"schema": "schemas/count_tokens.schema.json"}}]},
        {"name": "responses", "match": "POST /v1/responses", "protocol": "responses",
         "request": [{"use": "body"}, "follow_ids", "validate"],
         "response": ["pass_sse", "meter_usage", "remember_ids"]},
        {"name": "response", "match": "GET|DELETE /v1/responses/{id}", "protocol": "responses",
         "request": follow, "response": ["pass_sse", "remember_ids"]},
        {"name": "response_cancel", "match": "POST /v1/responses/{id}/cancel", "protocol": "responses",
         "request": follow},
        {"name": "response_input_items", "match": "GET /v1/responses/{id}/input_items",
         "protocol": "responses", "request": follow},
        {"name": "conversations", "match": "POST /v1/conversations", "protocol": "responses",
         "request": home, "response": ["remember_ids"]},
        {"name": "conversation", "match": "GET|POST|DELETE /v1/conversations/{id}",
         "protocol": "responses", "request": follow, "response": ["remember_ids"]},
        {"name": "conversation_items", "match": "GET|POST /v1/conversations/{id}/items",
         "protocol": "responses", "request": follow},
        {"name": "containers", "match": "GET|POST /v1/containers", "protocol": "responses",
         "request": home, "response": ["keep_own", "remember_ids"]},
        {"name": "container", "match": "GET|DELETE /v1/containers/{id}", "protocol": "responses",
         "request": follow, "response": ["remember_ids"]},
        {"name": "container_files", "match": "GET|POST /v1/containers/{id}/files",
         "protocol": "responses", "request": follow},
        {"name": "container_file", "match": "GET|DELETE /v1/containers/{id}/files/{file}",
         "protocol": "responses", "request": follow, "response": ["remember_ids"]},
        {"name": "container_file_content", "match": "GET /v1/containers/{id}/files/{file}/content",
         "request": follow},
        {"name": "files", "match": "GET|POST /v1/files", "request": home,
         "response": ["keep_own", "remember_ids"]},
        {"name": "file", "match": "GET|DELETE /v1/files/{id}", "request": follow,
         "response": ["remember_ids"]},
        {"name": "file_content", "match": "GET /v1/files/{id}/content", "request": follow},
        {"name": "models", "match": "GET /v1/models", "request": ["authenticate", "list_models"]},
        {"name": "model", "match": "GET /v1/models/{+id}", "request": ["authenticate", "list_models"]},
    ])
}
