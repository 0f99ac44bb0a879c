//! Tests of rate limits of endpoints that generate nothing: they say nothing about those that do.

use crate::harness::http_response::{http_response, json_response};
use crate::harness::{
    Gateway, Request, ScriptedProvider, ScriptedResponse, config, eventually, path_of,
};
use headgate_protocol::Protocol;
use serde_json::json;

/// Generates, and refuses everything else for an hour.
fn respond(request: &str) -> Vec<u8> {
    let (line, _) = request.split_once("\r\n").unwrap();
    let generated = match line.split(' ').take(2).collect::<Vec<_>>()[..] {
        ["POST", "/v1/responses"] => json!({
            "id": "resp_12345678", "object": "response", "status": "completed",
            "output": [], "model": "sim-large-2026-08",
        }),
        ["POST", "/v1/messages"] => json!({
            "id": "msg_1", "type": "message", "role": "assistant",
            "content": [{"type": "text", "text": "Hi"}],
            "model": "sim-large-2026-08", "stop_reason": "end_turn",
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }),
        _ => {
            let error = json!({"error": {"message": "slow down", "type": "rate_limit_error"}});
            let headers = "Content-Type: application/json\r\nRetry-After: 3600\r\n";
            return http_response(429, headers, error.to_string());
        }
    };
    json_response(200, generated)
}

#[tokio::test]
async fn a_limit_of_another_endpoint_leaves_generation_alone() {
    let provider = ScriptedProvider::start(vec![ScriptedResponse::Answer(respond)]).await;
    let gateway = Gateway::start(&config::standard(&provider.url())).await;
    let create = Request::ask(Protocol::Responses);
    let created = gateway.ask(&create).await;
    assert_eq!(created.status, 200);
    // The id of a response is recorded after its last byte was sent.
    gateway.log_of(&created).await;
    let count = json!({"model": "demo-large", "messages": [{"role": "user", "content": "Hi"}]});
    let count = Request::post("/v1/messages/count_tokens", count.to_string())
        .header("anthropic-version", "2023-06-01");
    let id = "/v1/responses/resp_12345678";
    for (limited, class, generating) in [
        (Request::get(id), "retrieval", Protocol::Responses),
        (
            Request::post(&format!("{id}/cancel"), "{}"),
            "change",
            Protocol::Responses,
        ),
        (count, "token_count", Protocol::Messages),
    ] {
        assert_eq!(gateway.ask(&limited).await.status, 429, "{class}");
        let sent = provider.requests().len();
        let again = gateway.ask(&limited).await;
        // The messages protocol has a status of its own for it.
        let is_unavailable = matches!(again.status, 503 | 529);
        assert!(is_unavailable, "{class}: {}", again.text());
        assert!(again.headers.get("retry-after").is_some(), "{class}");
        assert_eq!(provider.requests().len(), sent, "{class}: it is not sent");
        let generated = gateway.ask(&Request::ask(generating)).await;
        assert_eq!(generated.status, 200, "{class}: {}", generated.text());
        let last = provider.requests().pop().unwrap();
        let line = format!("POST {} ", path_of(generating));
        assert!(last.starts_with(&line), "{class}: {last}");
        let is_it = |line: &serde_json::Value| {
            line["message"] == "cool-down started" && line["endpoint"] == class
        };
        eventually("the log line of the cool-down", async || {
            let lines = gateway.process.stderr.json();
            lines.iter().any(is_it).then_some(())
        })
        .await;
    }
}
