//! Writes a response in the chat protocol.

use super::words::{finish_word, write_usage};
use crate::context::ResponseContext;
use crate::escaped_text::EscapedText;
use crate::json_writer::JsonWriter;
use crate::superset::{Arguments, OutputPart, Response};

/// The caller's body for a response.
///
/// # Errors
/// The response has no reason for its end, or one that the protocol cannot say.
pub(crate) fn write_response(
    response: &Response<'_>,
    context: &ResponseContext,
) -> Result<Vec<u8>, String> {
    let finish = response.finish.ok_or("it has no reason for its end")?;
    let mut json = JsonWriter::with_capacity(1024);
    json.begin_object();
    json.key("id").id("chatcmpl-", &context.id);
    json.key("object").literal("chat.completion");
    json.key("created").number(context.created);
    json.key("model").raw(&context.model);
    json.key("choices").begin_array().begin_object();
    json.key("index").number(0).key("message");
    write_message(&response.parts, context, &mut json);
    json.key("logprobs").null();
    json.key("finish_reason").literal(finish_word(finish)?);
    json.end_object().end_array();
    if let Some(usage) = response.usage {
        json.key("usage");
        write_usage(usage, &mut json);
    }
    json.end_object();
    Ok(json.into_bytes())
}

fn write_message(parts: &[OutputPart<'_>], context: &ResponseContext, json: &mut JsonWriter) {
    let (mut texts, mut refusals, mut thoughts) = (Vec::new(), Vec::new(), Vec::new());
    for part in parts {
        match part {
            OutputPart::Text(text) => texts.push(text),
            OutputPart::Refusal(text) => refusals.push(text),
            OutputPart::Thinking { text, .. } if !text.is_empty() => thoughts.push(text),
            OutputPart::Thinking { .. }
            | OutputPart::SealedThinking(_)
            | OutputPart::ToolCall { .. } => {}
        }
    }
    json.begin_object().key("role").literal("assistant");
    for (member, pieces) in [("content", &texts), ("refusal", &refusals)] {
        json.key(member);
        match pieces.is_empty() {
            true => json.null(),
            false => json.text_pieces(pieces),
        };
    }
    if !thoughts.is_empty() {
        json.key("reasoning_content").text_pieces(&thoughts);
    }
    write_seals(parts, json);
    write_calls(parts, context, json);
    json.end_object();
}

fn write_seals(parts: &[OutputPart<'_>], json: &mut JsonWriter) {
    let seals = parts.iter().filter_map(|part| match part {
        OutputPart::Thinking { signature, .. } => signature.as_ref(),
        OutputPart::SealedThinking(data) => Some(data),
        OutputPart::Text(_) | OutputPart::Refusal(_) | OutputPart::ToolCall { .. } => None,
    });
    let mut seals = seals.peekable();
    if seals.peek().is_some() {
        json.key("reasoning_details").begin_array();
        for (seal, index) in seals.zip(0..) {
            write_seal(seal, index, json);
        }
        json.end_array();
    }
}

/// A proof of thoughts, or thoughts that only their provider reads, in the form in which OpenRouter has them.
pub(super) fn write_seal(seal: &EscapedText<'_>, index: u64, json: &mut JsonWriter) {
    json.begin_object()
        .key("type")
        .literal("reasoning.encrypted");
    json.key("data").text(seal);
    json.key("index").number(index).end_object();
}

fn write_calls(parts: &[OutputPart<'_>], context: &ResponseContext, json: &mut JsonWriter) {
    let mut has_calls = false;
    for part in parts {
        let OutputPart::ToolCall {
            id,
            name,
            arguments,
        } = part
        else {
            continue;
        };
        if !std::mem::replace(&mut has_calls, true) {
            json.key("tool_calls").begin_array();
        }
        json.begin_object().key("id").text(id);
        write_call(name, arguments, context.is_custom_tool(name), json);
        json.end_object();
    }
    if has_calls {
        json.end_array();
    }
}

fn write_call(
    name: &EscapedText<'_>,
    arguments: &Arguments<'_>,
    is_custom: bool,
    json: &mut JsonWriter,
) {
    if is_custom {
        json.key("type").literal("custom");
        json.key("custom").begin_object().key("name").text(name);
        json.key("input").text(&arguments.free_text());
    } else {
        json.key("type").literal("function");
        json.key("function").begin_object().key("name").text(name);
        json.key("arguments").text(&arguments.json_text());
    }
    json.end_object();
}
