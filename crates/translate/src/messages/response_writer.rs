//! Writes a response in the messages protocol.

use super::words::{no_object, stop_reason, write_usage};
use crate::context::ResponseContext;
use crate::escaped_text::EscapedText;
use crate::json_writer::JsonWriter;
use crate::superset::{FinishReason, OutputPart, Response};

/// The caller's body for a response.
///
/// # Errors
/// The arguments of a tool call are no JSON object, or the response has no reason for its end.
pub(crate) fn write_response(
    response: &Response<'_>,
    context: &ResponseContext,
) -> Result<Vec<u8>, String> {
    let finish = response.finish.ok_or("it has no reason for its end")?;
    let mut json = JsonWriter::with_capacity(1024);
    json.begin_object();
    json.key("id").id("msg_", &context.id);
    json.key("type").literal("message");
    json.key("role").literal("assistant");
    json.key("model").raw(&context.model);
    json.key("content").begin_array();
    for part in &response.parts {
        write_block(part, &mut json)?;
    }
    json.end_array();
    json.key("stop_reason")
        .literal(stop_reason(with_refusal(finish, &response.parts)));
    json.key("stop_sequence");
    match &response.stop_sequence {
        Some(text) => json.text(text),
        None => json.null(),
    };
    json.key("usage");
    write_usage(response.usage.unwrap_or_default(), &mut json);
    json.end_object();
    Ok(json.into_bytes())
}

/// # Errors
/// The arguments of a call are no JSON object.
fn write_block(part: &OutputPart<'_>, json: &mut JsonWriter) -> Result<(), String> {
    match part {
        OutputPart::Text(text) | OutputPart::Refusal(text) => {
            json.begin_object().key("type").literal("text");
            json.key("text").text(text).end_object();
        }
        OutputPart::Thinking { text, signature } => {
            json.begin_object().key("type").literal("thinking");
            json.key("thinking").text(text).key("signature");
            json.text(signature.as_ref().unwrap_or(&EscapedText::literal("")));
            json.end_object();
        }
        OutputPart::SealedThinking(data) => {
            json.begin_object().key("type").literal("redacted_thinking");
            json.key("data").text(data).end_object();
        }
        OutputPart::ToolCall {
            id,
            name,
            arguments,
        } => {
            let input = arguments.object();
            let input = input.ok_or_else(|| no_object(name))?;
            json.begin_object().key("type").literal("tool_use");
            json.key("id").text(id).key("name").text(name);
            json.key("input").raw(input.as_bytes()).end_object();
        }
    }
    Ok(())
}

/// A refusal of the model itself is a reason of its own here.
fn with_refusal(finish: FinishReason, parts: &[OutputPart<'_>]) -> FinishReason {
    let is_refusal = |part: &OutputPart<'_>| matches!(part, OutputPart::Refusal(_));
    match finish {
        FinishReason::Stop if parts.iter().any(is_refusal) => FinishReason::ContentFilter,
        other => other,
    }
}
