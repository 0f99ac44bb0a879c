//! A value of a YAML file as compact JSON, with the members of objects in the order of the file.

use bytes::Bytes;
use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// The text of a JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactJson(String);

impl CompactJson {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The configuration that a plugin gets for this value: a string as it is, anything else as JSON.
    pub fn to_configuration(&self) -> Bytes {
        match serde_json::from_str::<String>(&self.0) {
            Ok(text) => text.into(),
            Err(_) => self.0.clone().into(),
        }
    }
}

/// Reads a value that is there, so that `null` is a value like others.
pub fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

impl<'de> Deserialize<'de> for CompactJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CompactJsonVisitor)
    }
}

struct CompactJsonVisitor;

impl<'de> Visitor<'de> for CompactJsonVisitor {
    type Value = CompactJson;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that JSON has, too")
    }

    fn visit_unit<E: Error>(self) -> Result<CompactJson, E> {
        Ok(CompactJson("null".to_owned()))
    }

    fn visit_none<E: Error>(self) -> Result<CompactJson, E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<CompactJson, D::Error> {
        CompactJson::deserialize(inner)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<CompactJson, E> {
        json(&value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<CompactJson, E> {
        json(&value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<CompactJson, E> {
        json(&value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<CompactJson, E> {
        json(&value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<CompactJson, E> {
        json(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<CompactJson, A::Error> {
        let mut items = Vec::new();
        while let Some(CompactJson(item)) = list.next_element()? {
            items.push(item);
        }
        Ok(CompactJson(format!("[{}]", items.join(","))))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<CompactJson, A::Error> {
        let mut members = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            let CompactJson(key) = json(&key)?;
            let CompactJson(value) = map.next_value()?;
            members.push(format!("{key}:{value}"));
        }
        Ok(CompactJson(format!("{{{}}}", members.join(","))))
    }
}

fn json<E: Error>(value: &(impl Serialize + ?Sized)) -> Result<CompactJson, E> {
    serde_json::to_string(value)
        .map(CompactJson)
        .map_err(Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_becomes_json_in_its_order() {
        let table = [
            (
                "{b: 1, a: [x, 2.5, true, null]}",
                r#"{"b":1,"a":["x",2.5,true,null]}"#,
            ),
            ("\"a\\nb\"", r#""a\nb""#),
            ("-3", "-3"),
            ("{}", "{}"),
            ("[]", "[]"),
        ];
        for (yaml, expected) in table {
            let parsed: CompactJson = serde_saphyr::from_str(yaml).unwrap();
            assert_eq!(parsed.as_str(), expected, "{yaml}");
        }
    }

    #[test]
    fn a_configuration_that_is_a_string_has_no_quotes() {
        for (yaml, expected) in [("a b", "a b"), ("{a: b}", r#"{"a":"b"}"#), ("5", "5")] {
            let parsed: CompactJson = serde_saphyr::from_str(yaml).unwrap();
            assert_eq!(parsed.to_configuration(), expected, "{yaml}");
        }
    }
}
