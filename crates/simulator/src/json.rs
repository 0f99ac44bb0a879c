//! JSON objects that keep the order of their members, as providers send them; `serde_json::Value` sorts members.

use bytes::Bytes;
use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

/// The JSON `null`.
pub const NULL: Option<bool> = None;

/// A piece of JSON text.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct JsonText(Box<RawValue>);

/// An object under construction.
pub struct OrderedJsonObject(Vec<(&'static str, JsonText)>);

/// Builds an object: `object! { "id": id, "usage": NULL }`.
macro_rules! object {
    ($($key:literal: $value:expr),* $(,)?) => {
        $crate::json::OrderedJsonObject::new()$(.with($key, &$value))*.end()
    };
}
pub(super) use object;

impl JsonText {
    /// The JSON text of a value, such as a list.
    pub fn serialize<T: Serialize + ?Sized>(value: &T) -> Self {
        Self(to_raw_value(value).expect("plain data serialises into memory"))
    }

    pub fn as_bytes(&self) -> &[u8] {
        self.0.get().as_bytes()
    }
}

impl From<JsonText> for Bytes {
    fn from(json: JsonText) -> Self {
        String::from(Box::<str>::from(json.0)).into()
    }
}

impl OrderedJsonObject {
    pub fn new() -> Self {
        Self(Vec::new())
    }

    pub fn member<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) {
        self.0.push((key, JsonText::serialize(value)));
    }

    /// Adds a member and returns the object, for method chains.
    pub fn with<T: Serialize + ?Sized>(mut self, key: &'static str, value: &T) -> Self {
        self.member(key, value);
        self
    }

    pub fn end(self) -> JsonText {
        JsonText::serialize(&self)
    }
}

impl Serialize for OrderedJsonObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order_and_are_escaped() {
        let inner = object! {"z": 1_u64, "a": NULL};
        let json = object! {"text": "a\"b", "list": [inner], "none": [NULL; 0]};
        assert_eq!(
            std::str::from_utf8(json.as_bytes()),
            Ok(r#"{"text":"a\"b","list":[{"z":1,"a":null}],"none":[]}"#)
        );
    }
}
