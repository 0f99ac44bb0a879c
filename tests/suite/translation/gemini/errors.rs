//! Errors of Gemini's API in the protocol of the caller, and streams that break off.

use super::super::{events_of, stream_response};
use super::gateway;
use crate::harness::error_shape::assert_error_body;
use crate::harness::http_response::json_response;
use crate::harness::{Request, ScriptedProvider};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

fn error(code: u16, status: &str, message: &str, details: &Value) -> Value {
    json!({"error": {"code": code, "message": message, "status": status, "details": details}})
}

fn ask(caller: Protocol, stream: bool) -> Request {
    match stream {
        true => Request::ask_stream(caller),
        false => Request::ask(caller),
    }
}

#[tokio::test]
async fn errors_of_gemini_have_the_words_of_the_callers_protocol() {
    let retry =
        json!([{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}]);
    let key =
        json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]);
    let long =
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).";
    for (status, word, message, details, chat, messages) in [
        (
            400,
            "INVALID_ARGUMENT",
            long,
            json!([]),
            (400, "context_length_exceeded"),
            (400, "invalid_request_error"),
        ),
        (
            429,
            "RESOURCE_EXHAUSTED",
            "You exceeded your current quota.",
            retry,
            (429, "rate_limit_exceeded"),
            (429, "rate_limit_error"),
        ),
        (
            503,
            "UNAVAILABLE",
            "The model is overloaded.",
            json!([]),
            (503, "server_is_overloaded"),
            (529, "overloaded_error"),
        ),
        (
            400,
            "INVALID_ARGUMENT",
            "API key not valid. Please pass a valid API key.",
            key,
            (502, "upstream_error"),
            (502, "api_error"),
        ),
        (
            404,
            "NOT_FOUND",
            "models/x is not found for API version v1beta",
            json!([]),
            (404, "model_not_found"),
            (404, "not_found_error"),
        ),
        (
            400,
            "INVALID_ARGUMENT",
            "Invalid value at 'tools'.",
            json!([]),
            (400, "invalid_request"),
            (400, "invalid_request_error"),
        ),
    ] {
        let body = error(status, word, message, &details);
        let provider = ScriptedProvider::answering(json_response(status, body)).await;
        for (caller, (expected, code)) in [(Protocol::Chat, chat), (Protocol::Messages, messages)] {
            for stream in [false, true] {
                // A fresh one, since errors may leave the channel in a cool-down.
                let gateway = gateway(caller, &provider).await;
                let response = gateway.ask(&ask(caller, stream)).await;
                assert_error_body(caller, &response, expected);
                let error = &response.json()["error"];
                let member = if caller == Protocol::Chat {
                    "code"
                } else {
                    "type"
                };
                assert_eq!(error[member], code, "{error}");
                let wait = response.headers.get("retry-after").map(ToString::to_string);
                assert_eq!(wait, (status == 429).then(|| "35".to_owned()), "{message}");
            }
        }
    }
}

#[tokio::test]
async fn a_stream_of_gemini_that_breaks_off_has_an_error_and_no_end() {
    let chunk = json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "Su"}]}, "index": 0}],
        "usageMetadata": {"promptTokenCount": 3}});
    let finished = |reason: &str| {
        let mut chunk = chunk.clone();
        chunk["candidates"][0]["finishReason"] = json!(reason);
        chunk
    };
    let failed = error(
        500,
        "INTERNAL",
        "An internal error has occurred.",
        &json!([]),
    );
    for (what, events, end) in [
        ("cut", vec![chunk.clone()], ""),
        ("no JSON", vec![chunk.clone()], "data: {oops\n\n"),
        ("not of the protocol", vec![chunk.clone(), json!([1])], ""),
        ("an error", vec![chunk.clone(), failed], ""),
        (
            "a failure of the model",
            vec![chunk.clone(), finished("MALFORMED_FUNCTION_CALL")],
            "",
        ),
        (
            "a reason that nobody knows",
            vec![chunk.clone(), finished("NEW_REASON")],
            "",
        ),
    ] {
        let provider = ScriptedProvider::answering(stream_response(&events, end)).await;
        let gateway = gateway(Protocol::Messages, &provider).await;
        let response = gateway.ask(&ask(Protocol::Messages, true)).await;
        let events = events_of(&response.text());
        let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names.first(), Some(&"message_start"), "{what}: {names:?}");
        assert_eq!(names.last(), Some(&"error"), "{what}: {names:?}");
        assert!(!names.contains(&"message_stop"), "{what}: {names:?}");
    }
}

#[tokio::test]
async fn a_response_that_failed_is_no_success() {
    for body in [
        json!({"candidates": [{"content": {}, "finishReason": "MALFORMED_FUNCTION_CALL"}]}),
        json!({"candidates": []}),
        json!({"usageMetadata": {"promptTokenCount": 3}}),
    ] {
        let provider = ScriptedProvider::answering(json_response(200, body)).await;
        let gateway = gateway(Protocol::Chat, &provider).await;
        let response = gateway.ask(&Request::ask(Protocol::Chat)).await;
        assert_error_body(Protocol::Chat, &response, 502);
    }
}
