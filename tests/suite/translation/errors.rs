//! Errors of a provider in the caller's protocol.

use super::{events_of, stream_response, translating};
use crate::harness::error_shape::assert_error_body;
use crate::harness::http_response::json_response;
use crate::harness::{Request, ScriptedProvider};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

fn ask(stream: bool) -> Request {
    let body = json!({"model": "demo-large", "max_tokens": 9, "stream": stream,
        "messages": [{"role": "user", "content": "Hello"}]});
    Request::to(Protocol::Messages, body.to_string())
}

#[tokio::test]
async fn errors_of_a_provider_have_the_words_of_the_callers_protocol() {
    let error = |message: &str, code: &str| json!({"error": {"message": message, "type": "x", "param": null, "code": code}});
    let too_long = "This model's maximum context length is 8 tokens.";
    for (status, body, caller_status, kind, start) in [
        (
            400,
            error(too_long, "context_length_exceeded"),
            400,
            "invalid_request_error",
            "prompt is too long: This model's",
        ),
        (
            429,
            error("Slow down.", "rate_limit_exceeded"),
            429,
            "rate_limit_error",
            "Slow down.",
        ),
        (
            503,
            error("Busy.", "server_is_overloaded"),
            529,
            "overloaded_error",
            "Busy.",
        ),
        (
            400,
            error("No.", "invalid_value"),
            400,
            "invalid_request_error",
            "No.",
        ),
    ] {
        let provider = ScriptedProvider::answering(json_response(status, body)).await;
        let gateway = translating("messages", "chat", &provider.url()).await;
        for stream in [false, true] {
            let response = gateway.ask(&ask(stream)).await;
            assert_error_body(Protocol::Messages, &response, caller_status);
            let error = &response.json()["error"];
            assert_eq!(error["type"], kind);
            let message = error["message"].as_str().unwrap();
            assert!(message.starts_with(start), "{message}");
        }
    }
}

#[tokio::test]
async fn a_stream_that_breaks_off_has_an_error_and_no_end() {
    let chunk = json!({"id": "chatcmpl-7", "object": "chat.completion.chunk", "choices": [
        {"index": 0, "delta": {"role": "assistant", "content": "Su"}, "finish_reason": null}]});
    let foreign = json!({"choices": 7});
    let failed = json!({"error": {"message": "Out of memory.", "code": "server_error"}});
    for (what, events, end) in [
        ("cut", vec![chunk.clone()], ""),
        ("no JSON", vec![chunk.clone()], "data: {oops\n\n"),
        (
            "not of the protocol",
            vec![chunk.clone(), foreign],
            "data: [DONE]\n\n",
        ),
        ("an error", vec![chunk.clone(), failed], "data: [DONE]\n\n"),
        ("no reason", vec![chunk.clone()], "data: [DONE]\n\n"),
    ] {
        let provider = ScriptedProvider::answering(stream_response(&events, end)).await;
        let gateway = translating("messages", "chat", &provider.url()).await;
        let response = gateway.ask(&ask(true)).await;
        let events = events_of(&response.text());
        let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names.first(), Some(&"message_start"), "{what}: {names:?}");
        assert_eq!(names.last(), Some(&"error"), "{what}: {names:?}");
        let errors = names.iter().filter(|name| **name == "error").count();
        assert_eq!(errors, 1, "{what}: {names:?}");
        assert!(!names.contains(&"message_stop"), "{what}: {names:?}");
        let last: &Value = &events.last().unwrap().1;
        assert!(last["error"]["message"].is_string(), "{what}: {last}");
    }
}
