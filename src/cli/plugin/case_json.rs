//! A JSON value of a file of cases, written in YAML.

use bytes::Bytes;
use serde::de::{Deserialize, Deserializer, Error};

/// The text of a JSON value, without white space and with the members of objects in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseJsonText(String);

impl CaseJsonText {
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

impl<'de> Deserialize<'de> for CaseJsonText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut text = Vec::new();
        let mut serializer = serde_json::Serializer::new(&mut text);
        serde_transcode::transcode(deserializer, &mut serializer).map_err(D::Error::custom)?;
        String::from_utf8(text).map(Self).map_err(D::Error::custom)
    }
}

/// Reads a value that is there, so that `null` is a value like others.
pub fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
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
            let parsed: CaseJsonText = serde_saphyr::from_str(yaml).unwrap();
            assert_eq!(parsed.as_str(), expected, "{yaml}");
        }
    }

    #[test]
    fn a_configuration_that_is_a_string_has_no_quotes() {
        for (yaml, expected) in [("a b", "a b"), ("{a: b}", r#"{"a":"b"}"#), ("5", "5")] {
            let parsed: CaseJsonText = serde_saphyr::from_str(yaml).unwrap();
            assert_eq!(parsed.to_configuration(), expected, "{yaml}");
        }
    }
}
