//! JSON text whose members stand in the order written, as providers send them, made without a tree.

use bytes::Bytes;
use serde_json::Value;

/// The JSON `null`.
pub const NULL: Option<bool> = None;

/// A finished piece of JSON text.
#[derive(Clone, Debug)]
pub struct Json(Vec<u8>);

/// What can be written as JSON.
pub trait ToJson {
    /// Appends this as JSON text.
    fn write(&self, out: &mut Vec<u8>);
}

/// An object under construction.
pub struct Object(Vec<u8>);

/// Builds an object: `object! { "id": id, "usage": NULL }`.
macro_rules! object {
    ($($key:literal: $value:expr),* $(,)?) => {
        $crate::json::Object::new()$(.with($key, &$value))*.end()
    };
}
pub(super) use object;

impl Json {
    /// The text of a list or another value that is no object.
    pub fn of(value: &impl ToJson) -> Self {
        let mut out = Vec::new();
        value.write(&mut out);
        Self(out)
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<Json> for Bytes {
    fn from(json: Json) -> Self {
        json.0.into()
    }
}

impl Object {
    pub fn new() -> Self {
        Self(b"{".to_vec())
    }

    /// Adds a member; the key must need no escaping.
    pub fn member<T: ToJson + ?Sized>(&mut self, key: &'static str, value: &T) {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        self.0.push(b'"');
        self.0.extend_from_slice(key.as_bytes());
        self.0.extend_from_slice(b"\":");
        value.write(&mut self.0);
    }

    /// [`Object::member`] for a chain.
    pub fn with<T: ToJson + ?Sized>(mut self, key: &'static str, value: &T) -> Self {
        self.member(key, value);
        self
    }

    pub fn end(mut self) -> Json {
        self.0.push(b'}');
        Json(self.0)
    }
}

impl ToJson for Json {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }
}

impl<T: ToJson + ?Sized> ToJson for &T {
    fn write(&self, out: &mut Vec<u8>) {
        (**self).write(out);
    }
}

impl<T: ToJson> ToJson for Option<T> {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Some(value) => value.write(out),
            None => out.extend_from_slice(b"null"),
        }
    }
}

impl<T: ToJson> ToJson for [T] {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(b'[');
        for (index, item) in self.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            item.write(out);
        }
        out.push(b']');
    }
}

impl<T: ToJson, const N: usize> ToJson for [T; N] {
    fn write(&self, out: &mut Vec<u8>) {
        self.as_slice().write(out);
    }
}

impl<T: ToJson> ToJson for Vec<T> {
    fn write(&self, out: &mut Vec<u8>) {
        self.as_slice().write(out);
    }
}

macro_rules! written_by_serde {
    ($($kind:ty),*) => {$(
        impl ToJson for $kind {
            fn write(&self, out: &mut Vec<u8>) {
                serde_json::to_writer(out, self).expect("plain data serialises into memory");
            }
        }
    )*};
}
written_by_serde!(str, String, bool, u16, u64, usize, f64, Value);

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
