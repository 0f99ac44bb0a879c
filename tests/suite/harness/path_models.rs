//! Requests that name the model in their path, as SDKs of Azure OpenAI send them.

use super::config;
use super::request::ANN;
use super::{Request, ScriptedProvider};
use serde_json::{Value, json};

/// Names of models with the segment that a client writes for each.
pub const GOOD_NAMES: [(&str, &str); 12] = [
    ("gpt-4.1", "gpt-4.1"),
    ("gpt-4.1", "gpt%2D4%2e1"),
    ("team/large:2", "team%2Flarge:2"),
    ("team/large:2", "team%2flarge%3A2"),
    ("my deployment", "my%20deployment"),
    ("a+b", "a+b"),
    ("mod\u{e8}le", "mod%C3%A8le"),
    ("\u{6a21}\u{578b}", "%E6%A8%A1%E5%9E%8B"),
    ("100%", "100%25"),
    ("..a", "..a"),
    ("ft:gpt-4o:org::id", "ft:gpt-4o:org::id"),
    ("model (beta)", "model%20(beta)"),
];

/// The path of an endpoint of a deployment.
pub fn deployment(model: &str, endpoint: &str) -> String {
    format!("/openai/deployments/{model}/{endpoint}")
}

/// A chat as the SDK sends it, with the key in its header.
pub fn azure_chat(model: &str, body: &Value) -> Request {
    let target = deployment(model, "chat/completions?api-version=2024-10-21");
    let request = Request::post(&target, body.to_string()).without("authorization");
    request.header("api-key", ANN)
}

/// The messages of a chat without its model.
pub fn chat_body() -> Value {
    json!({"messages": [{"role": "user", "content": "Hello"}]})
}

/// The standard configuration with routes of deployments in place of its own.
pub fn deployments(provider: &str) -> Value {
    let mut config = config::standard(provider);
    config::without_cool_downs(&mut config);
    let protocols = [
        "chat",
        "messages",
        "embeddings",
        "image_generation",
        "transcription",
    ];
    config["channels"]["openai"]["protocols"] = json!(protocols);
    config["chains"] = json!({"body": [{"authenticate": {"headers": ["api-key"]}}, {"limit_body": "1MiB"}, "route_model"]});
    let response = json!(["pass_sse", "meter_usage", "restore_model"]);
    let route = |name: &str, path: &str, protocol: &str, request: Value| {
        json!({"name": name, "match": format!("POST {}", deployment("{model}", path)), "protocol": protocol,
            "request": request, "response": response})
    };
    config["routes"] = json!([
        route(
            "chat",
            "chat/completions",
            "chat",
            json!(["require_json", {"use": "body"}, "validate"])
        ),
        route(
            "messages",
            "messages",
            "messages",
            json!(["require_json", {"use": "body"}, "validate"])
        ),
        route(
            "embeddings",
            "embeddings",
            "embeddings",
            json!(["require_json", {"use": "body"}])
        ),
        route(
            "images",
            "images/generations",
            "image_generation",
            json!(["require_json", {"use": "body"}])
        ),
        route(
            "sound",
            "audio/transcriptions",
            "transcription",
            json!(["require_form", {"use": "body"}])
        ),
    ]);
    config
}

/// Sets the models of all channels.
pub fn set_models(config: &mut Value, models: &Value) {
    for channel in config["channels"].as_object_mut().unwrap().values_mut() {
        channel["models"] = models.clone();
        channel["unpriced"] = json!("allow");
    }
}

/// The request line and the body of the newest request of a provider.
pub fn last_sent(provider: &ScriptedProvider) -> (String, String) {
    let requests = provider.requests();
    let (head, body) = requests.last().unwrap().split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

/// Each byte as an escape.
pub fn fully_encoded(name: &str) -> String {
    let bytes = name.bytes();
    bytes.map(|byte| format!("%{byte:02X}")).collect()
}
