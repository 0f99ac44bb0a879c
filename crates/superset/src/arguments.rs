//! The arguments of a tool call, in each of their forms.

use crate::escaped_text::EscapedText;
use bytes::Bytes;
use headgate_protocol::json::{JsonDocument, JsonLimits, ValueKind};
use std::borrow::Cow;

/// The arguments of a tool call, as its protocol writes them.
#[derive(Clone, Debug)]
pub enum Arguments<'a> {
    /// A JSON object.
    Object(&'a str),
    /// The content of a string that should contain a JSON object.
    Text(EscapedText<'a>),
    /// The text that a tool of free text takes. Functions in its place take `{"input": text}`.
    FreeText(EscapedText<'a>),
}

impl<'a> Arguments<'a> {
    /// The content of a string with JSON, as functions take it.
    pub fn json_text(&self) -> EscapedText<'a> {
        match self {
            Self::Object(json) => EscapedText::plain(json),
            Self::Text(json) => json.clone(),
            Self::FreeText(text) => {
                EscapedText::plain(&format!("{{\"input\":\"{}\"}}", text.as_written()))
            }
        }
    }

    /// The JSON object; `None` if the arguments are something else. No text at all is an object without members.
    pub fn object(&self) -> Option<Cow<'_, str>> {
        let json = match self {
            Self::Object(json) => return Some(Cow::Borrowed(*json)),
            Self::Text(json) => json.decoded(),
            Self::FreeText(text) => format!("{{\"input\":\"{}\"}}", text.as_written()).into(),
        };
        if json.trim_ascii().is_empty() {
            return Some(Cow::Borrowed("{}"));
        }
        let parsed = Bytes::copy_from_slice(json.as_bytes());
        let parsed = JsonDocument::parse(parsed, &JsonLimits::default()).ok()?;
        (parsed.root().kind() == ValueKind::Object).then_some(json)
    }

    /// The text for a tool of free text, also if the provider called a function in its place.
    ///
    /// Arguments of another form stay as they are.
    pub fn free_text(&self) -> EscapedText<'a> {
        match self {
            Self::Object(json) => input_in(json).unwrap_or_else(|| EscapedText::plain(json)),
            Self::Text(json) => input_in(&json.decoded()).unwrap_or_else(|| json.clone()),
            Self::FreeText(text) => text.clone(),
        }
    }
}

/// The text in `{"input": text}`.
fn input_in(json: &str) -> Option<EscapedText<'static>> {
    let json = Bytes::copy_from_slice(json.as_bytes());
    let document = JsonDocument::parse(json, &JsonLimits::default()).ok()?;
    let root = document.root();
    let input = root.get("input").filter(|_| root.len() == 1)?;
    Some(EscapedText::from_node(input)?.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_text_survives_a_function_in_place_of_its_tool() {
        let texts = ["", "a \"b\"\n\\", r"\u00e9 }", "{\"input\":\"x\"}"];
        for text in texts {
            let free = Arguments::FreeText(EscapedText::plain(text));
            let json = free.json_text().decoded().into_owned();
            let parsed: serde_json::Value = serde_json::from_str(&json).unwrap();
            assert_eq!(parsed, serde_json::json!({"input": text}));
            let called = [
                Arguments::Object(&json),
                Arguments::Text(free.json_text()),
                free,
            ];
            for arguments in called {
                assert_eq!(arguments.free_text().decoded(), text);
            }
        }
    }

    #[test]
    fn arguments_of_another_form_are_the_text() {
        for json in [
            "",
            "{",
            "[]",
            r#"{"input":1}"#,
            r#"{"input":"a","b":1}"#,
            r#"{"text":"a"}"#,
        ] {
            assert_eq!(Arguments::Object(json).free_text().decoded(), json);
            let text = Arguments::Text(EscapedText::plain(json));
            assert_eq!(text.free_text().decoded(), json);
        }
    }
}
