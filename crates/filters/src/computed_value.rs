//! Values in settings that expressions may compute: `{cel: '…'}` in place of a value or of a part of it.

use bytes::Bytes;
use headgate_core::filter::descriptor::InvalidSettings;
use headgate_core::filter::expression::{ExchangeValues, FilterExpression};
use headgate_core::scalar::text_or_expression::{ExpressionConfig, TextOrExpressionConfig};
use headgate_expression::{EvaluationError, EvaluationPhase};
use headgate_protocol::json::quoted;
use serde_json::Value;
use std::borrow::Cow;
use std::fmt::Write;

/// A JSON value, parts of which expressions compute.
pub struct ComputedJson(Vec<ComputedJsonPart>);

enum ComputedJsonPart {
    /// JSON text, or a part of one.
    Text(Bytes),
    Computed(FilterExpression),
}

/// A text, or an expression that computes it.
pub enum TextOrExpression {
    Text(String),
    Computed(FilterExpression),
}

/// The key of an object that stands for the value of an expression.
const COMPUTED: &str = "cel";

impl ComputedJson {
    /// Compiles a value of settings; its expressions may use the names that are known in the phase `available`.
    ///
    /// # Errors
    /// An expression is invalid; with a pointer into the value.
    pub fn compile(value: &Value, available: EvaluationPhase) -> Result<Self, InvalidSettings> {
        let mut writer = ComputedJsonBuilder {
            available,
            parts: Vec::new(),
            text: Vec::new(),
            at: String::new(),
        };
        writer.write(value)?;
        writer.end_text();
        Ok(Self(writer.parts))
    }

    pub fn expressions(&self) -> impl Iterator<Item = &FilterExpression> {
        self.0.iter().filter_map(|part| match part {
            ComputedJsonPart::Text(_) => None,
            ComputedJsonPart::Computed(expression) => Some(expression),
        })
    }

    /// The value as JSON text.
    ///
    /// # Errors
    /// An expression cannot be evaluated.
    pub fn json(&self, values: ExchangeValues<'_>) -> Result<Bytes, EvaluationError> {
        if let [only] = self.0.as_slice() {
            return only.json(values);
        }
        let mut whole = Vec::new();
        for part in &self.0 {
            whole.extend_from_slice(&part.json(values)?);
        }
        Ok(whole.into())
    }
}

impl ComputedJsonPart {
    fn json(&self, values: ExchangeValues<'_>) -> Result<Bytes, EvaluationError> {
        match self {
            Self::Text(text) => Ok(text.clone()),
            Self::Computed(expression) => expression.json(values),
        }
    }
}

impl TextOrExpression {
    /// Compiles a text of settings, as [`ComputedJson::compile`].
    ///
    /// # Errors
    /// The expression is invalid.
    pub fn compile(
        config: TextOrExpressionConfig,
        available: EvaluationPhase,
    ) -> Result<Self, InvalidSettings> {
        match config {
            TextOrExpressionConfig::Text(text) => Ok(Self::Text(text)),
            TextOrExpressionConfig::Computed(ExpressionConfig { cel }) => {
                let compiled = FilterExpression::compile_text(&cel, available);
                let compiled = compiled.map_err(|invalid| invalid.at(format!("/{COMPUTED}")));
                compiled.map(Self::Computed)
            }
        }
    }

    pub fn expression(&self) -> Option<&FilterExpression> {
        match self {
            Self::Text(_) => None,
            Self::Computed(expression) => Some(expression),
        }
    }

    /// The text.
    ///
    /// # Errors
    /// The expression cannot be evaluated, or its value is no text, number or boolean.
    pub fn text(&self, values: ExchangeValues<'_>) -> Result<Cow<'_, str>, EvaluationError> {
        match self {
            Self::Text(text) => Ok(text.into()),
            Self::Computed(expression) => expression.text_value(values).map(Cow::Owned),
        }
    }
}

/// The latest of the phases that these expressions need; the head if there are none.
pub fn latest_phase<'e>(
    expressions: impl Iterator<Item = &'e FilterExpression>,
) -> EvaluationPhase {
    let phases = expressions.map(FilterExpression::phase);
    phases.max().unwrap_or(EvaluationPhase::Head)
}

struct ComputedJsonBuilder {
    available: EvaluationPhase,
    parts: Vec<ComputedJsonPart>,
    /// The text after the last part.
    text: Vec<u8>,
    /// JSON pointer of the current value.
    at: String,
}

