//! Error events of chat streams, in the forms of several providers.

use super::super::*;
use super::classify;
use crate::Protocol;
use crate::sse::{SseDecoder, encode_event};

#[test]
fn chat_events_are_errors_in_the_form_of_each_provider() {
    for (data, class) in [
        (
            r#"{"object":"error","message":"m","type":"BadRequestError","code":400}"#,
            EventClass::Error,
        ),
        (r#"[{"error":{"code":429}}]"#, EventClass::Error),
        (
            r#"{"code":500,"msg":"busy","data":null}"#,
            EventClass::Error,
        ),
        (r#"{"detail":"m"}"#, EventClass::Error),
        (
            r#"{"choices":null,"base_resp":{"status_code":1002}}"#,
            EventClass::Error,
        ),
        (
            r#"{"choices":[],"base_resp":{"status_code":0,"status_msg":""}}"#,
            EventClass::Framing,
        ),
        (
            r#"{"choices":[],"usage":{"total_tokens":1},"base_resp":{"status_code":0}}"#,
            EventClass::Framing,
        ),
        (
            r#"{"object":"chat.completion.chunk","choices":[{"delta":{"content":"a"}}],"message":"x"}"#,
            EventClass::Content,
        ),
    ] {
        assert_eq!(
            classify(Protocol::Chat, None, data.as_bytes()),
            class,
            "{data}"
        );
    }
}

#[test]
fn an_error_event_is_distinguished_from_content_about_errors() {
    let table = [
        (Protocol::Chat, None, r#"{"error":{"message":"no"}}"#, true),
        (Protocol::Chat, Some("error"), r#"{"message":"no"}"#, true),
        (
            Protocol::Chat,
            None,
            r#"{"error":null,"choices":[{"delta":{"content":"a"}}]}"#,
            false,
        ),
        (
            Protocol::Chat,
            None,
            r#"{"choices":[{"delta":{"content":"\"error\""}}]}"#,
            false,
        ),
        (Protocol::Chat, None, "[DONE]", false),
        (
            Protocol::Messages,
            None,
            r#"{"type":"error","error":{}}"#,
            true,
        ),
        (
            Protocol::Messages,
            Some("content_block_delta"),
            r#"{"delta":{"text":"failed"}}"#,
            false,
        ),
        (
            Protocol::Responses,
            Some("response.failed"),
            r#"{"response":{}}"#,
            true,
        ),
        (
            Protocol::Responses,
            None,
            r#"{"type":"response.failed"}"#,
            true,
        ),
        (
            Protocol::Responses,
            Some("response.completed"),
            r#"{"response":{"error":null}}"#,
            false,
        ),
        (
            Protocol::ImageEdit,
            None,
            r#"{"error":{"code":"no"}}"#,
            true,
        ),
    ];
    for (protocol, name, data, expected) in table {
        let mut framer = SseDecoder::new(1 << 20);
        framer.push(&encode_event(name, data.as_bytes()));
        let event = framer.next().unwrap();
        let mut progress = StreamProgress::new(&protocol.descriptor().streams, 1);
        assert_eq!(progress.note(&event, false), expected, "{data}");
        assert!(
            !progress.note(&event, false),
            "the first one counts: {data}"
        );
    }
}
