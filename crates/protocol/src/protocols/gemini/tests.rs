//! Tests of what responses and streams of the protocol report.

use crate::Protocol;
use crate::response_verdict::ResponseVerdict;
use crate::sse::SseEvent;
use crate::stream::{EventClass, StreamProgress};
use crate::usage::{StreamUsageMeter, from_json};

#[test]
fn thoughts_are_output_and_what_tools_found_is_input() {
    let body = br#"{"candidates":[{"content":{"parts":[{"text":"\"usageMetadata\":{}"}]}}],"usageMetadata":{"thoughtsTokenCount":11,
        "promptTokenCount":20,"candidatesTokenCount":7,"toolUsePromptTokenCount":3,"cachedContentTokenCount":5,"totalTokenCount":41,
        "promptTokensDetails":[{"modality":"TEXT","tokenCount":20}]}}"#;
    let shape = &Protocol::Gemini.descriptor().usage;
    let usage = from_json(shape, body).unwrap();
    assert_eq!(usage.input_tokens, Some(23));
    assert_eq!(usage.output_tokens, Some(18));
    assert_eq!(usage.reasoning_tokens, Some(11));
    assert_eq!(usage.cached_input_tokens, Some(5));
    assert_eq!(usage.total_tokens, Some(41));
    let mut meter = StreamUsageMeter::new(shape);
    for chunk in [
        r#"{"usageMetadata":{"promptTokenCount":20,"thoughtsTokenCount":4}}"#,
        r#"{"candidates":[{}]}"#,
        r#"{"usageMetadata":{"promptTokenCount":20,"thoughtsTokenCount":11,"candidatesTokenCount":7}}"#,
    ] {
        meter.event(None, chunk.as_bytes());
    }
    assert_eq!(meter.usage().unwrap().output_tokens, Some(18));
}

#[test]
fn a_stream_is_whole_after_a_reason_for_its_end() {
    let streams = &Protocol::Gemini.descriptor().streams;
    for (chunk, class, is_whole) in [
        (
            r#"{"candidates":[{"content":{"parts":[{"text":"\"finishReason\""}]}}]}"#,
            EventClass::Content,
            false,
        ),
        (
            r#"{"candidates":[{"content":{"parts":[]},"index":0}]}"#,
            EventClass::Framing,
            false,
        ),
        (
            r#"{"candidates":[{"finishReason":"STOP"}]}"#,
            EventClass::Content,
            true,
        ),
        (
            r#"{"candidates":[{"finishReason":""}]}"#,
            EventClass::Framing,
            false,
        ),
        (
            r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#,
            EventClass::Content,
            true,
        ),
        (
            r#"{"usageMetadata":{"promptTokenCount":1}}"#,
            EventClass::Content,
            false,
        ),
        (r#"{"error":{"code":503}}"#, EventClass::Error, true),
        (r#"[{"error":{"code":503}}]"#, EventClass::Error, true),
        ("[DONE]", EventClass::Terminal { failed: false }, true),
    ] {
        assert_eq!(
            streams.event_class(None, chunk.as_bytes()),
            class,
            "{chunk}"
        );
        let mut progress = StreamProgress::new(streams, 1);
        progress.note(&SseEvent::encoded(None, chunk.as_bytes()), false);
        assert_eq!(progress.is_whole(None), is_whole, "{chunk}");
        assert!(!progress.is_terminated(), "{chunk}");
    }
}

#[test]
fn a_blocked_prompt_is_a_success_and_an_error_is_none() {
    let success = &Protocol::Gemini.descriptor().success;
    for (body, verdict) in [
        (
            r#"{"candidates":[{"finishReason":"STOP"}]}"#,
            ResponseVerdict::Success,
        ),
        (
            r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#,
            ResponseVerdict::Success,
        ),
        (
            r#"{"error":{"code":500,"message":"no","status":"INTERNAL"}}"#,
            ResponseVerdict::Failure,
        ),
        ("[]", ResponseVerdict::Unreadable),
    ] {
        assert_eq!(success.judge(body.as_bytes()), verdict, "{body}");
    }
}
