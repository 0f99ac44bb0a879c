//! The part of a request that is the same in each turn of a session: tools, instructions, and the messages up to the first
//! one of the user.
//!
//! It is read as the values in it, without keys: a client that marks its last message for the cache writes the same text
//! as a list of parts in one turn, and as a string in the next.

use super::ConversationShape;
use crate::json::{DocumentNode, JsonDocument, ValueKind};

/// Bytes that are read of the tools, of the instructions, and of the messages.
const PART_BYTES_MAX: usize = 4 << 10;
/// Bytes that are read at the start of a longer value, and at its end.
const END_BYTES: usize = 512;
/// Members whose values may differ between turns, or between two spellings of the same text.
const LEFT_OUT: [&str; 3] = ["cache_control", "role", "type"];

/// Calls `read` with the values of the prefix; of a long one with its start and its end. Returns whether there are messages.
pub fn each_prefix_value(
    shape: &ConversationShape,
    body: &JsonDocument,
    read: &mut dyn FnMut(&[u8]),
) -> bool {
    let root = body.root();
    let instructions = shape.instructions.unwrap_or_default();
    for part in [shape.tools, instructions] {
        let mut left = PART_BYTES_MAX;
        if let Some(value) = root.get(part) {
            each_value(value, &mut left, read);
        }
        // The end of the part: a text is never empty as written.
        read(b"");
    }
    let mut left = PART_BYTES_MAX;
    match root.get(shape.messages) {
        Some(list) if !list.is_empty() => {
            for message in list.elements().take(prefix_messages(list)) {
                each_value(message, &mut left, read);
            }
        }
        Some(text) if text.kind() == ValueKind::String => each_value(text, &mut left, read),
        _ => return false,
    }
    true
}

/// The number of messages up to the first one of the user; 1 if there is none.
fn prefix_messages(list: DocumentNode<'_>) -> usize {
    let is_users = |message: DocumentNode<'_>| {
        let role = message.get("role").and_then(DocumentNode::as_str);
        role.is_some_and(|role| role == "user")
    };
    list.elements().position(is_users).unwrap_or(0) + 1
}

fn each_value(value: DocumentNode<'_>, left: &mut usize, read: &mut dyn FnMut(&[u8])) {
    if *left == 0 {
        return;
    }
    match value.kind() {
        ValueKind::Object => {
            for (key, member) in value.members() {
                if !LEFT_OUT.contains(&&*key) {
                    each_value(member, left, read);
                }
            }
        }
        ValueKind::Array => {
            for element in value.elements() {
                each_value(element, left, read);
            }
        }
        ValueKind::Null | ValueKind::Bool | ValueKind::Number | ValueKind::String => {
            read_ends(value.raw(), left, read);
        }
    }
}

/// Reads a value whole, or its start and its end.
fn read_ends(raw: &[u8], left: &mut usize, read: &mut dyn FnMut(&[u8])) {
    match raw.len() <= 2 * END_BYTES {
        true => read(raw),
        false => {
            read(&(raw.len() as u64).to_be_bytes());
            read(&raw[..END_BYTES]);
            read(&raw[raw.len() - END_BYTES..]);
        }
    }
    *left = left.saturating_sub(raw.len().min(2 * END_BYTES));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Protocol;
    use crate::json::JsonLimits;
    use serde_json::{Value, json};

    /// The values of the prefix; `None` if there are no messages.
    fn prefix(protocol: Protocol, body: &Value) -> Option<Vec<Vec<u8>>> {
        let body = JsonDocument::parse(body.to_string().into(), &JsonLimits::default()).unwrap();
        let shape = protocol.descriptor().conversation.as_ref().unwrap();
        let mut values = Vec::new();
        let has_messages =
            each_prefix_value(shape, &body, &mut |value| values.push(value.to_vec()));
        has_messages.then_some(values)
    }

    /// Two turns of one session in each protocol. The second one has what a client adds or changes in between.
    fn turns() -> Vec<(Protocol, Value, Value)> {
        let marked = json!({"type": "ephemeral"});
        let tools = json!([{"name": "look", "input_schema": {"type": "object"}}]);
        vec![
            (
                Protocol::Chat,
                json!({"tools": tools, "messages": [
                    {"role": "system", "content": "be brief"},
                    {"role": "user", "content": "hello"},
                ]}),
                json!({"tools": tools, "temperature": 1, "messages": [
                    {"role": "system", "content": [{"type": "text", "text": "be brief", "cache_control": marked}]},
                    {"role": "user", "content": "hello"},
                    {"role": "assistant", "content": "hello you"},
                    {"role": "user", "content": "what now?"},
                ]}),
            ),
            (
                Protocol::Messages,
                json!({"tools": tools, "system": "be brief", "messages": [
                    {"role": "user", "content": [{"type": "text", "text": "hello", "cache_control": marked}]},
                ]}),
                json!({"tools": tools, "system": "be brief", "messages": [
                    {"role": "user", "content": "hello"},
                    {"role": "assistant", "content": "hello you"},
                    {"role": "user", "content": [{"type": "text", "text": "what now?", "cache_control": marked}]},
                ]}),
            ),
            (
                Protocol::Responses,
                json!({"tools": tools, "instructions": "be brief", "input": "hello"}),
                json!({"tools": tools, "instructions": "be brief", "input": [
                    {"role": "user", "content": "hello"},
                    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hello you"}]},
                    {"role": "user", "content": "what now?"},
                ]}),
            ),
        ]
    }

    #[test]
    fn all_turns_of_a_session_have_the_same_prefix() {
        for (protocol, first, second) in turns() {
            let of_first = prefix(protocol, &first);
            assert!(of_first.is_some(), "{protocol:?}");
            assert_eq!(of_first, prefix(protocol, &second), "{protocol:?}");
        }
    }

    #[test]
    fn sessions_differ_by_tools_instructions_and_first_message() {
        for (protocol, first, _) in turns() {
            for (text, other) in [("look", "listen"), ("be brief", "be long"), ("hello", "hi")] {
                let changed = first.to_string().replace(text, other);
                let changed = serde_json::from_str(&changed).unwrap();
                assert_ne!(
                    prefix(protocol, &changed),
                    prefix(protocol, &first),
                    "{text}"
                );
            }
        }
    }

    #[test]
    fn a_long_prefix_is_read_in_part() {
        let long = "x".repeat(100_000);
        let many: Vec<Value> = (0..10_000)
            .map(|at| json!({"name": format!("tool {at}")}))
            .collect();
        let body = |last: &str| {
            let content = format!("{long}{last}");
            json!({"tools": many, "messages": [{"role": "user", "content": content}]})
        };
        let values = prefix(Protocol::Chat, &body("a")).unwrap();
        let read: usize = values.iter().map(Vec::len).sum();
        assert!(read < 3 * PART_BYTES_MAX, "{read}");
        assert_ne!(values, prefix(Protocol::Chat, &body("b")).unwrap());
    }

    #[test]
    fn a_request_without_messages_has_no_prefix() {
        for body in [
            json!({}),
            json!({"messages": []}),
            json!({"messages": null}),
        ] {
            assert_eq!(prefix(Protocol::Chat, &body), None, "{body}");
        }
    }
}
