//! Requests to the admin listener, and the audit log.

use super::config::standard;
use super::{Gateway, Request, WholeResponse, eventually};
use serde_json::{Value, json};

/// Nothing listens there: tests of the admin pages reach no provider.
pub const PROVIDER: &str = "http://127.0.0.1:9/v1";

/// A gateway with these members of `server`.
pub async fn gateway(server: Value) -> Gateway {
    Gateway::start(&config(server)).await
}

/// A configuration with these members of `server`.
pub fn config(server: Value) -> Value {
    let mut config = standard(PROVIDER);
    let members = config["server"].as_object_mut().unwrap();
    members.extend(server.as_object().unwrap().clone());
    config
}

/// The status of a request that is changed before it is sent.
pub async fn status(
    gateway: &Gateway,
    method: &str,
    path: &str,
    change: impl FnOnce(Request) -> Request,
) -> u16 {
    response(gateway, method, path, change).await.status
}

/// The response to a request that is changed before it is sent.
pub async fn response(
    gateway: &Gateway,
    method: &str,
    path: &str,
    change: impl FnOnce(Request) -> Request,
) -> WholeResponse {
    let request = change(gateway.admin_request(method, path));
    gateway.ask_admin(&request).await
}

/// The lines of the audit log once there are `count`, without what varies.
pub async fn audit_lines(gateway: &Gateway, count: usize) -> Vec<Value> {
    let is_audit = |line: &Value| line["message"] == "admin action";
    let lines = eventually("the audit log", async || {
        let lines = gateway.process.stderr.json();
        let lines: Vec<Value> = lines.into_iter().filter(is_audit).collect();
        (lines.len() >= count).then_some(lines)
    })
    .await;
    let fields = ["action", "subject", "key", "outcome", "status"];
    let shown = |line: Value| {
        assert_eq!(line["target"], "headgate::audit", "{line}");
        assert!(
            line["peer"].as_str().unwrap().starts_with("127.0.0.1:"),
            "{line}"
        );
        json!(fields.map(|field| line[field].clone()))
    };
    lines.into_iter().map(shown).collect()
}
