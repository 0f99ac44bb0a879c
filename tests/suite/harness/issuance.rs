//! Callers that the admin pages make, and requests with their keys.

use super::config::{self, admin_keys, sha256};
use super::request::{BOB, OPERATOR, VIEWER};
use super::{Gateway, Request, WholeResponse};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// The admin key of `issuer`, who may make callers.
pub const ISSUER: &str = "sk-issuer-canary-4ac07e";
/// All admin keys, a key of a caller, and none.
pub const ALL_KEYS: [Option<&str>; 5] =
    [None, Some(BOB), Some(VIEWER), Some(OPERATOR), Some(ISSUER)];

/// A configuration that keeps callers in this state store, sealed with a key of `seal`.
pub fn config(provider: &str, state: &str, seal: &str) -> Value {
    let mut config = config::standard(provider);
    config["state"] = state.into();
    config["task_keys"] = json!([seal.repeat(32)]);
    config["groups"] = json!({"team": {"limits": {"requests_per_minute": 1000}}});
    config["caller_sources"] = json!({"store": {}});
    config["server"]["admin_keys"] = admin_keys();
    let issuer =
        json!({"name": "issuer", "key_sha256": sha256(ISSUER.as_bytes()), "role": "issue"});
    let keys = config["server"]["admin_keys"].as_array_mut().unwrap();
    keys.push(issuer);
    let chat = config::route(&mut config, "chat");
    chat["request"]
        .as_array_mut()
        .unwrap()
        .push("rate_limit".into());
    config
}

/// A request by the issuer, with a body unless that is null.
pub fn request(gateway: &Gateway, method: &str, path: &str, body: &Value) -> Request {
    let request = gateway.admin_request(method, path).key(ISSUER);
    match body.is_null() {
        true => request,
        false => {
            let request = request.header("Content-Type", "application/json");
            request.with_body(body.to_string().into_bytes())
        }
    }
}

/// The response to a request by the issuer.
pub async fn ask(gateway: &Gateway, method: &str, path: &str, body: Value) -> WholeResponse {
    gateway
        .ask_admin(&request(gateway, method, path, &body))
        .await
}

/// Makes a caller that may use all models; returns its key.
pub async fn make(gateway: &Gateway, name: &str) -> String {
    let body = json!({"name": name, "models": ["*"]});
    let made = ask(gateway, "POST", "/callers", body).await;
    assert_eq!(made.status, 201, "{}", made.text());
    new_key(&made)
}

/// The only key that a response shows.
pub fn new_key(response: &WholeResponse) -> String {
    let page = response.json();
    let keys = page["new_keys"].as_array().unwrap();
    assert_eq!(keys.len(), 1, "{page}");
    keys[0]["key"].as_str().unwrap().to_owned()
}

/// The status of a small chat with a key.
pub async fn chat(gateway: &Gateway, key: &str) -> u16 {
    let request = Request::ask(Protocol::Chat).key(key);
    gateway.ask(&request).await.status
}
