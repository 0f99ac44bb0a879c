//! A JSON value that is copied from one request to another as text; large values are borrowed.

use headgate_protocol::json::{DocumentNode, quoted};
use serde_json::Value;
use std::borrow::Cow;

/// A value as JSON text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonFragment<'a>(Cow<'a, [u8]>);

impl<'a> JsonFragment<'a> {
    /// The value of a document's node.
    pub fn from_node(node: DocumentNode<'a>) -> Self {
        Self(Cow::Borrowed(node.raw()))
    }

    pub fn text(text: &str) -> Self {
        Self(Cow::Owned(quoted(text).to_vec()))
    }

    pub fn number(number: i64) -> Self {
        Self(Cow::Owned(number.to_string().into_bytes()))
    }

    pub fn written(value: &Value) -> Self {
        Self(Cow::Owned(value.to_string().into_bytes()))
    }

    pub fn json(&self) -> &[u8] {
        &self.0
    }

    pub fn into_json(self) -> Cow<'a, [u8]> {
        self.0
    }

    /// The value as read; `None` if it is not JSON.
    pub fn value(&self) -> Option<Value> {
        serde_json::from_slice(&self.0).ok()
    }

    /// The content of a string; numbers and booleans as written.
    pub fn text_value(&self) -> Cow<'_, str> {
        match serde_json::from_slice::<String>(&self.0) {
            Ok(text) => Cow::Owned(text),
            Err(_) => String::from_utf8_lossy(&self.0),
        }
    }
}
