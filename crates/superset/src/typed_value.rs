//! Members of requests by the type that they must have. Null is a member that is not there.

use crate::escaped_text::EscapedText;
use crate::ledger::{FieldOutcome, Ledger};
use crate::request::ReasoningEffort;
use headgate_protocol::json::{DocumentNode, ValueKind};

/// A string. Other values are refused.
pub fn text<'a>(node: Option<DocumentNode<'a>>, ledger: &mut Ledger) -> Option<EscapedText<'a>> {
    let text = EscapedText::from_node(present(node)?);
    text.or_else(|| refuse(node, "a string", ledger))
}

/// A string that `owner` must have as `member`.
pub fn required_text<'a>(
    owner: DocumentNode<'a>,
    member: &str,
    node: Option<DocumentNode<'a>>,
    ledger: &mut Ledger,
) -> Option<EscapedText<'a>> {
    if present(node).is_none() {
        ledger.add_missing(owner, member);
    }
    text(node, ledger)
}

/// A string of a list.
pub fn element_text<'a>(node: DocumentNode<'a>, ledger: &mut Ledger) -> Option<EscapedText<'a>> {
    let text = EscapedText::from_node(node);
    text.or_else(|| refuse(Some(node), "a string", ledger))
}

/// An effort. Words that no other protocol has are refused.
pub fn read_effort(
    effort: Option<DocumentNode<'_>>,
    ledger: &mut Ledger,
) -> Option<ReasoningEffort> {
    let name = text(effort, ledger)?;
    let known = ReasoningEffort::from_name(name.as_written());
    if known.is_none()
        && let Some(effort) = effort
    {
        let reason = "is an effort that no other protocol has";
        ledger.add(effort, FieldOutcome::Refused, reason);
    }
    known
}

pub fn boolean(node: Option<DocumentNode<'_>>, ledger: &mut Ledger) -> Option<bool> {
    let value = present(node)?.as_bool();
    value.or_else(|| refuse(node, "a boolean", ledger))
}

/// A number, as it is written.
pub fn number<'a>(node: Option<DocumentNode<'a>>, ledger: &mut Ledger) -> Option<DocumentNode<'a>> {
    with_kind(node, ValueKind::Number, "a number", ledger)
}

pub fn object<'a>(node: Option<DocumentNode<'a>>, ledger: &mut Ledger) -> Option<DocumentNode<'a>> {
    with_kind(node, ValueKind::Object, "an object", ledger)
}

pub fn array<'a>(node: Option<DocumentNode<'a>>, ledger: &mut Ledger) -> Option<DocumentNode<'a>> {
    with_kind(node, ValueKind::Array, "an array", ledger)
}

/// Refuses a request without messages.
pub fn refuse_no_messages(
    root: DocumentNode<'_>,
    messages: Option<DocumentNode<'_>>,
    ledger: &mut Ledger,
) {
    match present(messages) {
        None => ledger.add_missing(root, "messages"),
        Some(messages) if messages.kind() == ValueKind::Array && messages.is_empty() => {
            ledger.add(messages, FieldOutcome::AlwaysRefused, "must not be empty");
        }
        Some(_) => {}
    }
}

/// A value's JSON text.
pub fn json_text(node: DocumentNode<'_>) -> &str {
    std::str::from_utf8(node.raw()).expect("JSON is UTF-8")
}

/// A value that is not null.
pub fn present(node: Option<DocumentNode<'_>>) -> Option<DocumentNode<'_>> {
    node.filter(|node| !node.is_null())
}

/// Refuses a value that is not what its place demands.
pub fn refuse<T>(node: Option<DocumentNode<'_>>, expected: &str, ledger: &mut Ledger) -> Option<T> {
    let node = node?;
    let reason = format!("must be {expected}, not {}", node.type_name());
    ledger.add(node, FieldOutcome::AlwaysRefused, reason);
    None
}

fn with_kind<'a>(
    node: Option<DocumentNode<'a>>,
    kind: ValueKind,
    expected: &str,
    ledger: &mut Ledger,
) -> Option<DocumentNode<'a>> {
    let value = present(node)?;
    match value.kind() == kind {
        true => Some(value),
        false => refuse(node, expected, ledger),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use headgate_protocol::json::{JsonDocument, JsonLimits};

    #[test]
    fn a_member_of_another_type_is_refused_and_null_is_none() {
        let body = Bytes::from_static(br#"{"a":1,"b":null,"c":"x","d":[true]}"#);
        let document = JsonDocument::parse(body, &JsonLimits::default()).unwrap();
        let root = document.root();
        let mut ledger = Ledger::default();
        assert_eq!(text(root.get("b"), &mut ledger), None);
        assert_eq!(boolean(root.get("x"), &mut ledger), None);
        assert!(ledger.is_empty());
        assert_eq!(text(root.get("a"), &mut ledger), None);
        assert!(object(root.get("d"), &mut ledger).is_none());
        assert_eq!(required_text(root, "b", root.get("b"), &mut ledger), None);
        assert!(number(root.get("a"), &mut ledger).is_some());
        assert!(array(root.get("d"), &mut ledger).is_some());
        let entries = ledger.entries().iter();
        let entries: Vec<_> = entries
            .map(|e| format!("{} {}", e.path, e.reason))
            .collect();
        assert_eq!(
            entries,
            [
                "a must be a string, not a number",
                "d must be an object, not an array",
                "b is missing"
            ]
        );
    }
}
