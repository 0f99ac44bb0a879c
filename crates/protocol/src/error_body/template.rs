//! Error bodies of declared protocols: JSON in which words stand for the parts of an error.

use super::{CustomError, ErrorShape, error_json};
use crate::fault::FaultKind;
use crate::sse;
use bytes::Bytes;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The words that stand for parts of an error.
const PARTS: [&str; 6] = [
    "{message}",
    "{type}",
    "{code}",
    "{param}",
    "{request_id}",
    "{status}",
];
/// In place of a code of the gateway: all that are not named.
const ALL_OTHERS: &str = "*";

/// The error body of a declared protocol.
#[derive(Debug)]
pub(crate) struct ErrorBodyTemplate {
    body: Value,
    /// The protocol's own codes, by those of the gateway: texts or numbers.
    codes: BTreeMap<String, Value>,
    /// The name of the event of an error in a stream.
    event_name: Option<&'static str>,
}

/// Why JSON is no template of an error body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InvalidErrorTemplate {
    /// JSON pointer of what is wrong; empty for the whole.
    pub pointer: String,
    pub reason: String,
    pub hint: String,
}

impl ErrorBodyTemplate {
    /// A template with codes of its own by those of the gateway, or by `*` for all others.
    ///
    /// # Errors
    /// The body is no object, has no `{message}`, or a word in braces that stands for nothing.
    pub fn new(
        body: &Value,
        codes: BTreeMap<String, Value>,
        event_name: Option<&'static str>,
    ) -> Result<Self, InvalidErrorTemplate> {
        let invalid = |pointer: &str, reason: String, hint: String| InvalidErrorTemplate {
            pointer: pointer.to_owned(),
            reason,
            hint,
        };
        let mut texts = Vec::new();
        collect_texts(body, String::new(), &mut texts);
        for (pointer, text) in &texts {
            if let Some(word) = unknown_part(text) {
                let reason = format!("`{word}` stands for no part of an error");
                let hint = format!("write one of {}", PARTS.join(", "));
                return Err(invalid(pointer, reason, hint));
            }
        }
        if !body.is_object() || !texts.iter().any(|(_, text)| text.contains("{message}")) {
            let reason = "an error body must be an object with `{message}`".to_owned();
            let hint = "write it as `{error: {message: \"{message}\"}}`".to_owned();
            return Err(invalid("", reason, hint));
        }
        Ok(Self {
            body: body.clone(),
            codes,
            event_name,
        })
    }

    /// The body for a kind of fault, in a reply with this status. Types are those of `shape`.
    pub fn body(
        &self,
        shape: &ErrorShape,
        (kind, status): (FaultKind, u16),
        error: &CustomError<'_>,
        request_id: &str,
    ) -> Bytes {
        let own = || {
            let own = self.codes.get(kind.code());
            own.or_else(|| self.codes.get(ALL_OTHERS)).cloned()
        };
        let code = error.code.map(Value::from).or_else(own);
        let parts = [
            error.message.into(),
            error.class.unwrap_or_else(|| (shape.class)(kind)).into(),
            code.unwrap_or_else(|| kind.code().into()),
            error.param.into(),
            request_id.into(),
            status.into(),
        ];
        error_json(&filled(&self.body, &parts))
    }

    /// The event of a stream that has this body.
    pub fn event(&self, body: &[u8]) -> Bytes {
        sse::encode_event(self.event_name, body)
    }

    /// The paths to the texts that every body has, from members of objects.
    pub fn required_texts(&self) -> Vec<Vec<&str>> {
        let mut paths = Vec::new();
        collect_required(&self.body, &mut Vec::new(), &mut paths);
        paths
    }

    /// The schema of the body for OpenAPI.
    pub fn schema(&self) -> Value {
        schema(&self.body, &self.code_types())
    }

    fn code_types(&self) -> Value {
        let mut own = self.codes.values();
        match own.any(Value::is_number) {
            true => json!(["string", "integer"]),
            false => json!("string"),
        }
    }
}

/// The texts of a template with their JSON pointers.
fn collect_texts<'t>(value: &'t Value, at: String, texts: &mut Vec<(String, &'t str)>) {
    match value {
        Value::String(text) => texts.push((at, text)),
        Value::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                collect_texts(element, format!("{at}/{index}"), texts);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                let name = name.replace('~', "~0").replace('/', "~1");
                collect_texts(member, format!("{at}/{name}"), texts);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The first word in braces that stands for nothing.
fn unknown_part(text: &str) -> Option<&str> {
    let mut starts = text.match_indices('{').map(|(start, _)| &text[start..]);
    starts.find_map(|rest| {
        let word = &rest[..=rest.find('}')?];
        (!PARTS.contains(&word)).then_some(word)
    })
}

/// A value with its words replaced by the parts of an error, in the order of [`PARTS`]. A text that is nothing but the word
/// of a missing part is null.
fn filled(value: &Value, parts: &[Value; 6]) -> Value {
    match value {
        Value::String(text) => match PARTS.iter().position(|word| word == text) {
            Some(index) => parts[index].clone(),
            None => Value::from(filled_text(text, parts)),
        },
        Value::Array(elements) => elements.iter().map(|it| filled(it, parts)).collect(),
        Value::Object(members) => {
            let members = members.iter();
            let members = members.map(|(name, member)| (name.clone(), filled(member, parts)));
            Value::Object(members.collect())
        }
        other => other.clone(),
    }
}

/// One pass from left to right, so that words within a part stay as they are.
fn filled_text(text: &str, parts: &[Value; 6]) -> String {
    let mut whole = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('{') {
        let (before, from_word) = rest.split_at(start);
        whole.push_str(before);
        let word = PARTS.iter().position(|word| from_word.starts_with(word));
        let length = match word {
            Some(index) => {
                whole.push_str(&part_as_text(&parts[index]));
                PARTS[index].len()
            }
            None => {
                whole.push('{');
                1
            }
        };
        rest = &from_word[length..];
    }
    whole + rest
}

fn part_as_text(part: &Value) -> Cow<'_, str> {
    match part {
        Value::String(text) => text.into(),
        Value::Null => "".into(),
        number => number.to_string().into(),
    }
}

fn collect_required<'t>(value: &'t Value, path: &mut Vec<&'t str>, paths: &mut Vec<Vec<&'t str>>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                path.push(name);
                collect_required(member, path, paths);
                path.pop();
            }
        }
        Value::String(text) if text.contains("{message}") => paths.push(path.clone()),
        _ => {}
    }
}

fn schema(value: &Value, codes: &Value) -> Value {
    match value {
        Value::String(text) if text == "{param}" => json!({"type": ["string", "null"]}),
        Value::String(text) if text == "{status}" => json!({"type": "integer"}),
        Value::String(text) if text == "{code}" => json!({"type": codes}),
        Value::String(text) if PARTS.iter().any(|word| text.contains(word)) => {
            json!({"type": "string"})
        }
        Value::Array(elements) => {
            let elements: Vec<_> = elements.iter().map(|it| schema(it, codes)).collect();
            json!({"type": "array", "prefixItems": elements})
        }
        Value::Object(members) => {
            let properties = members
                .iter()
                .map(|(name, member)| (name.clone(), schema(member, codes)));
            let required: Vec<&String> = members.keys().collect();
            let properties: Map<String, Value> = properties.collect();
            json!({"type": "object", "required": required, "properties": properties})
        }
        constant => json!({"const": constant}),
    }
}
