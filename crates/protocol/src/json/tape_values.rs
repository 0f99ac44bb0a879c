//! Implements the value traits of `jsonschema`, so that validators read a document in place.
//!
//! `jsonschema::options_for::<JsonSchemaTapeAdapter>().build(&schema)?.validate(document.root())`

use std::borrow::Cow;

use bytes::Bytes;
use jsonschema::JsonType;
use jsonschema::json::{
    Array, Json, JsonNumber, Node as JsonNode, NodeIdentity, Object, cmp, unique,
};
use serde_json::{Number, Value};

use super::tape::{StringFlags, TapeEntry, TapeEntryKind};
use super::{ArrayElements, DocumentNode, JsonDocument, ObjectMembers, ValueKind};

/// The value representation that validators are built for.
pub struct JsonSchemaTapeAdapter;

/// A number as written.
pub struct NumberText<'a>(&'a str);

/// A property name as a value, for `propertyNames`.
pub struct PropertyNameStringBuffer(JsonDocument);

/// What patterns see of a string, in bytes as written: a data URI of megabytes is not decoded for them.
const PATTERN_BYTES: usize = 64 << 10;
/// Longest spelling of a character: two escapes of UTF-16.
pub const SPELLING_BYTES_MAX: usize = 12;
/// The maximum number of values in an error: a violation shows the value at fault, not the whole body.
const EXCERPT_VALUES: usize = 200;
/// The maximum length of one string in an error, in characters.
const EXCERPT_CHARS: usize = 400;

impl Json for JsonSchemaTapeAdapter {
    type Node<'a> = DocumentNode<'a>;
    type PreparedKey = Box<str>;
    type StringBuffer = PropertyNameStringBuffer;

    fn prepare_key(key: &str) -> Box<str> {
        key.into()
    }

    fn with_string_node<T>(
        buffer: &mut PropertyNameStringBuffer,
        string: &str,
        f: impl FnOnce(DocumentNode<'_>) -> T,
    ) -> T {
        buffer.0 = JsonDocument::from_name(string);
        f(buffer.0.root())
    }
}

impl<'a> JsonNode<'a, JsonSchemaTapeAdapter> for DocumentNode<'a> {
    type Object = DocumentNode<'a>;
    type Array = DocumentNode<'a>;
    type Number = NumberText<'a>;

    fn as_object(&self) -> Option<DocumentNode<'a>> {
        (self.kind() == ValueKind::Object).then_some(*self)
    }

    fn as_array(&self) -> Option<DocumentNode<'a>> {
        (self.kind() == ValueKind::Array).then_some(*self)
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        self.text_start(PATTERN_BYTES)
    }

    fn as_number(&self) -> Option<NumberText<'a>> {
        self.number_text().map(NumberText)
    }

    fn as_boolean(&self) -> Option<bool> {
        self.as_bool()
    }

    fn is_null(&self) -> bool {
        self.kind() == ValueKind::Null
    }

    fn is_number(&self) -> bool {
        self.kind() == ValueKind::Number
    }

    fn json_type(&self) -> JsonType {
        match self.kind() {
            ValueKind::Null => JsonType::Null,
            ValueKind::Bool => JsonType::Boolean,
            ValueKind::Number => JsonType::Number,
            ValueKind::String => JsonType::String,
            ValueKind::Array => JsonType::Array,
            ValueKind::Object => JsonType::Object,
        }
    }

    fn string_length(&self) -> Option<u64> {
        self.str_len().map(|length| length as u64)
    }

    fn equals_value(&self, expected: &Value) -> bool {
        equal(*self, expected)
    }

    fn to_value(&self) -> Cow<'a, Value> {
        Cow::Owned(excerpt(*self, &mut { EXCERPT_VALUES }))
    }

    fn identity(&self) -> Option<NodeIdentity> {
        let (address, index) = DocumentNode::identity(*self);
        Some(NodeIdentity::tagged(address, index))
    }
}

impl<'a> Object<'a, JsonSchemaTapeAdapter> for DocumentNode<'a> {
    type Node = Self;
    type MemberName = Cow<'a, str>;
    type MembersIter = ObjectMembers<'a>;

    fn len(&self) -> usize {
        DocumentNode::len(*self)
    }

    fn get(&self, key: &Box<str>) -> Option<Self> {
        DocumentNode::get(*self, key)
    }

    fn members(&self) -> ObjectMembers<'a> {
        DocumentNode::members(*self)
    }
}

impl<'a> Array<'a, JsonSchemaTapeAdapter> for DocumentNode<'a> {
    type Node = Self;
    type ElementsIter = ArrayElements<'a>;

    fn len(&self) -> usize {
        DocumentNode::len(*self)
    }

    fn elements(&self) -> ArrayElements<'a> {
        DocumentNode::elements(*self)
    }

    fn is_unique(&self) -> bool {
        let values: Vec<Value> = DocumentNode::elements(*self).map(whole).collect();
        unique::is_unique(&values)
    }
}

