//! Reads a response of the protocol.

use super::words::{known_stop, required, stop_sequence, text, usage};
use crate::superset::{Arguments, OutputPart, Response};
use crate::typed_value::json_text;
use headgate_protocol::json::{DocumentNode, ValueKind};

/// # Errors
/// Why it is no response of the protocol.
pub(crate) fn read_response(root: DocumentNode<'_>) -> Result<Response<'_>, String> {
    let [output, stop_reason, counts] = root.get_each(["output", "stopReason", "usage"]);
    let content = output.and_then(|output| output.pointer("/message/content"));
    let content = content.filter(|content| content.kind() == ValueKind::Array);
    let Some(content) = content else {
        let message = text(root, "message").map(|message| message.decoded().into_owned());
        return Err(match message {
            Some(message) => format!("it is an error: {message:.1024}"),
            None => "it has no content".to_owned(),
        });
    };
    let mut parts = Vec::with_capacity(content.len());
    for block in content.elements() {
        read_block(block, &mut parts)?;
    }
    Ok(Response {
        id: None,
        parts,
        finish: known_stop(stop_reason)?,
        stop_sequence: stop_sequence(root),
        usage: usage(counts),
    })
}

/// Adds what a content block has.
fn read_block<'a>(block: DocumentNode<'a>, parts: &mut Vec<OutputPart<'a>>) -> Result<(), String> {
    parts.extend(text(block, "text").map(OutputPart::Text));
    let [thoughts, call, cited] =
        block.get_each(["reasoningContent", "toolUse", "citationsContent"]);
    if let Some(thoughts) = thoughts {
        read_thoughts(thoughts, parts)?;
    }
    if let Some(call) = call {
        parts.push(read_call(call)?);
    }
    let cited = cited.and_then(|cited| cited.get("content"));
    let cited = cited.into_iter().flat_map(DocumentNode::elements);
    parts.extend(cited.filter_map(|piece| text(piece, "text").map(OutputPart::Text)));
    Ok(())
}

fn read_thoughts<'a>(
    thoughts: DocumentNode<'a>,
    parts: &mut Vec<OutputPart<'a>>,
) -> Result<(), String> {
    if let Some(readable) = thoughts.get("reasoningText") {
        parts.push(OutputPart::Thinking {
            text: required(readable, "text")?,
            signature: text(readable, "signature"),
        });
    }
    parts.extend(text(thoughts, "redactedContent").map(OutputPart::SealedThinking));
    Ok(())
}

fn read_call(call: DocumentNode<'_>) -> Result<OutputPart<'_>, String> {
    let input = call.get("input").filter(|input| !input.is_null());
    let arguments = match input.map(|input| (input.kind(), input)) {
        None => "{}",
        Some((ValueKind::Object, input)) => json_text(input),
        Some((_, input)) => {
            return Err(format!("the input of a tool call is {}", input.type_name()));
        }
    };
    Ok(OutputPart::ToolCall {
        id: required(call, "toolUseId")?,
        name: required(call, "name")?,
        arguments: Arguments::Object(arguments),
    })
}
