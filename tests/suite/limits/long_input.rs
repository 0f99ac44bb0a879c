//! Tests of budgets whose models have prices of a long input: what is reserved, and what is settled.

use super::budgets::{NANOS, budget_config, key};
use crate::harness::http_response::json_response;
use crate::harness::{Gateway, Request, ScriptedProvider, ScriptedResponse};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// What a token of output costs after a short input, in billionths; input is free.
const TOKEN: u64 = 10_000;
/// The tokens of output that a request reserves.
const RESERVED: u64 = 1_000;
const ABOVE: u64 = 400;

fn response(usage: &Value) -> ScriptedResponse {
    let message = json!({"role": "assistant", "content": "one two three"});
    let mut body = json!({
        "id": "c1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
    });
    if !usage.is_null() {
        body["usage"] = usage.clone();
    }
    ScriptedResponse::Send(json_response(200, body))
}

/// A request with so many bytes of a prompt, each of which may be a token.
fn request(prompt: usize) -> Request {
    let message = json!({"role": "user", "content": "x".repeat(prompt)});
    let body = json!({"model": "demo-large", "max_tokens": RESERVED, "messages": [message]});
    Request::to(Protocol::Chat, body.to_string()).key(&key(0))
}

#[tokio::test]
async fn a_long_input_reserves_and_settles_by_its_own_prices() {
    let usage = |input: u64, cached: u64| {
        json!({"prompt_tokens": input, "completion_tokens": 7, "total_tokens": input + 7,
            "prompt_tokens_details": {"cached_tokens": cached}})
    };
    for (prompt, usage, expected) in [
        // Without a usage a request costs what was reserved.
        (10, Value::Null, RESERVED),
        (1_000, Value::Null, 3 * RESERVED),
        (1_000, usage(ABOVE, 0), 7),
        (1_000, usage(ABOVE, ABOVE), 7),
        (1_000, usage(ABOVE + 1, 0), 3 * 7),
        (1_000, usage(ABOVE + 1, ABOVE + 1), 3 * 7),
    ] {
        let provider = ScriptedProvider::start(vec![response(&usage)]).await;
        let mut config = budget_config(&provider.url(), &json!("memory"), 1, 1_000_000_000);
        config["prices"]["models"]["demo-large"] =
            json!({"output": 10, "long_input": [{"above": ABOVE, "output": 30}]});
        let gateway = Gateway::start(&config).await;
        let response = gateway.ask(&request(prompt)).await;
        assert_eq!(response.status, 200, "{}", response.text());
        let line = gateway.log_of(&response).await;
        let charge = line["budget_charge"].as_f64().expect("a charge");
        let charged = (charge * NANOS).round() as u64 / TOKEN;
        assert_eq!(charged, expected, "{prompt} {usage}: {line}");
        if !usage.is_null() {
            assert_eq!(line["cost"].as_f64(), Some(charge), "{line}");
        }
    }
}
