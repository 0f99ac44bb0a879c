//! What a field writes into the provider's request: its value, a text around it, a part of a data URI, or an expression.

use super::body_builder::JsonBodyBuilder;
use super::document_expression::DocumentExpression;
use super::json_fragment::JsonFragment;
use headgate_protocol::json::{DocumentNode, quoted};
use serde_json::Value;
use std::borrow::Cow;

/// The value to set at a target, with placeholders for the field's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueTemplate {
    /// The field's value as it is.
    Value,
    /// A string with placeholders.
    Text(Vec<ValueTextPart>),
    /// JSON text without a placeholder.
    Json(Vec<u8>),
    List(Vec<ValueTemplate>),
    Object(Vec<(String, ValueTemplate)>),
    /// `{cel: …}` over the create in the generic shape.
    Computed(DocumentExpression),
}

/// A part of a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueTextPart {
    Literal(String),
    Placeholder(Placeholder),
}

/// What stands for the field's value in a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placeholder {
    /// `{}`: the value as text.
    Value,
    /// `{base64}`: the content of a data URI.
    Base64,
    /// `{media_type}`: the media type of a data URI.
    MediaType,
    /// `{url_or_base64}`: a URL, or the content of a data URI.
    UrlOrBase64,
}

/// What a template is filled with.
#[derive(Clone, Copy)]
pub struct TemplateValues<'t, 'a> {
    pub value: &'t JsonFragment<'a>,
    /// The create in the generic shape, for expressions; `None` if the family has none.
    pub create: Option<DocumentNode<'t>>,
}

/// Why a template cannot be filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateError {
    /// The value is no data URI in base64.
    NoDataUri,
    /// The expression has no value for this create.
    NoValue,
}

/// The key of an object that stands for the value of an expression.
const COMPUTED: &str = "cel";

impl ValueTemplate {
    /// # Errors
    /// An expression is invalid.
    pub fn new(value: &Value) -> Result<Self, String> {
        Ok(match value {
            Value::String(text) => Self::from_text(text),
            Value::Array(items) => {
                Self::List(items.iter().map(Self::new).collect::<Result<_, _>>()?)
            }
            Value::Object(members) => match (members.get(COMPUTED), members.len()) {
                (Some(Value::String(text)), 1) => {
                    Self::Computed(DocumentExpression::over_create(text)?)
                }
                _ => {
                    let member = |(key, value): (&String, _)| Ok((key.clone(), Self::new(value)?));
                    Self::Object(members.iter().map(member).collect::<Result<_, String>>()?)
                }
            },
            scalar => Self::Json(scalar.to_string().into_bytes()),
        })
    }

    fn from_text(text: &str) -> Self {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((at, placeholder)) = Placeholder::first_in(rest) {
            if at > 0 {
                parts.push(ValueTextPart::Literal(rest[..at].to_owned()));
            }
            parts.push(ValueTextPart::Placeholder(placeholder));
            rest = &rest[at + placeholder.text().len()..];
        }
        if parts.is_empty() {
            return Self::Json(quoted(text).to_vec());
        }
        if !rest.is_empty() {
            parts.push(ValueTextPart::Literal(rest.to_owned()));
        }
        match parts.as_slice() {
            [ValueTextPart::Placeholder(Placeholder::Value)] => Self::Value,
            _ => Self::Text(parts),
        }
    }

    /// Whether the template depends on the value of the field.
    pub fn has_placeholder(&self) -> bool {
        match self {
            Self::Value | Self::Text(_) => true,
            Self::Json(_) | Self::Computed(_) => false,
            Self::List(items) => items.iter().any(Self::has_placeholder),
            Self::Object(members) => members.iter().any(|(_, value)| value.has_placeholder()),
        }
    }

    /// Whether the template has an expression.
    pub fn is_computed(&self) -> bool {
        match self {
            Self::Computed(_) => true,
            Self::Value | Self::Text(_) | Self::Json(_) => false,
            Self::List(items) => items.iter().any(Self::is_computed),
            Self::Object(members) => members.iter().any(|(_, value)| value.is_computed()),
        }
    }

    /// Whether the template has a member of this name, or may have it.
    pub fn has_member(&self, name: &str) -> bool {
        match self {
            Self::Object(members) => members.iter().any(|(known, _)| known == name),
            Self::Computed(_) => true,
            Self::Value | Self::Text(_) | Self::Json(_) | Self::List(_) => false,
        }
    }

    /// The value; `None` if an expression in its place is null. Members and elements that are null by an expression are
    /// left out.
    ///
    /// # Errors
    /// The field's value, or the create, does not fit.
    pub fn fill<'a>(
        &'a self,
        values: TemplateValues<'_, 'a>,
    ) -> Result<Option<JsonBodyBuilder<'a>>, TemplateError> {
        Ok(Some(match self {
            Self::Value => JsonBodyBuilder::Json(values.value.clone().into_json()),
            Self::Text(parts) => {
                let text = text(parts, values.value)?;
                JsonBodyBuilder::Json(quoted(&text).to_vec().into())
            }
            Self::Json(json) => JsonBodyBuilder::Json(json.into()),
            Self::List(items) => {
                let items = items
                    .iter()
                    .filter_map(|item| item.fill(values).transpose());
                JsonBodyBuilder::List(items.collect::<Result<_, _>>()?)
            }
            Self::Object(members) => {
                let members = members.iter().filter_map(|(key, value)| {
                    let filled = value.fill(values).transpose()?;
                    Some(filled.map(|value| (Cow::Borrowed(key.as_str()), value)))
                });
                JsonBodyBuilder::Object(members.collect::<Result<_, _>>()?)
            }
            Self::Computed(expression) => {
                let create = values.create.ok_or(TemplateError::NoValue)?;
                let json = expression
                    .json(create)
                    .map_err(|_| TemplateError::NoValue)?;
                return Ok(json.map(|json| JsonBodyBuilder::Json(json.to_vec().into())));
            }
        }))
    }

    /// The shape of the value, without values: to find targets that overlap.
    pub fn outline(&self) -> JsonBodyBuilder<'_> {
        match self {
            Self::List(items) => JsonBodyBuilder::List(items.iter().map(Self::outline).collect()),
            Self::Object(members) => {
                let members = members.iter();
                let members = members.map(|(key, value)| (key.as_str().into(), value.outline()));
                JsonBodyBuilder::Object(members.collect())
            }
            Self::Value | Self::Text(_) | Self::Json(_) | Self::Computed(_) => {
                JsonBodyBuilder::Json(b"0"[..].into())
            }
        }
    }
}

