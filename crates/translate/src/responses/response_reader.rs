//! Reads a response of the responses protocol.

#[cfg(test)]
mod tests;

use super::outcome::{completed_finish, incomplete_finish, read_error, read_usage};
use super::thoughts::add_thought;
use crate::escaped_text::EscapedText;
use crate::superset::{Arguments, FinishReason, OutputPart, Response};
use crate::typed_value::json_text;
use headgate_protocol::json::{DocumentNode, ValueKind};

/// # Errors
/// Why it is no response of the protocol.
pub(crate) fn read_response(root: DocumentNode<'_>) -> Result<Response<'_>, String> {
    let [id, status, output, error] = root.get_each(["id", "status", "output", "error"]);
    let output = output.filter(|output| output.kind() == ValueKind::Array);
    let output = output.ok_or("it has no `output`")?;
    let mut parts = Vec::with_capacity(output.len());
    for item in output.elements() {
        read_item(item, &mut parts)?;
    }
    Ok(Response {
        id: id.and_then(EscapedText::from_node),
        finish: Some(read_finish(root, status, error, &parts)?),
        parts,
        stop_sequence: None,
        usage: read_usage(root),
    })
}

fn read_finish(
    root: DocumentNode<'_>,
    status: Option<DocumentNode<'_>>,
    error: Option<DocumentNode<'_>>,
    parts: &[OutputPart<'_>],
) -> Result<FinishReason, String> {
    let status = status.and_then(EscapedText::from_node).unwrap_or_default();
    match status.as_written() {
        "completed" => {
            let mut parts = parts.iter();
            let has_calls = parts.any(|part| matches!(part, OutputPart::ToolCall { .. }));
            Ok(completed_finish(has_calls))
        }
        "incomplete" => Ok(incomplete_finish(root)),
        "failed" => {
            let (message, code) = read_error(error);
            let code = code.unwrap_or_default();
            let (message, code) = (message.decoded(), code.decoded());
            Err(format!("the response failed: {code}: {message:.1024}"))
        }
        other => Err(format!("its status is `{other:.64}`")),
    }
}

fn read_item<'a>(item: DocumentNode<'a>, parts: &mut Vec<OutputPart<'a>>) -> Result<(), String> {
    match item_type(item)?.as_written() {
        "message" => read_message(item, parts),
        "function_call" => {
            let (id, name) = read_call(item)?;
            parts.push(OutputPart::ToolCall {
                id,
                name,
                arguments: read_arguments(item)?,
            });
            Ok(())
        }
        "custom_tool_call" => {
            let (id, name) = read_call(item)?;
            let input = required(item, "input")?;
            parts.push(OutputPart::ToolCall {
                id,
                name,
                arguments: Arguments::FreeText(input),
            });
            Ok(())
        }
        "reasoning" => {
            read_reasoning(item, parts);
            Ok(())
        }
        // Items of tools that the provider runs.
        _ => Ok(()),
    }
}

fn read_message<'a>(item: DocumentNode<'a>, parts: &mut Vec<OutputPart<'a>>) -> Result<(), String> {
    for content in item
        .get("content")
        .into_iter()
        .flat_map(DocumentNode::elements)
    {
        match read_content(content)? {
            Some(OutputPart::Text(text) | OutputPart::Refusal(text)) if text.is_empty() => {}
            part => parts.extend(part),
        }
    }
    Ok(())
}

/// The text or refusal of a content part; `None` for those of other types.
pub(super) fn read_content(content: DocumentNode<'_>) -> Result<Option<OutputPart<'_>>, String> {
    Ok(match item_type(content)?.as_written() {
        "output_text" | "text" => Some(OutputPart::Text(required(content, "text")?)),
        "refusal" => Some(OutputPart::Refusal(required(content, "refusal")?)),
        _ => None,
    })
}

fn read_reasoning<'a>(item: DocumentNode<'a>, parts: &mut Vec<OutputPart<'a>>) {
    let [summary, content, sealed] = item.get_each(["summary", "content", "encrypted_content"]);
    let mut text = EscapedText::default();
    let sections = summary.into_iter().chain(content);
    for section in sections.flat_map(DocumentNode::elements) {
        if let Some(section) = section.get("text").and_then(EscapedText::from_node) {
            add_thought(&mut text, section);
        }
    }
    let sealed = sealed.and_then(EscapedText::from_node);
    match (text.is_empty(), sealed.filter(|sealed| !sealed.is_empty())) {
        (false, signature) => parts.push(OutputPart::Thinking { text, signature }),
        (true, Some(sealed)) => parts.push(OutputPart::SealedThinking(sealed)),
        (true, None) => {}
    }
}

/// The id and the name of a call. Some servers give it no id besides that of its item.
pub(super) fn read_call(
    item: DocumentNode<'_>,
) -> Result<(EscapedText<'_>, EscapedText<'_>), String> {
    let call_id = item.get("call_id").and_then(EscapedText::from_node);
    let call_id = call_id.filter(|call_id| !call_id.is_empty());
    let call_id = call_id.map_or_else(|| required(item, "id"), Ok)?;
    Ok((call_id, required(item, "name")?))
}

/// The arguments of a function call.
pub(super) fn read_arguments(item: DocumentNode<'_>) -> Result<Arguments<'_>, String> {
    let arguments = item
        .get("arguments")
        .filter(|arguments| !arguments.is_null());
    let Some(arguments) = arguments else {
        return Ok(Arguments::Text(EscapedText::default()));
    };
    if arguments.kind() == ValueKind::Object {
        return Ok(Arguments::Object(json_text(arguments)));
    }
    required(item, "arguments").map(Arguments::Text)
}

pub(super) fn item_type(item: DocumentNode<'_>) -> Result<EscapedText<'_>, String> {
    required(item, "type")
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
