//! Streams of Bedrock that break off, are damaged, or report an exception, and its error responses.

use super::provider::{bedrock, exception, frames, sending, stream_of};
use super::{calls, config_for, events_of, gateway, question};
use crate::harness::error_shape::assert_error_body;
use crate::harness::http_response::http_response;
use crate::harness::{Gateway, PROTOCOLS};
use headgate_protocol::Protocol;
use serde_json::json;

/// Whether a stream ends as its protocol ends a good one.
fn ends_well(caller: Protocol, text: &str) -> bool {
    let events = events_of(text);
    let Some((name, last)) = events.last() else {
        return false;
    };
    match caller {
        Protocol::Chat => last == "[DONE]",
        Protocol::Messages => name == "message_stop",
        _ => name == "response.completed",
    }
}

#[tokio::test]
async fn a_stream_that_is_cut_after_any_frame_has_no_good_end() {
    let all = frames(&calls(), "tool_use");
    for caller in PROTOCOLS {
        for kept in 0..all.len() {
            let provider = sending(stream_of(&all[..kept], 100)).await;
            let gateway = gateway(caller, &provider).await;
            let response = gateway.ask(&question(caller, None, true)).await;
            let text = response.text();
            assert!(!ends_well(caller, &text), "{caller:?} {kept}: {text}");
            assert!(
                response.status >= 500 || text.contains("error"),
                "{caller:?} {kept}: {text}"
            );
        }
    }
}

#[tokio::test]
async fn a_damaged_frame_ends_the_stream_with_an_error() {
    let mut damaged = frames(&calls(), "tool_use");
    let frame = damaged.len() - 3;
    let middle = damaged[frame].len() / 2;
    damaged[frame][middle] ^= 4;
    for caller in PROTOCOLS {
        let provider = sending(stream_of(&damaged, 0)).await;
        let gateway = gateway(caller, &provider).await;
        let response = gateway.ask(&question(caller, None, true)).await;
        let text = response.text();
        assert!(text.contains("Two c") && text.contains("error"), "{text}");
        assert!(!ends_well(caller, &text), "{text}");
    }
}

#[tokio::test]
async fn an_exception_before_any_content_leads_to_the_next_channel() {
    let start = frames(&calls(), "tool_use").remove(0);
    for name in [
        "throttlingException",
        "serviceUnavailableException",
        "modelStreamErrorException",
        "internalServerException",
    ] {
        let busy = sending(stream_of(&[start.clone(), exception(name, "Wait.")], 0)).await;
        let good = bedrock(json!([{"text": "Good."}]), "end_turn").await;
        let mut config = config_for("messages", &[&busy.url(), &good.url()]);
        config["channels"]["bedrock-1"]["tier"] = json!(2);
        let gateway = Gateway::start(&config).await;
        let response = gateway.ask(&question(Protocol::Messages, None, true)).await;
        assert_eq!(response.status, 200, "{name}: {}", response.text());
        assert!(
            ends_well(Protocol::Messages, &response.text()),
            "{name}: {}",
            response.text()
        );
        assert_eq!(
            (busy.requests().len(), good.requests().len()),
            (1, 1),
            "{name}"
        );
    }
}

#[tokio::test]
async fn an_exception_after_content_is_the_callers_error() {
    let all = frames(&calls(), "tool_use");
    for caller in PROTOCOLS {
        for kept in 3..all.len() {
            let mut frames = all[..kept].to_vec();
            frames.push(exception(
                "throttlingException",
                "Too many tokens, please wait.",
            ));
            let provider = sending(stream_of(&frames, 0)).await;
            let gateway = gateway(caller, &provider).await;
            let response = gateway.ask(&question(caller, None, true)).await;
            let text = response.text();
            assert!(
                text.contains("Too many tokens"),
                "{caller:?} {kept}: {text}"
            );
            assert!(!ends_well(caller, &text), "{caller:?} {kept}: {text}");
        }
    }
}

#[tokio::test]
async fn errors_of_bedrock_have_the_words_of_the_caller() {
    let too_long = "Input is too long for requested model.";
    for (status, code, message, caller_status, kind) in [
        (
            429,
            "ThrottlingException",
            "Too many requests.",
            429,
            "rate_limit_error",
        ),
        (
            503,
            "ServiceUnavailableException",
            "Busy.",
            529,
            "overloaded_error",
        ),
        (
            400,
            "ValidationException",
            "The toolConfig field must be defined.",
            400,
            "invalid_request_error",
        ),
        (
            400,
            "ValidationException",
            too_long,
            400,
            "invalid_request_error",
        ),
    ] {
        let body = json!({"message": message}).to_string();
        let headers = format!(
            "Content-Type: application/json\r\nx-amzn-errortype: {code}:http://internal.amazon.com/coral/\r\n"
        );
        let provider = sending(http_response(status, &headers, body)).await;
        let gateway = gateway(Protocol::Messages, &provider).await;
        for stream in [false, true] {
            let response = gateway
                .ask(&question(Protocol::Messages, None, stream))
                .await;
            assert_error_body(Protocol::Messages, &response, caller_status);
            let error = &response.json()["error"];
            assert_eq!(error["type"], kind, "{code}");
            let text = error["message"].as_str().unwrap();
            assert!(text.ends_with(message), "{text}");
            assert_eq!(
                text.starts_with("prompt is too long"),
                message == too_long,
                "{text}"
            );
        }
    }
}
