//! Tokens of thoughts that a provider counts only in the total are output: for metering, and for callers of other protocols.

use super::{config_for, events_of, stream_response};
use crate::harness::http_response::json_response;
use crate::harness::outbound_proxy::{ProxyBehaviour, RecordingProxy};
use crate::harness::{Gateway, Request, ScriptedProvider};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

fn response(is_stream: bool) -> Vec<u8> {
    let usage = json!({"prompt_tokens": 3, "completion_tokens": 7, "total_tokens": 30});
    let (object, content) = match is_stream {
        false => ("chat.completion", "message"),
        true => ("chat.completion.chunk", "delta"),
    };
    let choice = json!({"index": 0, "finish_reason": "stop", content: {"role": "assistant", "content": "Hi."}});
    let answer = json!({"id": "c1", "object": object, "created": 1, "model": "m", "choices": [choice], "usage": usage});
    match is_stream {
        false => json_response(200, answer),
        true => stream_response(&[answer], "data: [DONE]\n\n"),
    }
}

/// What the caller gets as its output tokens.
fn output_tokens(text: &str, is_stream: bool) -> Value {
    if !is_stream {
        let whole: Value = serde_json::from_str(text).unwrap();
        return whole["usage"]["output_tokens"].clone();
    }
    let events = events_of(text);
    let mut last = events.iter().filter(|(name, _)| name == "message_delta");
    last.next().unwrap().1["usage"]["output_tokens"].clone()
}

#[tokio::test]
async fn thoughts_that_google_counts_only_in_the_total_are_output() {
    for (host, output, reasoning) in [
        ("generativelanguage.googleapis.com", 27, json!(20)),
        ("provider.invalid", 7, Value::Null),
    ] {
        for is_stream in [false, true] {
            let provider = ScriptedProvider::answering(response(is_stream)).await;
            let tunnel = ProxyBehaviour::Tunnel(provider.address);
            let proxy = RecordingProxy::start(tunnel).await;
            let mut config = config_for("messages", "chat", &provider.url());
            for channel in config["channels"].as_object_mut().unwrap().values_mut() {
                channel["base_url"] = json!(format!("http://{host}:8000/v1beta/openai"));
                channel["proxy"] = json!(proxy.url("http", ""));
            }
            let gateway = Gateway::start(&config).await;
            let request = match is_stream {
                false => Request::ask(Protocol::Messages),
                true => Request::ask_stream(Protocol::Messages),
            };
            let response = gateway.ask(&request).await;
            assert_eq!(response.status, 200, "{}", response.text());
            assert_eq!(output_tokens(&response.text(), is_stream), output, "{host}");
            let log = gateway.log_of(&response).await;
            assert_eq!(
                (&log["output_tokens"], &log["input_tokens"]),
                (&json!(output), &json!(3)),
                "{log}"
            );
            assert_eq!(log["reasoning_tokens"], reasoning, "{log}");
        }
    }
}
