//! Writes a response in the responses protocol.

#[cfg(test)]
mod tests;

use super::output_item::{ItemStatus, MessageContent, OutputItem, OutputItemKind};
use super::response_object::{ResponseObjectStatus, ResponseObjectText};
use crate::context::ResponseContext;
use crate::escaped_text::EscapedText;
use crate::json_writer::JsonWriter;
use crate::superset::{OutputPart, Response};

/// The caller's body for a response.
///
/// # Errors
/// The response has no reason for its end, or one that is none here.
pub(crate) fn write_response(
    response: &Response<'_>,
    context: &ResponseContext,
) -> Result<Vec<u8>, String> {
    let finish = response.finish.ok_or("it has no reason for its end")?;
    let status = ResponseObjectStatus::for_finish(finish)?;
    let kinds = item_kinds(response, context);
    let last = kinds.len().wrapping_sub(1);
    let items = kinds.into_iter().enumerate().map(|(position, kind)| {
        let is_cut = position == last && matches!(status, ResponseObjectStatus::Incomplete(_));
        let status = match is_cut {
            true => ItemStatus::Incomplete,
            false => ItemStatus::Completed,
        };
        let mut json = JsonWriter::default();
        OutputItem::new(kind, &context.id, position).write(status, &mut json);
        json.into_bytes()
    });
    let items: Vec<Vec<u8>> = items.collect();
    let items_len: usize = items.iter().map(Vec::len).sum();
    let mut json = JsonWriter::with_capacity(items_len + 1024);
    let object = ResponseObjectText {
        context,
        status,
        usage: response.usage,
    };
    object.write(items.iter().map(Vec::as_slice), &mut json);
    Ok(json.into_bytes())
}

/// The items of the parts. Consecutive texts and refusals are one message.
fn item_kinds<'a>(response: &Response<'a>, context: &ResponseContext) -> Vec<OutputItemKind<'a>> {
    let mut kinds = Vec::with_capacity(response.parts.len());
    for part in &response.parts {
        match part {
            OutputPart::Text(text) => add_content(false, text, &mut kinds),
            OutputPart::Refusal(text) => add_content(true, text, &mut kinds),
            OutputPart::Thinking { text, signature } => {
                if !text.is_empty() || signature.is_some() {
                    kinds.push(OutputItemKind::Reasoning {
                        summary: text.clone(),
                        encrypted_content: signature.clone(),
                    });
                }
            }
            OutputPart::SealedThinking(data) => kinds.push(OutputItemKind::Reasoning {
                summary: EscapedText::default(),
                encrypted_content: Some(data.clone()),
            }),
            OutputPart::ToolCall {
                id,
                name,
                arguments,
            } => {
                let (call_id, name) = (id.clone(), name.clone());
                kinds.push(match context.is_custom_tool(&name) {
                    true => OutputItemKind::CustomToolCall {
                        call_id,
                        name,
                        input: arguments.free_text(),
                    },
                    false => OutputItemKind::FunctionCall {
                        call_id,
                        name,
                        arguments: arguments.json_text(),
                    },
                });
            }
        }
    }
    kinds
}

fn add_content<'a>(is_refusal: bool, text: &EscapedText<'a>, kinds: &mut Vec<OutputItemKind<'a>>) {
    if text.is_empty() {
        return;
    }
    let text = text.clone();
    let content = MessageContent { is_refusal, text };
    match kinds.last_mut() {
        Some(OutputItemKind::Message(contents)) => contents.push(content),
        Some(
            OutputItemKind::Reasoning { .. }
            | OutputItemKind::FunctionCall { .. }
            | OutputItemKind::CustomToolCall { .. },
        )
        | None => kinds.push(OutputItemKind::Message(vec![content])),
    }
}
