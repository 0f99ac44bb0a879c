//! The messages of a request.

use super::{ConversationMessage, ConversationShape, ConversationText, MessagePart, TextAllowance};
use crate::json::{DocumentNode, JsonDocument, ValueKind};

/// What a request asks with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestMessages {
    /// Parts of the instructions that are no message; `None` if there are none.
    pub system: Option<ConversationText>,
    pub messages: ConversationText,
}

/// The messages of a request, oldest first, as far as they fit in `bytes_max` together with the instructions.
pub fn request_messages(
    shape: &ConversationShape,
    body: &JsonDocument,
    bytes_max: usize,
) -> RequestMessages {
    let root = body.root();
    let mut allowance = TextAllowance::new(bytes_max);
    let system = shape.instructions.and_then(|name| root.get(name));
    let system = system.filter(|system| !system.is_null());
    let system = system.map(|system| {
        let mut parts = Vec::new();
        allowance.parts(system, &mut parts);
        allowance.written(&parts)
    });
    let mut list = Vec::new();
    match root.get(shape.messages) {
        Some(text) if text.kind() == ValueKind::String => {
            let mut parts = Vec::new();
            allowance.parts(text, &mut parts);
            list.push(message("user".into(), parts));
        }
        Some(items) => {
            for item in items.elements() {
                if !allowance.admits_part() {
                    break;
                }
                list.push(allowance.message(item));
            }
        }
        None => {}
    }
    RequestMessages {
        system,
        messages: allowance.written(&list),
    }
}

impl TextAllowance {
    fn message(&mut self, item: DocumentNode<'_>) -> ConversationMessage {
        let mut parts = Vec::new();
        let role = item.get("role").and_then(DocumentNode::as_str);
        match (role, item.get("content").or_else(|| item.get("parts"))) {
            (Some(role), _) if role == "tool" => {
                parts.push(self.tool_response(item, "tool_call_id", "content"));
                message(self.text(&role, true), parts)
            }
            (Some(role), content) => {
                content.inspect(|content| self.parts(*content, &mut parts));
                self.tool_calls(item, &mut parts);
                message(self.text(&role, true), parts)
            }
            // An item of the responses protocol that is no message.
            (None, _) => {
                self.part(item, &mut parts);
                let role = match parts.first() {
                    Some(MessagePart::ToolCallResponse { .. }) => "tool",
                    _ => "assistant",
                };
                message(role.into(), parts)
            }
        }
    }
}

fn message(role: String, parts: Vec<MessagePart>) -> ConversationMessage {
    ConversationMessage {
        role,
        parts,
        finish_reason: None,
    }
}