impl Placeholder {
    const ALL: [Self; 4] = [
        Self::Value,
        Self::Base64,
        Self::MediaType,
        Self::UrlOrBase64,
    ];

    fn text(self) -> &'static str {
        match self {
            Self::Value => "{}",
            Self::Base64 => "{base64}",
            Self::MediaType => "{media_type}",
            Self::UrlOrBase64 => "{url_or_base64}",
        }
    }

    /// The first placeholder in a text, and where it begins.
    fn first_in(text: &str) -> Option<(usize, Self)> {
        let found = Self::ALL.into_iter();
        let found =
            found.filter_map(|placeholder| Some((text.find(placeholder.text())?, placeholder)));
        found.min_by_key(|(at, _)| *at)
    }

    fn fill(self, value: &str) -> Result<&str, TemplateError> {
        let data_uri = || split_data_uri(value).ok_or(TemplateError::NoDataUri);
        Ok(match self {
            Self::Value => value,
            Self::Base64 => data_uri()?.1,
            Self::MediaType => data_uri()?.0,
            Self::UrlOrBase64 if value.starts_with("data:") => data_uri()?.1,
            Self::UrlOrBase64 => value,
        })
    }
}

fn text(parts: &[ValueTextPart], value: &JsonFragment<'_>) -> Result<String, TemplateError> {
    let value = value.text_value();
    let mut text = String::new();
    for part in parts {
        text += match part {
            ValueTextPart::Literal(literal) => literal,
            ValueTextPart::Placeholder(placeholder) => placeholder.fill(&value)?,
        };
    }
    Ok(text)
}

/// Media type and content of a data URI in base64 (RFC 2397); `None` for other URLs.
fn split_data_uri(url: &str) -> Option<(&str, &str)> {
    let (head, content) = url.strip_prefix("data:")?.split_once(',')?;
    let head = head.strip_suffix(";base64")?;
    let media_type = head.split(';').next().unwrap_or_default();
    Some((media_type, content))
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_protocol::json::{JsonDocument, JsonLimits};
    use serde_json::json;

    fn filled(template: &Value, value: &JsonFragment<'_>) -> Result<Option<Value>, TemplateError> {
        let create = json!({"prompt": "a", "medias": [{"role": "first_frame"}]});
        let create =
            JsonDocument::parse(create.to_string().into(), &JsonLimits::default()).unwrap();
        let template = ValueTemplate::new(template).unwrap();
        let values = TemplateValues {
            value,
            create: Some(create.root()),
        };
        let body = template.fill(values)?;
        Ok(body.map(|body| serde_json::from_slice(&body.to_json()).unwrap()))
    }

    #[test]
    fn templates_take_the_value_in() {
        let data = JsonFragment::text("data:image/png;name=a;base64,QUJD");
        let url = JsonFragment::text("https://a.example/b.png");
        let five = JsonFragment::number(5);
        let quote = JsonFragment::text("\"5");
        let table = [
            (json!("{}"), &five, Ok(Some(json!(5)))),
            (json!("{}s, {}"), &five, Ok(Some(json!("5s, 5")))),
            (json!("{}s"), &quote, Ok(Some(json!("\"5s")))),
            (
                json!({"a": ["{}", 1, null], "b": true}),
                &five,
                Ok(Some(json!({"a": [5, 1, null], "b": true}))),
            ),
            (json!("none"), &five, Ok(Some(json!("none")))),
            (
                json!({"data": "{base64}", "mime_type": "{media_type}"}),
                &data,
                Ok(Some(json!({"data": "QUJD", "mime_type": "image/png"}))),
            ),
            (json!("{url_or_base64}"), &data, Ok(Some(json!("QUJD")))),
            (
                json!("{url_or_base64}"),
                &url,
                Ok(Some(json!("https://a.example/b.png"))),
            ),
            (json!("{base64}"), &url, Err(TemplateError::NoDataUri)),
            (
                json!({"mode": {"cel": "has(json(\"/medias/0\")) ? \"i2v\" : \"t2v\""}}),
                &five,
                Ok(Some(json!({"mode": "i2v"}))),
            ),
            (
                json!({"a": 1, "b": {"cel": "json(\"/missing\")"}}),
                &five,
                Ok(Some(json!({"a": 1}))),
            ),
            (json!({"cel": "json(\"/missing\")"}), &five, Ok(None)),
            (
                json!({"cel": "{\"x\": 1}[json(\"/prompt\")]"}),
                &five,
                Err(TemplateError::NoValue),
            ),
        ];
        for (template, value, expected) in table {
            assert_eq!(filled(&template, value), expected, "{template}");
        }
    }

    #[test]
    fn an_expression_reads_only_the_create() {
        for text in [
            "caller",
            "request.headers[\"x\"]",
            "response_json(\"/a\")",
            "1 +",
        ] {
            assert!(ValueTemplate::new(&json!({"cel": text})).is_err(), "{text}");
        }
    }
}
