//! The configuration of the simulated gateways.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The callers, with their keys, and the paths of their receivers.
pub const CALLERS: [(&str, &str); 2] = [("ann", "sk-ann-0123456789"), ("bob", "sk-bob-0123456789")];
/// The webhook secrets of the callers.
pub const SECRETS: [&str; 2] = [
    "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
    "whsec_RdvaYFYUXuIFuEbvZHwMfYFhUf7aMYjYcmM24+Aj40c=",
];
pub const CHAT_PATH: &str = "/v1/chat/completions";
pub const VIDEO_PATH: &str = "/v1/video/generations";
/// What a task reserves, in billionths: five seconds of video.
pub const TASK_COST: u64 = 500_000_000;
/// The hosts of the providers and of the receivers of callbacks.
pub const PROVIDERS: [&str; 2] = ["127.0.1.1", "127.0.1.2"];
pub const RECEIVER: &str = "127.0.2.1";

pub fn config() -> Value {
    let callers = CALLERS.iter().zip(SECRETS).map(|((name, key), secret)| {
        let digest: String = Sha256::digest(key.as_bytes())
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        json!({
            "name": name, "key_sha256": digest, "models": ["*"], "webhook_secrets": [secret],
            "limits": {
                "concurrent": 6, "requests_per_minute": 1000, "tokens_per_day": 10_000_000,
                "cost_per_month": 1000,
            },
        })
    });
    let mut channels = json!({});
    for (index, host) in PROVIDERS.iter().enumerate() {
        channels[format!("chat-{index}")] = json!({
            "base_url": format!("http://{host}:80/v1"), "credential": {"bearer": format!("sk-chat-{index}")},
            "protocols": ["chat"], "models": {"text": format!("text-{index}")},
            "limits": {"concurrent": 3},
            "timeouts": {"connect": "2s", "first_byte": "3s", "idle": "3s"},
        });
        channels[format!("video-{index}")] = json!({
            "base_url": format!("http://{host}:80/api/v3"), "credential": {"bearer": format!("sk-video-{index}")},
            "protocols": ["family_a", "video"], "family": "family-a", "models": {"film": format!("film-{index}")},
            "limits": {"concurrent": 4},
            "timeouts": {"connect": "2s", "first_byte": "3s", "idle": "3s"},
        });
    }
    json!({
        "server": {
            "listen": "127.0.0.1:8080", "admin": "127.0.0.1:8081", "workers": 1,
            "public_url": "http://127.0.0.1:8080",
        },
        "state": "memory",
        "usage": {},
        "task_keys": ["0123456789abcdef0123456789abcdef"],
        "egress": {"allow": [RECEIVER]},
        "prices": {"models": {
            "text": {"input": 1, "output": 10},
            "film": {"video_second": {"*": 0.1}, "video_default_seconds": 5},
        }},
        "callers": callers.collect::<Vec<_>>(),
        "channels": channels,
        "models": {"text": {"max_output_tokens": 1000}},
        "chains": {"body": ["require_json", "authenticate", {"limit_body": "1MiB"}, "route_model"]},
        "routes": routes(),
    })
}

fn routes() -> Value {
    json!([
        {"name": "chat", "match": format!("POST {CHAT_PATH}"), "protocol": "chat",
         "request": [{"use": "body"}, "validate", "rate_limit"], "response": ["pass_sse", "meter_usage"]},
        {"name": "video", "match": format!("POST {VIDEO_PATH}"), "protocol": "video",
         "request": [{"use": "body"}, "validate", "idempotency", "rate_limit", "callbacks",
                     {"map_task": {"operation": "create"}}]},
        {"name": "task", "match": format!("GET {VIDEO_PATH}/{{id}}"), "protocol": "video",
         "request": ["authenticate", {"map_task": {"operation": "query"}}]},
        {"name": "callback", "match": "POST /_headgate/callback/{token}", "request": ["receive_callback"]},
    ])
}
