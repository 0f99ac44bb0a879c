//! `OneOrMore`: a configuration value that is one string or a list of strings.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use std::borrow::Cow;

/// One string, or a list of strings.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(from = "TextOrList")]
pub struct OneOrMore(pub Vec<String>);

#[derive(Deserialize)]
#[serde(untagged)]
enum TextOrList {
    One(String),
    Several(Vec<String>),
}

impl OneOrMore {
    /// Each text with the last part of its JSON pointer: `/0`, `/1`, …, or empty if there is only one text.
    pub fn placed(&self) -> impl Iterator<Item = (String, &str)> {
        let stands_alone = self.0.len() == 1;
        self.0.iter().enumerate().map(move |(index, text)| {
            let end = match stands_alone {
                true => String::new(),
                false => format!("/{index}"),
            };
            (end, text.as_str())
        })
    }
}

impl From<TextOrList> for OneOrMore {
    fn from(written: TextOrList) -> Self {
        match written {
            TextOrList::One(one) => Self(vec![one]),
            TextOrList::Several(several) => Self(several),
        }
    }
}

impl JsonSchema for OneOrMore {
    fn schema_name() -> Cow<'static, str> {
        "OneOrMore".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A text, or a list of texts.",
            "type": ["string", "array"],
            "minLength": 1,
            "minItems": 1,
            "items": {"type": "string", "minLength": 1}
        })
    }
}
