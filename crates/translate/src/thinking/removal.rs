//! Seals in requests that are sent in the caller's own protocol: no provider can read them.

use super::seal::PREFIX;
use crate::escaped_text::EscapedText;
use headgate_protocol::conversation::ConversationFormat;
use headgate_protocol::json::edit::JsonEdits;
use headgate_protocol::json::pointer::JsonPointer;
use headgate_protocol::json::pointer_edit::PointerEdit;
use headgate_protocol::json::{DocumentNode, JsonDocument};

/// Removes seals, and the thoughts that they prove, from a request that stays in the caller's protocol. Returns what was
/// removed, such as `messages->messages; dropped=messages[].content[]`; `None` if there is nothing.
///
/// A conversation may have turns of models that other channels served.
pub fn remove_seals(
    format: ConversationFormat,
    body: &JsonDocument,
    edits: &mut JsonEdits,
) -> Option<String> {
    memchr::memmem::find(body.body(), PREFIX.as_bytes())?;
    let root = body.root();
    let (path, pointers) = match format {
        ConversationFormat::Chat => ("messages[].reasoning_details", in_chat(root)),
        ConversationFormat::Messages => ("messages[].content[]", in_messages(root)),
        ConversationFormat::Responses => ("input[]", in_responses(root)),
    };
    if pointers.is_empty() {
        return None;
    }
    // From the end: each edit sees the indexes that those before it have left.
    for pointer in pointers.iter().rev() {
        let pointer = JsonPointer::parse(pointer).ok()?;
        edits.edit_at(body, &pointer, &PointerEdit::Remove).ok()?;
    }
    Some(format!("{0}->{0}; dropped={path}", format.name()))
}

fn in_chat(root: DocumentNode<'_>) -> Vec<String> {
    let mut pointers = Vec::new();
    for (index, message) in elements(root.get("messages")).enumerate() {
        let [content, details] = message.get_each(["reasoning_content", "reasoning_details"]);
        if elements(details).any(|detail| is_seal(detail.get("data"))) {
            let names = [
                ("reasoning_content", content),
                ("reasoning_details", details),
            ];
            let present = names.iter().filter(|(_, value)| value.is_some());
            pointers.extend(present.map(|(name, _)| format!("/messages/{index}/{name}")));
        }
    }
    pointers
}

fn in_messages(root: DocumentNode<'_>) -> Vec<String> {
    let mut pointers = Vec::new();
    // Whether the last message of the assistant begins with a call instead of the thoughts that were removed.
    let mut lacks_thoughts = false;
    for (index, message) in elements(root.get("messages")).enumerate() {
        let [role, content] = message.get_each(["role", "content"]);
        if role.is_none_or(|role| role.raw() != b"\"assistant\"") {
            continue;
        }
        let before = pointers.len();
        for (place, block) in elements(content).enumerate() {
            let [proof, data] = block.get_each(["signature", "data"]);
            if is_seal(proof) || is_seal(data) {
                pointers.push(format!("/messages/{index}/content/{place}"));
            }
        }
        let removed = pointers.len() - before;
        lacks_thoughts = removed > 0;
        // A message without content is refused.
        if removed > 0 && removed == elements(content).count() {
            pointers.truncate(before);
            pointers.push(format!("/messages/{index}"));
        }
    }
    let thinking = root
        .get("thinking")
        .and_then(|thinking| thinking.get("type"));
    if lacks_thoughts && thinking.is_some_and(|kind| kind.raw() == b"\"enabled\"") {
        pointers.push("/thinking".to_owned());
    }
    pointers
}

fn in_responses(root: DocumentNode<'_>) -> Vec<String> {
    let items = elements(root.get("input")).enumerate();
    let sealed = items.filter(|(_, item)| is_seal(item.get("encrypted_content")));
    sealed.map(|(index, _)| format!("/input/{index}")).collect()
}

fn elements(list: Option<DocumentNode<'_>>) -> impl Iterator<Item = DocumentNode<'_>> {
    list.into_iter().flat_map(DocumentNode::elements)
}

fn is_seal(text: Option<DocumentNode<'_>>) -> bool {
    let text = text.and_then(EscapedText::from_node);
    text.is_some_and(|text| text.as_written().starts_with(PREFIX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_protocol::json::JsonLimits;
    use serde_json::{Value, json};

    fn without_seals(format: ConversationFormat, body: &Value) -> (Option<String>, Value) {
        let document =
            JsonDocument::parse(body.to_string().into(), &JsonLimits::default()).unwrap();
        let mut edits = JsonEdits::default();
        let removed = remove_seals(format, &document, &mut edits);
        let edited = edits.apply(document.body()).to_bytes();
        (removed, serde_json::from_slice(&edited).unwrap())
    }

    #[test]
    fn thoughts_of_other_channels_are_removed() {
        let question = json!({"role": "user", "content": "hgt1."});
        let call = json!({"type": "tool_use", "id": "a", "name": "b", "input": {}});
        let sealed = json!({"type": "thinking", "thinking": "c", "signature": "hgt1.d"});
        let unreadable = json!({"type": "redacted_thinking", "data": "hgt1.d"});
        let own = json!({"type": "thinking", "thinking": "c", "signature": "EqQB"});
        let turn = |content: Value| json!({"role": "assistant", "content": content});
        let cases = [
            (
                ConversationFormat::Messages,
                json!({"thinking": {"type": "adaptive"}, "messages": [question, turn(json!([sealed, unreadable, call])),
                    question, turn(json!([sealed])), question, turn(json!([own, call])), question]}),
                json!({"thinking": {"type": "adaptive"}, "messages": [question, turn(json!([call])), question, question,
                    turn(json!([own, call])), question]}),
                "messages->messages; dropped=messages[].content[]",
            ),
            (
                ConversationFormat::Messages,
                json!({"messages": [question, turn(json!([sealed, call])), question], "thinking": {"type": "enabled"}}),
                json!({"messages": [question, turn(json!([call])), question]}),
                "messages->messages; dropped=messages[].content[]",
            ),
            (
                ConversationFormat::Chat,
                json!({"messages": [question, {"role": "assistant", "content": "e", "reasoning_content": "c",
                    "reasoning_details": [{"type": "reasoning.encrypted", "data": "hgt1.d"}]}]}),
                json!({"messages": [question, {"role": "assistant", "content": "e"}]}),
                "chat->chat; dropped=messages[].reasoning_details",
            ),
            (
                ConversationFormat::Responses,
                json!({"input": [question, {"type": "reasoning", "summary": [], "encrypted_content": "hgt1.d"}, call,
                    {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}, call]}),
                json!({"input": [question, call,
                    {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}, call]}),
                "responses->responses; dropped=input[]",
            ),
        ];
        for (format, body, expected, removed) in cases {
            let edited = without_seals(format, &body);
            assert_eq!(edited, (Some(removed.to_owned()), expected));
        }
    }

    #[test]
    fn other_requests_stay_as_they_are() {
        for body in [
            json!({"messages": "hgt1."}),
            json!({"input": "hgt1."}),
            json!({"messages": [{"role": "assistant", "content": "hgt1."}, {"role": "user", "content":
                [{"type": "text", "text": "hgt1.", "signature": "hgt1."}]}]}),
            json!([1, "hgt1."]),
        ] {
            for format in [
                ConversationFormat::Chat,
                ConversationFormat::Messages,
                ConversationFormat::Responses,
            ] {
                assert_eq!(without_seals(format, &body), (None, body.clone()));
            }
        }
    }
}
