//! Tests of what a request is charged whose end nobody waited for.

use crate::harness::http_response::json_response;
use crate::harness::{Gateway, Request, ScriptedProvider, ScriptedResponse, config, eventually};
use headgate_protocol::Protocol;
use serde_json::json;
use std::time::Duration;
use tokio::time::sleep;

/// The beginning of an error response.
const ERROR: &str = "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: 999\r\n\r\n{\"error\":";

/// A chat request with this many bytes of text.
fn request(bytes: usize) -> Request {
    let message = json!({"role": "user", "content": "words ".repeat(bytes / 6)});
    let body = json!({"model": "demo-large", "max_tokens": 1, "messages": [message]});
    Request::to(Protocol::Chat, body.to_string())
}

fn completion() -> Vec<u8> {
    let choice = json!({"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"});
    let usage = json!({"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2});
    let body = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage});
    json_response(200, body)
}

#[tokio::test]
async fn a_refused_request_whose_caller_leaves_during_the_error_costs_nothing() {
    let mut left = Vec::new();
    // The caller must not leave before the gateway has the head of the error: later tries wait longer.
    for wait_ms in [100, 400, 1_600] {
        let provider = ScriptedProvider::answering(completion()).await;
        let mut config = config::standard(&provider.url());
        config["callers"][0]["limits"] = json!({"tokens_per_minute": 10_000});
        let chain = &mut config::route(&mut config, "chat")["request"];
        chain.as_array_mut().unwrap().push(json!("rate_limit"));
        let gateway = Gateway::start(&config).await;
        provider.next(vec![
            ScriptedResponse::Send(ERROR.into()),
            ScriptedResponse::Hang,
        ]);
        let mut connection = gateway.connect().await;
        connection.send(&request(16_000).bytes()).await.unwrap();
        let received = async || (provider.requests().len() == 1).then_some(());
        eventually("the request at the provider", received).await;
        sleep(Duration::from_millis(wait_ms)).await;
        drop(connection);
        let idle = async || {
            let in_flight = gateway.metrics().await.sum("headgate_in_flight", &[]);
            (in_flight == 0.0).then_some(())
        };
        eventually("the end of the exchange", idle).await;
        let probe = gateway.ask(&request(60)).await;
        assert_eq!(probe.status, 200, "{}", probe.text());
        let remaining = probe.headers.get("x-ratelimit-remaining-tokens").unwrap();
        left.push(remaining.parse::<u64>().unwrap());
        if left.last() > Some(&9_800) {
            return;
        }
    }
    panic!("the refused request was charged: {left:?} tokens are left");
}
