//! Tests of event classes and of stream ends, by protocol.

mod error_events;

use super::*;
use crate::Protocol;
use crate::sse::SseDecoder;

fn classify(protocol: Protocol, name: Option<&[u8]>, data: &[u8]) -> EventClass {
    protocol.descriptor().streams.event_class(name, data)
}

const END: EventClass = EventClass::Terminal { failed: false };

#[test]
fn chat_events_are_classified_by_their_data() {
    let table = [
        ("[DONE]", END),
        ("[DONE] ", END),
        ("", EventClass::Ping),
        (
            r#"{"choices":[{"index":0,"delta":{"role":"assistant"}}]}"#,
            EventClass::Framing,
        ),
        (
            r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"finish_reason":null}]}"#,
            EventClass::Framing,
        ),
        (
            r#"{"choices":[],"prompt_filter_results":[1]}"#,
            EventClass::Framing,
        ),
        (
            r#"{"choices":[],"usage":{"total_tokens":1}}"#,
            EventClass::Framing,
        ),
        (
            r#"{"choices":[{"delta":{"content":"a"}}]}"#,
            EventClass::Content,
        ),
        (
            r#"{"choices":[{"delta":{"role":"assistant","tool_calls":[{"index":0}]}}]}"#,
            EventClass::Content,
        ),
        (
            r#"{"choices":[{"delta":{"reasoning_content":"a"}}]}"#,
            EventClass::Content,
        ),
        (
            r#"{"choices":[{"delta":{}},{"delta":{"content":"a"}}]}"#,
            EventClass::Content,
        ),
        (
            r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
            EventClass::Content,
        ),
        (r#"{"error":{"message":"x"}}"#, EventClass::Error),
        (r#"{"choices":[],"error":"overloaded"}"#, EventClass::Error),
        (
            r#"{"choices":[{"delta":{"content":"a"}}],"error":null}"#,
            EventClass::Content,
        ),
        (r#"{"something":"new"}"#, EventClass::Content),
        ("no json", EventClass::Content),
    ];
    for (data, class) in table {
        assert_eq!(
            classify(Protocol::Chat, None, data.as_bytes()),
            class,
            "{data}"
        );
    }
    assert_eq!(
        classify(Protocol::Chat, Some(b"error"), b"{}"),
        EventClass::Error
    );
}

#[test]
fn an_error_in_a_stream_of_images_needs_no_name() {
    for (data, class) in [
        (r#"{"error":{"message":"x"}}"#, EventClass::Error),
        (r#"{"error":null,"b64_json":"iVBO"}"#, EventClass::Content),
    ] {
        assert_eq!(classify(Protocol::ImageEdit, None, data.as_bytes()), class);
    }
}

#[test]
fn named_events_are_classified_by_name_or_by_type() {
    let table = [
        (Protocol::Messages, "message_start", EventClass::Framing),
        (
            Protocol::Messages,
            "content_block_start",
            EventClass::Framing,
        ),
        (
            Protocol::Messages,
            "content_block_delta",
            EventClass::Content,
        ),
        (
            Protocol::Messages,
            "content_block_stop",
            EventClass::Content,
        ),
        (Protocol::Messages, "message_delta", EventClass::Content),
        (Protocol::Messages, "ping", EventClass::Ping),
        (Protocol::Messages, "message_stop", END),
        (Protocol::Messages, "error", EventClass::Error),
        (Protocol::Messages, "something_new", EventClass::Content),
        (Protocol::Responses, "response.created", EventClass::Framing),
        (Protocol::Responses, "response.queued", EventClass::Framing),
        (
            Protocol::Responses,
            "response.in_progress",
            EventClass::Framing,
        ),
        (
            Protocol::Responses,
            "response.output_text.delta",
            EventClass::Content,
        ),
        (
            Protocol::Responses,
            "response.mcp_call.failed",
            EventClass::Content,
        ),
        (Protocol::Responses, "response.completed", END),
        (Protocol::Responses, "response.incomplete", END),
        (Protocol::Responses, "response.cancelled", END),
        (
            Protocol::Responses,
            "response.failed",
            EventClass::Terminal { failed: true },
        ),
        (Protocol::Responses, "error", EventClass::Error),
        (
            Protocol::ImageEdit,
            "image_edit.partial_image",
            EventClass::Content,
        ),
        (Protocol::ImageEdit, "image_edit.completed", END),
        (Protocol::ImageEdit, "image_generation.completed", END),
        (Protocol::ImageEdit, "error", EventClass::Error),
    ];
    for (protocol, name, class) in table {
        let data = format!("{{\"sequence_number\":1,\"type\":\"{name}\"}}");
        assert_eq!(
            classify(protocol, Some(name.as_bytes()), b"{}"),
            class,
            "{name}"
        );
        assert_eq!(classify(protocol, None, data.as_bytes()), class, "{name}");
    }
}

#[test]
fn text_that_a_model_wrote_is_never_taken_for_an_event() {
    let data = r#"{"type":"content_block_delta","delta":{"text":"\",\"error\":1,\"type\":\"message_stop"}}"#;
    assert_eq!(
        classify(Protocol::Messages, None, data.as_bytes()),
        EventClass::Content
    );
    let data = r#"{"choices":[{"delta":{"content":"x\"}],\"error\":{},[DONE]"}}]}"#;
    assert_eq!(
        classify(Protocol::Chat, None, data.as_bytes()),
        EventClass::Content
    );
}

#[test]
fn the_model_is_found_where_each_protocol_names_it() {
    let table = [
        (
            r#"{"id":"m","model":"m","choices":[{"model":"x"}]}"#,
            Some(18),
        ),
        (r#"{"choices":[{"model":"x"}]}"#, None),
        (r#"{"model":null}"#, None),
        ("[DONE]", None),
        (
            r#"{"type":"message_start","message":{"model":"m"}}"#,
            Some(43),
        ),
        (r#"{"type":"message","model":"m","content":[]}"#, Some(26)),
        (
            r#"{"type":"content_block_delta","delta":{"model":"m"}}"#,
            None,
        ),
        (
            r#"{"type":"error","error":{"model":"m"},"message":"text"}"#,
            None,
        ),
        (
            r#"{"response":{"output":[{"model":"x"}],"model" : "m"}}"#,
            Some(48),
        ),
        (r#"{"id":"resp_1","output":[],"model":"m"}"#, Some(35)),
        (r#"{"type":"response.output_text.delta","delta":"m"}"#, None),
    ];
    for (data, start) in table {
        let span = model_span(data.as_bytes());
        assert_eq!(span.as_ref().map(|span| span.start), start, "{data}");
        assert!(span.is_none_or(|span| &data[span] == "\"m\""), "{data}");
    }
}

/// Whether a stream that ends after these events is whole, and whether it is over.
fn stream_progress(protocol: Protocol, choices: u64, stream: &str) -> (bool, bool) {
    const EVENT_BYTES_MAX: usize = 256;
    let mut progress = StreamProgress::new(&protocol.descriptor().streams, choices);
    let mut framer = SseDecoder::new(EVENT_BYTES_MAX);
    for piece in stream.as_bytes().chunks(100) {
        framer.push(&piece.to_vec().into());
        while let Some(event) = framer.next() {
            progress.note(&event, framer.is_in_oversize());
        }
    }
    let partial = framer.finish();
    (progress.is_whole(partial.as_ref()), progress.is_over())
}

#[test]
fn a_stream_is_whole_behind_its_last_event_or_an_error() {
    let oversize = "x".repeat(600);
    let finished = |index: u64| {
        format!(r#"{{"choices":[{{"index":{index},"delta":{{}},"finish_reason":"stop"}}]}}"#)
    };
    let content = |index: u64| {
        format!(
            r#"{{"choices":[{{"index":{index},"delta":{{"content":"a"}},"finish_reason":null}}]}}"#
        )
    };
    let (chat, image) = (Protocol::Chat, Protocol::ImageEdit);
    let data = |data: &str| format!("data: {data}\n\n");
    for (protocol, choices, stream, expected) in [
        (chat, 1, String::new(), (false, false)),
        (chat, 1, data(&content(0)), (false, false)),
        (chat, 1, data(&finished(0)), (true, false)),
        (
            chat,
            1,
            data(r#"{"choices":[{"finish_reason" : null},{"finish_reason":"stop"}]}"#),
            (true, false),
        ),
        (
            chat,
            1,
            data(r#"{"choices":[],"x":{"finish_reason":"stop"}}"#),
            (false, false),
        ),
        (chat, 1, data("[DONE]"), (true, true)),
        (chat, 1, "data: [DONE]".into(), (true, false)),
        (chat, 1, "data: [DON".into(), (false, false)),
        (chat, 1, format!("data: {}\n", finished(0)), (false, false)),
        (
            chat,
            2,
            data(&content(1)) + &data(&finished(0)),
            (false, false),
        ),
        (
            chat,
            2,
            data(&content(1)) + &data(&finished(0)) + &data(&finished(1)),
            (true, false),
        ),
        (chat, 2, data(&finished(500)), (true, false)),
        (chat, 1, data(&oversize), (true, false)),
        (chat, 1, format!("data: {oversize}"), (false, false)),
        (
            image,
            1,
            format!("event: image_edit.completed\ndata: {oversize}"),
            (false, false),
        ),
        (
            Protocol::Responses,
            1,
            data(r#"{"error":{"message":"no"}}"#),
            (true, true),
        ),
        (
            Protocol::Messages,
            1,
            data(r#"{"error":{"message":"no"}}"#),
            (false, false),
        ),
        (
            Protocol::Messages,
            1,
            "event: message_stop\ndata: {}".into(),
            (false, false),
        ),
        (
            Protocol::Messages,
            1,
            "event: message_stop\n\n".into(),
            (false, false),
        ),
        (
            image,
            1,
            format!("event: image_edit.completed\ndata: {oversize}\n\n"),
            (true, true),
        ),
        (
            image,
            1,
            format!("data: {{\"type\":\"image_edit.completed\",\"b64_json\":\"{oversize}\"}}\n\n"),
            (true, true),
        ),
        (
            image,
            1,
            format!("event: image_edit.partial_image\ndata: {oversize}\n\n"),
            (false, false),
        ),
        (
            image,
            1,
            format!(
                "event: image_edit.partial_image\ndata: {oversize}\n\nevent: image_edit.completed\ndata: {oversize}\n\n"
            ),
            (true, true),
        ),
    ] {
        assert_eq!(
            stream_progress(protocol, choices, &stream),
            expected,
            "{stream}"
        );
    }
}