impl ComputedJsonBuilder {
    fn write(&mut self, value: &Value) -> Result<(), InvalidSettings> {
        match value {
            Value::Object(members) if members.contains_key(COMPUTED) => {
                let expression = self.computed(value)?;
                self.end_text();
                self.parts.push(ComputedJsonPart::Computed(expression));
                Ok(())
            }
            Value::Object(members) => {
                let keys = members.keys().map(|key| Some(key.as_str()));
                self.children(*b"{}", keys.zip(members.values()))
            }
            Value::Array(elements) => {
                let keys = std::iter::repeat(None);
                self.children(*b"[]", keys.zip(elements))
            }
            scalar => {
                self.text.extend_from_slice(scalar.to_string().as_bytes());
                Ok(())
            }
        }
    }

    fn children<'v>(
        &mut self,
        [begin, end]: [u8; 2],
        children: impl Iterator<Item = (Option<&'v str>, &'v Value)>,
    ) -> Result<(), InvalidSettings> {
        self.text.push(begin);
        for (index, (key, value)) in children.enumerate() {
            if index > 0 {
                self.text.push(b',');
            }
            let outer = self.at.len();
            match key {
                Some(key) => {
                    self.text.extend_from_slice(&quoted(key));
                    self.text.push(b':');
                    self.at.push_str(&pointer_to(key));
                }
                None => {
                    let _ = write!(self.at, "/{index}");
                }
            }
            self.write(value)?;
            self.at.truncate(outer);
        }
        self.text.push(end);
        Ok(())
    }

    fn computed(&self, value: &Value) -> Result<FilterExpression, InvalidSettings> {
        let at = format!("{}/{COMPUTED}", self.at);
        let members = value.as_object().map_or(0, serde_json::Map::len);
        match (value[COMPUTED].as_str(), members) {
            (Some(text), 1) => FilterExpression::compile(text, self.available)
                .map_err(|invalid| invalid.at(at)),
            _ => Err(InvalidSettings::new(
                "`cel` must be the text of an expression and the only key of its mapping",
            )
            .at(at)
            .hint("write `{cel: '…'}`, or build the mapping in the expression: `{cel: '{\"cel\": 1}'}`")),
        }
    }

    fn end_text(&mut self) {
        if !self.text.is_empty() {
            let text = std::mem::take(&mut self.text);
            self.parts.push(ComputedJsonPart::Text(text.into()));
        }
    }
}

/// The JSON pointer to a member of a mapping.
pub fn pointer_to(key: &str) -> String {
    format!("/{}", key.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_core::filter::view::RequestView;
    use http::{HeaderMap, Method};
    use serde_json::json;

    fn request() -> RequestView {
        let (method, headers) = (Method::POST, HeaderMap::new());
        RequestView::new(
            "id".into(),
            method,
            "/v1/x".into(),
            None,
            headers,
            vec![],
            None,
        )
    }

    #[test]
    fn expressions_fill_their_places() {
        let request = request();
        for (value, expected) in [
            (
                json!({"b": 1, "a": [true, null]}),
                r#"{"a":[true,null],"b":1}"#,
            ),
            (json!({"cel": "request.path"}), r#""/v1/x""#),
            (
                json!({"at": {"cel": "request.path"}, "n": [{"cel": "1 + 1"}, "x"]}),
                r#"{"at":"/v1/x","n":[2,"x"]}"#,
            ),
        ] {
            let template = ComputedJson::compile(&value, EvaluationPhase::Head);
            let template = template.unwrap_or_else(|invalid| panic!("{}", invalid.reason));
            let text = template.json(ExchangeValues::for_request(&request));
            assert_eq!(
                text.unwrap_or_else(|error| panic!("{}", error.message)),
                expected
            );
        }
    }

    #[test]
    fn an_invalid_expression_has_its_place() {
        for (value, at) in [
            (json!({"cel": "request."}), "/cel"),
            (json!({"a/b": [0, {"cel": "nothing"}]}), "/a~1b/1/cel"),
            (json!({"cel": "1", "x": 2}), "/cel"),
            (json!([{"cel": 1}]), "/0/cel"),
            (json!({"cel": "response.status"}), "/cel"),
        ] {
            let invalid = ComputedJson::compile(&value, EvaluationPhase::Body).err();
            assert_eq!(
                invalid.map(|invalid| invalid.pointer).as_deref(),
                Some(at),
                "{value}"
            );
        }
    }
}
