//! The values of a body that are not recorded, by JSON pointer.

use bytes::Bytes;
use headgate_protocol::json::edit::JsonEdits;
use headgate_protocol::json::pointer::{JsonPointer, JsonPointerError};
use headgate_protocol::json::{DocumentNode, JsonDocument, JsonLimits, ValueKind};

/// What a value is replaced by.
const REPLACEMENT: &[u8] = b"\"[redacted]\"";
/// The step that stands for each member of an object and each element of an array.
const EACH: &str = "*";

/// The values that are not recorded.
pub(crate) struct BodyRedaction(Vec<JsonPointer>);

impl BodyRedaction {
    /// # Errors
    /// The index of a text that is no pointer, and why.
    pub fn parse(pointers: &[String]) -> Result<Self, (usize, JsonPointerError)> {
        let parsed = pointers
            .iter()
            .enumerate()
            .map(|(index, text)| JsonPointer::parse(text).map_err(|error| (index, error)));
        parsed.collect::<Result<_, _>>().map(Self)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The pieces of the document without these values.
    pub fn apply(&self, document: &JsonDocument) -> impl Iterator<Item = Bytes> + use<> {
        let mut edits = JsonEdits::default();
        for pointer in &self.0 {
            replace(document.root(), pointer.steps(), &mut edits);
        }
        let pieces: Vec<Bytes> = edits.apply(document.body()).iter().cloned().collect();
        pieces.into_iter()
    }

    /// The same for a body that may be no JSON; `None` if it is none.
    pub fn apply_to(&self, body: Bytes) -> Option<impl Iterator<Item = Bytes> + use<>> {
        let document = JsonDocument::parse(body, &JsonLimits::default()).ok()?;
        Some(self.apply(&document))
    }
}

fn replace(node: DocumentNode<'_>, steps: &[String], edits: &mut JsonEdits) {
    let Some((step, rest)) = steps.split_first() else {
        return edits.replace(node.span(), REPLACEMENT);
    };
    match (step.as_str(), node.kind()) {
        (EACH, ValueKind::Object) => {
            node.values().for_each(|value| replace(value, rest, edits));
        }
        (EACH, ValueKind::Array) => {
            node.elements()
                .for_each(|value| replace(value, rest, edits));
        }
        (step, ValueKind::Object) => {
            if let Some(value) = node.get(step) {
                replace(value, rest, edits);
            }
        }
        (step, ValueKind::Array) => {
            let index = step.parse().ok();
            if let Some(value) = index.and_then(|index| node.elements().nth(index)) {
                replace(value, rest, edits);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_at_pointers_are_replaced_wherever_they_are() {
        let body =
            r#"{"user":"ann","messages":[{"content":"a"},{"content":{"b":1}},3],"x":{"k":"v"}}"#;
        for (pointers, expected) in [
            (&[][..], body),
            (
                &["/user", "/nothing/here"],
                r#"{"user":"[redacted]","messages":[{"content":"a"},{"content":{"b":1}},3],"x":{"k":"v"}}"#,
            ),
            (
                &["/messages/*/content", "/messages/1/content/b"],
                r#"{"user":"ann","messages":[{"content":"[redacted]"},{"content":"[redacted]"},3],"x":{"k":"v"}}"#,
            ),
            (
                &["/messages/2", "/x/*"],
                r#"{"user":"ann","messages":[{"content":"a"},{"content":{"b":1}},"[redacted]"],"x":{"k":"[redacted]"}}"#,
            ),
        ] {
            let pointers: Vec<String> = pointers.iter().map(|&text| text.to_owned()).collect();
            let redaction = BodyRedaction::parse(&pointers).unwrap();
            let pieces: Vec<Bytes> = redaction.apply_to(body.into()).unwrap().collect();
            assert_eq!(pieces.concat(), expected.as_bytes(), "{pointers:?}");
        }
        assert!(
            BodyRedaction(Vec::new())
                .apply_to("no JSON".into())
                .is_none()
        );
    }
}
