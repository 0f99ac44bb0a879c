//! The JSON tape against serde_json: the same bodies are accepted, but for duplicate keys, with the same values.

use bytes::Bytes;
use headgate_protocol::json::{
    DocumentNode, JsonDocument, JsonErrorKind, JsonLimits, ValueKind, quoted, skim,
};
use serde_json::{Map, Number, Value};

/// Below the depth at which serde_json refuses a body, so that both have one limit.
const DEPTH_MAX: usize = 64;
/// Length of the texts that are looked through for other than spaces, in bytes.
const BLANK_BYTES: usize = 4 << 10;
/// Number of lengths to which each text is cut.
const STARTS_MAX: usize = 40;

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
    assert!(root.is_root() && root.parent().is_none() && root.path().is_empty());
    check_node(root);
    check_pointers(root, root, "");
    if root.kind() != ValueKind::Object {
        return;
    }
    let skimmed: Vec<_> = skim::members(body, root.span()).collect();
    assert_eq!(skimmed.len(), root.len(), "members that were skimmed");
}

fn check_node(node: DocumentNode<'_>) {
    let raw = node.raw();
    assert_eq!(raw.len(), node.span().len());
    let alone = serde_json::from_slice::<Value>(raw).expect("a span is a value");
    assert_eq!(read_back(node), alone);
    check_scalar(node, &alone);
    for element in node.elements() {
        check_child(node, element);
    }
    let names: Vec<_> = node.members().map(|(key, _)| key).collect();
    for (at, (key, value)) in node.members().enumerate() {
        check_member(node, (&key, value), &names[at.saturating_sub(1)]);
        check_child(node, value);
    }
}

/// A value is read as its own type only, and is what serde_json has.
fn check_scalar(node: DocumentNode<'_>, expected: &Value) {
    assert_eq!(node.is_null(), expected.is_null());
    assert_eq!(node.as_bool(), expected.as_bool());
    assert_eq!(node.as_u64(), expected.as_u64());
    // serde_json reads -0 as a double.
    if node.raw() != b"-0" {
        assert_eq!(node.as_i64(), expected.as_i64());
    }
    assert_eq!(node.as_f64().is_some(), expected.is_number());
    let text = expected.as_str();
    assert_eq!(node.as_str().as_deref(), text);
    assert_eq!(node.str_len(), text.map(|text| text.chars().count()));
    if node.raw().len() < BLANK_BYTES {
        let is_blank = text.is_some_and(|text| text.trim_ascii().is_empty());
        assert_eq!(node.is_blank(), is_blank);
    }
    assert_eq!(node.type_name() == "an empty string", text == Some(""));
    let count = match expected {
        Value::Array(elements) => elements.len(),
        Value::Object(members) => members.len(),
        _ => 0,
    };
    assert_eq!((node.len(), node.is_empty()), (count, count == 0));
    for length in 0..text.map_or(0, str::len).min(STARTS_MAX) {
        let start = node.text_start(length).expect("a string has a start");
        assert!(text.is_some_and(|text| text.starts_with(&*start)));
    }
}

/// A member is found by its name, alone and together with the one before it, in its case only.
fn check_member(object: DocumentNode<'_>, (key, value): (&str, DocumentNode<'_>), before: &str) {
    let span = Some(value.span());
    assert_eq!(object.get(key).map(DocumentNode::span), span, "{key}");
    let [first, found] = object.get_each([before, key]);
    assert!(first.is_some());
    // One name is found once.
    assert_eq!(
        found.map(DocumentNode::span),
        span.filter(|_| before != key)
    );
    if let Some(other) = object.key_in_other_case(key) {
        assert!(*other != *key && other.eq_ignore_ascii_case(key), "{other}");
    }
    let quoted_key = value.key_span().expect("a member has a key");
    let written = &object.raw()[quoted_key.start - object.span().start..][..quoted_key.len()];
    for text in [written, &quoted(key)] {
        let read = serde_json::from_slice::<String>(text).ok();
        assert_eq!(read.as_deref(), Some(key));
    }
}

/// Each value is at its pointer.
fn check_pointers(root: DocumentNode<'_>, node: DocumentNode<'_>, pointer: &str) {
    let found = root.pointer(pointer).map(DocumentNode::span);
    assert_eq!(found, Some(node.span()), "{pointer}");
    for (at, element) in node.elements().enumerate() {
        check_pointers(root, element, &format!("{pointer}/{at}"));
    }
    for (key, value) in node.members() {
        let step = key.replace('~', "~0").replace('/', "~1");
        check_pointers(root, value, &format!("{pointer}/{step}"));
    }
}

fn check_child(parent: DocumentNode<'_>, child: DocumentNode<'_>) {
    let (outer, inner) = (parent.span(), child.span());
    assert!(outer.start < inner.start && inner.end < outer.end);
    assert_eq!(child.parent().map(DocumentNode::span), Some(outer));
    assert!(!child.is_root());
    // A member whose name is empty has an empty path below the root.
    child.path();
    check_node(child);
}
