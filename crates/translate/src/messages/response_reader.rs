//! Reads a response of the messages protocol.

use super::words::{MessageTokenCounts, known_stop};
use crate::escaped_text::EscapedText;
use crate::superset::{Arguments, OutputPart, Response};
use crate::typed_value::json_text;
use headgate_protocol::json::{DocumentNode, ValueKind};

/// # Errors
/// Why it is no response of the protocol.
pub(crate) fn read_response(root: DocumentNode<'_>) -> Result<Response<'_>, String> {
    let [id, content, stop_reason, stop_sequence, usage] =
        root.get_each(["id", "content", "stop_reason", "stop_sequence", "usage"]);
    if let Some(error) = root.get("error").filter(|error| !error.is_null()) {
        let (message, _) = read_error(error);
        return Err(format!("it is an error: {:.1024}", message.decoded()));
    }
    let content = content.filter(|content| content.kind() == ValueKind::Array);
    let content = content.ok_or("it has no content")?;
    let mut parts = Vec::with_capacity(content.len());
    for block in content.elements() {
        parts.extend(read_block(block)?);
    }
    let mut counts = MessageTokenCounts::default();
    counts.update(usage);
    Ok(Response {
        id: id.and_then(EscapedText::from_node),
        parts,
        finish: known_stop(stop_reason)?,
        stop_sequence: stop_sequence.and_then(EscapedText::from_node),
        usage: counts.usage(),
    })
}

/// The part that a content block makes; `None` for empty texts, and for blocks of tools that the provider runs.
///
/// # Errors
/// Why it is no block of its type.
pub(super) fn read_block(block: DocumentNode<'_>) -> Result<Option<OutputPart<'_>>, String> {
    Ok(Some(match required(block, "type")?.as_written() {
        "text" => match required(block, "text")? {
            text if text.is_empty() => return Ok(None),
            text => OutputPart::Text(text),
        },
        "thinking" => {
            let signature = block.get("signature").and_then(EscapedText::from_node);
            OutputPart::Thinking {
                text: required(block, "thinking")?,
                signature: signature.filter(|signature| !signature.is_empty()),
            }
        }
        "redacted_thinking" => OutputPart::SealedThinking(required(block, "data")?),
        "tool_use" => OutputPart::ToolCall {
            id: required(block, "id")?,
            name: required(block, "name")?,
            arguments: Arguments::Object(read_input(block)?.unwrap_or("{}")),
        },
        _ => return Ok(None),
    }))
}

/// The input of a call, as it is written; `None` if it has none.
///
/// # Errors
/// It is no object.
pub(super) fn read_input(call: DocumentNode<'_>) -> Result<Option<&str>, String> {
    let input = call.get("input").filter(|input| !input.is_null());
    match input.map(|input| (input.kind(), input)) {
        None => Ok(None),
        Some((ValueKind::Object, input)) => Ok(Some(json_text(input))),
        Some((_, input)) => Err(format!("the input of a tool call is {}", input.type_name())),
    }
}

/// The message and the type of an error.
pub(super) fn read_error(error: DocumentNode<'_>) -> (EscapedText<'_>, Option<EscapedText<'_>>) {
    let [message, kind] = error.get_each(["message", "type"]);
    let unnamed = EscapedText::literal("the provider reports an error without a message");
    let message = message.and_then(EscapedText::from_node);
    let message = message.or_else(|| EscapedText::from_node(error));
    let message = message.filter(|message| !message.is_empty());
    let kind = kind.and_then(EscapedText::from_node);
    // The type of the event itself, where the error stands beside it.
    let kind = kind.filter(|kind| kind.as_written() != "error");
    (message.unwrap_or(unnamed), kind)
}

/// A text that an object must have.
pub(super) fn required<'a>(
    object: DocumentNode<'a>,
    member: &str,
) -> Result<EscapedText<'a>, String> {
    let text = object.get(member).and_then(EscapedText::from_node);
    text.ok_or_else(|| match object.path() {
        path if path.is_empty() => format!("it has no text `{member}`"),
        path => format!("its `{path:.128}` has no text `{member}`"),
    })
}
