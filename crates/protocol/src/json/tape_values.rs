//! Lets JSON Schema validators read a document in place, without a second representation of it.
//!
//! `jsonschema::options_for::<Tape>().build(&schema)?.validate(document.root())`

use std::borrow::Cow;

use bytes::Bytes;
use jsonschema::JsonType;
use jsonschema::json::{
    Array, Json, JsonNumber, Node as JsonNode, NodeIdentity, Object, cmp, unique,
};
use serde_json::{Number, Value};

use super::tape::{Entry, Shape, Spelling};
use super::{Document, Elements, Kind, Members, Node};

/// The representation that validators are built for.
pub struct Tape;

/// A number as it was written.
pub struct NumberText<'a>(&'a str);

/// Holds a property name while `propertyNames` looks at it as a value.
pub struct NameBuffer(Document);

/// Values that an error may carry; a violation shows what is wrong, not the whole body.
const EXCERPT_VALUES: usize = 200;
/// Characters of one string that an error may carry.
const EXCERPT_CHARS: usize = 400;

impl Json for Tape {
    type Node<'a> = Node<'a>;
    type PreparedKey = Box<str>;
    type StringBuffer = NameBuffer;

    fn prepare_key(key: &str) -> Box<str> {
        key.into()
    }

    fn with_string_node<T>(
        buffer: &mut NameBuffer,
        string: &str,
        f: impl FnOnce(Node<'_>) -> T,
    ) -> T {
        buffer.0 = Document::of_name(string);
        f(buffer.0.root())
    }
}

impl<'a> JsonNode<'a, Tape> for Node<'a> {
    type Object = Node<'a>;
    type Array = Node<'a>;
    type Number = NumberText<'a>;

    fn as_object(&self) -> Option<Node<'a>> {
        (self.kind() == Kind::Object).then_some(*self)
    }

    fn as_array(&self) -> Option<Node<'a>> {
        (self.kind() == Kind::Array).then_some(*self)
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        self.as_str()
    }

    fn as_number(&self) -> Option<NumberText<'a>> {
        self.number_text().map(NumberText)
    }

    fn as_boolean(&self) -> Option<bool> {
        self.as_bool()
    }

    fn is_null(&self) -> bool {
        self.kind() == Kind::Null
    }

    fn is_number(&self) -> bool {
        self.kind() == Kind::Number
    }

    fn json_type(&self) -> JsonType {
        match self.kind() {
            Kind::Null => JsonType::Null,
            Kind::Bool => JsonType::Boolean,
            Kind::Number => JsonType::Number,
            Kind::String => JsonType::String,
            Kind::Array => JsonType::Array,
            Kind::Object => JsonType::Object,
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
        let (address, index) = Node::identity(*self);
        Some(NodeIdentity::tagged(address, index))
    }
}

impl<'a> Object<'a, Tape> for Node<'a> {
    type Node = Self;
    type MemberName = Cow<'a, str>;
    type MembersIter = Members<'a>;

    fn len(&self) -> usize {
        Node::len(*self)
    }

    fn get(&self, key: &Box<str>) -> Option<Self> {
        Node::get(*self, key)
    }

    fn members(&self) -> Members<'a> {
        Node::members(*self)
    }
}

impl<'a> Array<'a, Tape> for Node<'a> {
    type Node = Self;
    type ElementsIter = Elements<'a>;

    fn len(&self) -> usize {
        Node::len(*self)
    }

    fn elements(&self) -> Elements<'a> {
        Node::elements(*self)
    }

    fn is_unique(&self) -> bool {
        let values: Vec<Value> = Node::elements(*self).map(whole).collect();
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
        // Beyond all doubles there are only whole numbers.
        self.is_written_as_integer() || self.as_f64().is_none_or(|number| number.fract() == 0.0)
    }

    fn is_written_as_integer(&self) -> bool {
        !self.0.contains(['.', 'e', 'E'])
    }
}

impl Default for NameBuffer {
    fn default() -> Self {
        Self(Document::of_name(""))
    }
}

impl Document {
    /// A document of one string, whose content is not written as JSON but stands for itself.
    fn of_name(name: &str) -> Self {
        let body = Bytes::from(format!("\"{name}\""));
        let spelling = Spelling {
            escaped: false,
            ascii: name.is_ascii(),
        };
        let entry = Entry {
            start: 0,
            end: body.len() as u32,
            next: 1,
            count: 0,
            shape: Shape::String(spelling),
        };
        Self {
            body,
            tape: vec![entry],
        }
    }
}

/// JSON Schema equality: numbers by their value, objects without order.
fn equal(node: Node<'_>, expected: &Value) -> bool {
    match expected {
        Value::Null => node.is_null(),
        Value::Bool(expected) => node.as_bool() == Some(*expected),
        Value::Number(expected) => node
            .number_text()
            .is_some_and(|text| cmp::equal_numbers(&NumberText(text), expected)),
        Value::String(expected) => node.as_str().is_some_and(|text| text == *expected),
        Value::Array(expected) => {
            node.kind() == Kind::Array
                && node.len() == expected.len()
                && node
                    .elements()
                    .zip(expected)
                    .all(|(element, expected)| equal(element, expected))
        }
        Value::Object(expected) => {
            node.kind() == Kind::Object
                && node.len() == expected.len()
                && node.members().all(|(key, value)| {
                    expected
                        .get(key.as_ref())
                        .is_some_and(|expected| equal(value, expected))
                })
        }
    }
}

fn whole(node: Node<'_>) -> Value {
    match node.kind() {
        Kind::Array => node.elements().map(whole).collect(),
        Kind::Object => {
            let member = |(key, value): (Cow<'_, str>, _)| (key.into_owned(), whole(value));
            node.members().map(member).collect()
        }
        _ => scalar(node),
    }
}

/// The value as far as `left` values and some characters reach.
fn excerpt(node: Node<'_>, left: &mut usize) -> Value {
    *left = left.saturating_sub(1);
    match node.kind() {
        Kind::Array => {
            let mut elements = Vec::new();
            for element in node.elements() {
                if *left == 0 {
                    break;
                }
                elements.push(excerpt(element, left));
            }
            Value::Array(elements)
        }
        Kind::Object => {
            let mut members = serde_json::Map::new();
            for (key, value) in node.members() {
                if *left == 0 {
                    break;
                }
                members.insert(shortened(key), excerpt(value, left));
            }
            Value::Object(members)
        }
        Kind::String => Value::String(shortened(node.as_str().unwrap_or_default())),
        _ => scalar(node),
    }
}

fn scalar(node: Node<'_>) -> Value {
    match (node.as_bool(), node.number_text(), node.as_str()) {
        (Some(boolean), ..) => Value::Bool(boolean),
        (_, Some(text), _) => Value::Number(number(text)),
        (.., Some(text)) => Value::String(text.into_owned()),
        _ => Value::Null,
    }
}

/// The number, or the outermost double of its sign for one beyond all doubles.
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