impl JsonNumber for NumberText<'_> {
    fn as_u64(&self) -> Option<u64> {
        self.0.parse().ok()
    }

    fn as_i64(&self) -> Option<i64> {
        self.0.parse().ok()
    }

    fn as_f64(&self) -> Option<f64> {
        self.0
            .parse()
            .ok()
            .filter(|number: &f64| number.is_finite())
    }

    fn as_str(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.0)
    }

    fn to_number(&self) -> Cow<'_, Number> {
        Cow::Owned(number(self.0))
    }

    fn is_integer(&self) -> bool {
        // Numbers beyond the range of doubles have no fraction.
        self.is_written_as_integer() || self.as_f64().is_none_or(|number| number.fract() == 0.0)
    }

    fn is_written_as_integer(&self) -> bool {
        !self.0.contains(['.', 'e', 'E'])
    }
}

impl Default for PropertyNameStringBuffer {
    fn default() -> Self {
        Self(JsonDocument::from_name(""))
    }
}

impl JsonDocument {
    /// A document of one string. `name` is already decoded, so that it is not read as JSON.
    fn from_name(name: &str) -> Self {
        let body = Bytes::from(format!("\"{name}\""));
        let spelling = StringFlags {
            escaped: false,
            ascii: name.is_ascii(),
        };
        let entry = TapeEntry {
            start: 0,
            end: body.len() as u32,
            next: 1,
            count: 0,
            shape: TapeEntryKind::String(spelling),
        };
        Self {
            body,
            tape: vec![entry],
        }
    }
}

/// Whether a number has no fraction, however it is written; false for other values.
pub fn is_integer(node: DocumentNode<'_>) -> bool {
    node.number_text()
        .is_some_and(|text| NumberText(text).is_integer())
}

/// Equality in JSON Schema: numbers by value, objects in any order.
pub fn equal(node: DocumentNode<'_>, expected: &Value) -> bool {
    match expected {
        Value::Null => node.is_null(),
        Value::Bool(expected) => node.as_bool() == Some(*expected),
        Value::Number(expected) => node
            .number_text()
            .is_some_and(|text| cmp::equal_numbers(&NumberText(text), expected)),
        Value::String(expected) => {
            let longest = expected.len() * SPELLING_BYTES_MAX;
            let text = node.text_start(longest + 1);
            node.span().len() <= longest + 2 && text.is_some_and(|text| text == *expected)
        }
        Value::Array(expected) => {
            node.kind() == ValueKind::Array
                && node.len() == expected.len()
                && node
                    .elements()
                    .zip(expected)
                    .all(|(element, expected)| equal(element, expected))
        }
        Value::Object(expected) => {
            node.kind() == ValueKind::Object
                && node.len() == expected.len()
                && node.members().all(|(key, value)| {
                    expected
                        .get(key.as_ref())
                        .is_some_and(|expected| equal(value, expected))
                })
        }
    }
}

fn whole(node: DocumentNode<'_>) -> Value {
    match node.kind() {
        ValueKind::Array => node.elements().map(whole).collect(),
        ValueKind::Object => {
            let member = |(key, value): (Cow<'_, str>, _)| (key.into_owned(), whole(value));
            node.members().map(member).collect()
        }
        _ => scalar(node),
    }
}

/// An excerpt of the value, with at most `left` values and limited strings.
fn excerpt(node: DocumentNode<'_>, left: &mut usize) -> Value {
    *left = left.saturating_sub(1);
    match node.kind() {
        ValueKind::Array => {
            let mut elements = Vec::new();
            for element in node.elements() {
                if *left == 0 {
                    break;
                }
                elements.push(excerpt(element, left));
            }
            Value::Array(elements)
        }
        ValueKind::Object => {
            let mut members = serde_json::Map::new();
            for (key, value) in node.members() {
                if *left == 0 {
                    break;
                }
                members.insert(shortened(key), excerpt(value, left));
            }
            Value::Object(members)
        }
        ValueKind::String => {
            let start = node.text_start((EXCERPT_CHARS + 1) * SPELLING_BYTES_MAX);
            Value::String(shortened(start.unwrap_or_default()))
        }
        _ => scalar(node),
    }
}

fn scalar(node: DocumentNode<'_>) -> Value {
    match (node.as_bool(), node.number_text(), node.as_str()) {
        (Some(boolean), ..) => Value::Bool(boolean),
        (_, Some(text), _) => Value::Number(number(text)),
        (.., Some(text)) => Value::String(text.into_owned()),
        _ => Value::Null,
    }
}

/// The number; if it is beyond the range of doubles, the largest double of its sign.
fn number(text: &str) -> Number {
    serde_json::from_str(text).unwrap_or_else(|_| {
        let outermost = if text.starts_with('-') {
            f64::MIN
        } else {
            f64::MAX
        };
        Number::from_f64(outermost).expect("the outermost doubles are finite")
    })
}

fn shortened(text: Cow<'_, str>) -> String {
    match text.char_indices().nth(EXCERPT_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests;
