//! Complete streams of each protocol, event by event.

use headgate_protocol::Protocol;

/// The events of a complete stream without their blank lines, and the position (from 1) of the first event after which
/// the stream is complete.
pub fn whole(protocol: Protocol) -> (&'static [&'static str], usize) {
    match protocol {
        Protocol::Chat => (
            &[
                r#"data: {"choices":[{"index":0,"delta":{"role":"assistant"},"finish_reason":null}]}"#,
                r#"data: {"choices":[{"index":0,"delta":{"content":"a \"finish_reason\":\"stop\" b"},"finish_reason":null}]}"#,
                r#"data: {"choices":[{"index":0,"delta":{"content":"word"},"finish_reason":""}]}"#,
                r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
                r#"data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}"#,
                "data: [DONE]",
            ],
            4,
        ),
        Protocol::Messages => (
            &[
                "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"m\",\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{\"input_tokens\":1}}}",
                "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"message_stop\"}}",
                "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}",
                "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}",
                "event: message_stop\ndata: {\"type\":\"message_stop\"}",
            ],
            5,
        ),
        Protocol::Responses => (
            &[
                "event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"resp_1\"}}",
                "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":1,\"delta\":\"response.completed\"}",
                "event: response.output_text.done\ndata: {\"type\":\"response.output_text.done\",\"sequence_number\":2,\"text\":\"x\"}",
                "event: response.completed\ndata: {\"type\":\"response.completed\",\"sequence_number\":3,\"response\":{\"id\":\"resp_1\"}}",
            ],
            4,
        ),
        _ => (
            &[
                "event: image_edit.partial_image\ndata: {\"type\":\"image_edit.partial_image\",\"b64_json\":\"QUJD\"}",
                "event: image_edit.completed\ndata: {\"type\":\"image_edit.completed\",\"b64_json\":\"QUJD\",\"usage\":{\"input_tokens\":1,\"output_tokens\":1,\"total_tokens\":2}}",
            ],
            2,
        ),
    }
}
