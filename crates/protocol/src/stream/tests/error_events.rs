//! Error events of chat streams, in the forms of several providers.

use super::super::*;
use super::classify;
use crate::Protocol;

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
