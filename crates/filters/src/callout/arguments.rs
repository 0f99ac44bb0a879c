//! The arguments of a tool as a service sees them.

use bytes::Bytes;
use headgate_protocol::json::edit::JsonEdits;
use headgate_protocol::json::escapes::decoded_escapes;
use headgate_protocol::json::{DocumentNode, JsonDocument, JsonLimits, ValueKind, quoted};

/// The same JSON with no other escapes than the ones it needs; `None` if the text is no strict JSON.
pub fn plain_json(text: &str) -> Option<String> {
    let json = Bytes::copy_from_slice(text.as_bytes());
    let document = JsonDocument::parse(json, &JsonLimits::default()).ok()?;
    if !text.contains('\\') {
        return Some(text.to_owned());
    }
    let mut edits = JsonEdits::default();
    add_plain_strings(document.root(), &document, &mut edits);
    let plain = edits.apply(document.body()).to_bytes();
    String::from_utf8(plain.to_vec()).ok()
}

/// The text with escapes decoded, and as it is written if the tool may read it so, since it is no JSON.
pub fn decoded_arguments(text: &str) -> impl Iterator<Item = String> {
    let decoded = decoded_escapes(text);
    let is_json = || {
        let json = Bytes::copy_from_slice(text.as_bytes());
        JsonDocument::parse(json, &JsonLimits::default()).is_ok()
    };
    let is_ambiguous = decoded != text && !is_json();
    let as_written = is_ambiguous.then(|| text.to_owned());
    std::iter::once(decoded).chain(as_written)
}

fn add_plain_strings(node: DocumentNode<'_>, document: &JsonDocument, edits: &mut JsonEdits) {
    match node.kind() {
        ValueKind::String => {
            let plain = node.as_str().map(|text| quoted(&text));
            if let Some(plain) = plain.filter(|plain| **plain != *node.raw()) {
                edits.replace(node.span(), plain);
            }
        }
        ValueKind::Array => {
            for element in node.elements() {
                add_plain_strings(element, document, edits);
            }
        }
        ValueKind::Object => {
            for (name, value) in node.members() {
                let span = value.key_span();
                let plain = quoted(&name);
                if let Some(span) = span.filter(|span| document.body()[span.clone()] != *plain) {
                    edits.replace(span, plain);
                }
                add_plain_strings(value, document, edits);
            }
        }
        ValueKind::Null | ValueKind::Bool | ValueKind::Number => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_keep_only_the_escapes_that_json_needs() {
        for (text, plain) in [
            (r#"{"a":1e400}"#, Some(r#"{"a":1e400}"#)),
            (
                r#"{"\u0042AD": ["\u0042AD\n", {"b":"a\"c\/"}], "n":1e400}"#,
                Some(r#"{"BAD": ["BAD\n", {"b":"a\"c/"}], "n":1e400}"#),
            ),
            (r#"{"a":1,"a":2}"#, None),
            (r"\u0042", None),
        ] {
            assert_eq!(plain_json(text).as_deref(), plain, "{text}");
        }
    }
}
