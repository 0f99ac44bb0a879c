//! The JSON tape against serde_json: the same bodies are accepted, but for duplicate keys, with the same values.

use bytes::Bytes;
use headgate_protocol::json::{
    DocumentNode, JsonDocument, JsonErrorKind, JsonLimits, ValueKind, quoted, skim,
};
use serde_json::{Map, Number, Value};

/// Below the depth at which serde_json refuses a body, so that both have one limit.
const DEPTH_MAX: usize = 64;

pub fn run(input: &[u8]) {
    let limits = JsonLimits {
        depth: DEPTH_MAX,
        values: usize::MAX,
    };
    let body = Bytes::copy_from_slice(input);
    let parsed = JsonDocument::parse(body, &limits);
    let expected = serde_json::from_slice::<Value>(input);
    match (parsed, expected) {
        (Ok(document), Ok(expected)) => {
            assert_eq!(read_back(document.root()), expected);
            check_nodes(&document);
        }
        (Ok(_), Err(error)) => {
            let is_large_number = error.to_string().contains("number out of range");
            assert!(is_large_number, "serde_json refuses it: {error}");
        }
        (Err(error), Ok(_)) => {
            let is_stricter = matches!(
                error.reason,
                JsonErrorKind::DuplicateKey(_) | JsonErrorKind::TooDeep(_)
            );
            assert!(is_stricter, "serde_json accepts it: {error}");
        }
        (Err(error), Err(_)) => {
            assert!(error.offset <= input.len(), "{error}");
            assert!(error.line >= 1 && error.column >= 1, "{error}");
        }
    }
}

/// The value as serde_json has it.
fn read_back(node: DocumentNode<'_>) -> Value {
    match node.kind() {
        ValueKind::Null => Value::Null,
        ValueKind::Bool => Value::Bool(node.as_bool().expect("a boolean has a value")),
        ValueKind::Number => {
            let text = node.number_text().expect("a number has a text");
            Value::Number(text.parse::<Number>().expect("serde_json has read it"))
        }
        ValueKind::String => {
            let text = node.as_str().expect("a string has a text");
            Value::String(text.into_owned())
        }
        ValueKind::Array => node.elements().map(read_back).collect(),
        ValueKind::Object => {
            let members = node.members();
            let members = members.map(|(key, value)| (key.into_owned(), read_back(value)));
            Value::Object(members.collect::<Map<_, _>>())
        }
    }
}

/// Spans, parents, lengths and pointers agree with each other, and the skimmer finds each member of the root.
fn check_nodes(document: &JsonDocument) {
    let body = document.body();
    let root = document.root();
    check_node(root);
    if root.kind() != ValueKind::Object {
        return;
    }
    let skimmed: Vec<_> = skim::members(body, root.span()).collect();
    assert_eq!(skimmed.len(), root.len(), "members that were skimmed");
    for (key, value) in root.members() {
        let found = root.get(&key).map(DocumentNode::span);
        assert_eq!(found, Some(value.span()), "{key}");
        let reparsed = serde_json::from_slice::<String>(&quoted(&key)).ok();
        assert_eq!(reparsed.as_deref(), Some(&*key), "a quoted key");
    }
}

fn check_node(node: DocumentNode<'_>) {
    let span = node.span();
    let raw = node.raw();
    assert_eq!(raw.len(), span.len());
    let alone = serde_json::from_slice::<Value>(raw).expect("a span is a value");
    assert_eq!(read_back(node), alone);
    for child in node.values().chain(node.elements()) {
        let inner = child.span();
        assert!(span.start < inner.start && inner.end < span.end);
        assert_eq!(child.parent().map(DocumentNode::span), Some(span.clone()));
        check_node(child);
    }
}
