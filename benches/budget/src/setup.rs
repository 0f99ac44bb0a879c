//! The environment of the measured gateway: its configuration, free addresses, and a temporary folder.

use crate::service;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

/// A folder that is removed when the value is dropped.
pub struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    /// A folder of this process in the system's temporary folder.
    pub fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a temporary folder can be made");
        Self(folder)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Paths of routes that have one filter more than that of [`CHAT`](crate::request::CHAT).
pub const CONDITION: &str = "/condition/chat/completions";
pub const EDIT: &str = "/edit/chat/completions";
pub const CALLOUT: &str = "/callout/chat/completions";
pub const CACHE: &str = "/cache/chat/completions";

/// A configuration with all features of the hot path: authentication, limits, routing, validation, rewriting, usage
/// metering, metrics, access log. Further routes each have one filter more; the service that one of them asks runs in this process.
pub fn routes(listen: SocketAddr, admin: SocketAddr, provider: SocketAddr) -> String {
    let service = service::start();
    format!(
        r#"
server: {{listen: "{listen}", admin: "{admin}", workers: 1}}
callers:
  - name: bench
    key_sha256: f77894fdfa58e447c57e077eaa9708e8e009c84dc6aba2db80461275e9b85be7
    models: ["*"]
    limits: {{requests_per_minute: 100000000, tokens_per_minute: 100000000000}}
channels:
  provider:
    base_url: http://{provider}/v1
    credential: {{bearer: sk-provider-credential}}
    protocols: [chat]
    models: {{bench-model: provider-model-2026-08}}
services:
  check: {{url: "http://{service}/question"}}
chains:
  chat: [require_json, authenticate, {{limit_body: 32MiB}}, route_model, validate, rate_limit]
routes:
  - name: chat
    match: POST /v1/chat/completions
    protocol: chat
    request: [require_json, authenticate, {{limit_body: 32MiB}}, route_model, validate, rate_limit]
    response: [pass_sse, meter_usage]
  - name: condition
    match: POST {CONDITION}
    protocol: chat
    request: [{{use: chat}}, {{if: 'request.headers["x-tier"] == "gold"', set_headers: {{x-pool: fast}}}}]
    response: [pass_sse, meter_usage]
  - name: edit
    match: POST {EDIT}
    protocol: chat
    request: [{{use: chat}}, {{edit_json: {{set: {{/max_completion_tokens: 50}}}}}}]
    response: [pass_sse, meter_usage]
  - name: callout
    match: POST {CALLOUT}
    protocol: chat
    request: [{{use: chat}}, {{callout: {{service: check}}}}]
    response: [pass_sse, meter_usage]
  - name: cache
    match: POST {CACHE}
    protocol: chat
    request: [{{use: chat}}, {{cache: {{ttl: 1h}}}}]
    response: [pass_sse, meter_usage]
"#
    )
}

/// Addresses of this machine on which nothing listens yet.
pub fn free_addresses<const N: usize>() -> [SocketAddr; N] {
    let listeners: [TcpListener; N] =
        std::array::from_fn(|_| TcpListener::bind("127.0.0.1:0").expect("loopback has free ports"));
    listeners.map(|listener| listener.local_addr().expect("it is bound"))
}
