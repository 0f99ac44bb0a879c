//! Templates of requests to a provider: method, path, headers and body, with the task id in them.

use super::document_expression::{CHANNEL_MODEL, DocumentExpression};
use super::path_template::{PathName, PathTemplate, PathValues};
use super::source::ValueSourceList;
use bytes::Bytes;
use headgate_protocol::json::DocumentNode;
use http::{HeaderName, HeaderValue, Method};
use serde_json::Value;
use std::hash::{BuildHasher, RandomState};

/// A template of a request to a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestTemplate {
    pub method: Method,
    /// Appended to the channel's base URL.
    pub(super) path: PathTemplate,
    pub(super) headers: Vec<(HeaderName, HeaderTemplate)>,
    /// JSON with [`ID`] in its texts; `None` for a request without a body.
    pub(super) body: Option<Value>,
}

/// The value of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HeaderTemplate {
    Fixed(HeaderValue),
    /// The texts around a UUID that is new for each request.
    AroundUuid(String, String),
}

/// The request that creates a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskCreateTemplate {
    pub call: RequestTemplate,
    /// Whether it is sent as a multipart form in place of JSON.
    pub is_form: bool,
    /// The path, if it depends on the request.
    computed_path: Option<DocumentExpression>,
    /// Alternative paths, each with the fields that require it.
    other_paths: Vec<(PathTemplate, ValueSourceList)>,
}

/// The placeholder for the provider's task id in the body of a query or cancel.
pub const ID: &str = "{id}";
/// The placeholder for a new UUID in a header.
pub(super) const UUID: &str = "{uuid}";

impl RequestTemplate {
    /// The path as written, with its placeholders.
    pub fn path_text(&self) -> &str {
        self.path.text()
    }

    /// The path with a task id in it.
    pub fn path(&self, id: &str) -> String {
        let values = PathValues {
            id: Some(id),
            ..PathValues::default()
        };
        let path = self.path.fill(values);
        path.expect("paths of queries and cancels have no value but the id")
    }

    pub(super) fn names_model(&self) -> bool {
        self.path.names_model()
    }

    /// The path with the channel's model in it, of a request before there is a task.
    pub fn path_for_model(&self, channel_model: &str) -> String {
        let path = fill(&self.path, channel_model);
        path.expect("paths before the create have no value but the model")
    }

    /// The path with a task id and values of the response to a query in it; `None` if the response has no such value.
    pub fn path_after(&self, id: &str, response: DocumentNode<'_>) -> Option<String> {
        self.path.fill(PathValues {
            id: Some(id),
            model: None,
            response: Some(response),
        })
    }

    /// Whether a task id may be several segments of the path.
    pub(super) fn keeps_slashes_of_id(&self) -> bool {
        self.path.keeps_slashes(&PathName::Id)
    }

    /// The headers as written.
    pub fn header_texts(&self) -> impl Iterator<Item = (&HeaderName, String)> {
        self.headers.iter().map(|(name, value)| match value {
            HeaderTemplate::Fixed(value) => {
                (name, String::from_utf8_lossy(value.as_bytes()).into_owned())
            }
            HeaderTemplate::AroundUuid(before, after) => (name, format!("{before}{UUID}{after}")),
        })
    }

    /// The headers of one request.
    pub fn headers(&self) -> impl Iterator<Item = (&HeaderName, HeaderValue)> {
        self.headers.iter().map(|(name, value)| match value {
            HeaderTemplate::Fixed(value) => (name, value.clone()),
            HeaderTemplate::AroundUuid(before, after) => {
                let value = HeaderValue::try_from(format!("{before}{}{after}", new_uuid()));
                (name, value.expect("both parts and hex digits are valid"))
            }
        })
    }

    /// The body with a task id in it; empty if the request has none.
    pub fn body(&self, id: &str) -> Bytes {
        let body = self.body.as_ref();
        body.map_or_else(Bytes::new, |body| with_id(body, id).to_string().into())
    }
}

impl TaskCreateTemplate {
    pub(super) fn new(
        call: RequestTemplate,
        is_form: bool,
        computed_path: Option<DocumentExpression>,
        other_paths: Vec<(PathTemplate, ValueSourceList)>,
    ) -> Self {
        Self {
            call,
            is_form,
            computed_path,
            other_paths,
        }
    }

    /// Whether the path is computed from the create in the generic shape.
    pub(super) fn reads_create(&self) -> bool {
        self.computed_path.is_some()
    }

    /// Whether the path has the channel's model.
    pub(super) fn names_model(&self) -> bool {
        match &self.computed_path {
            Some(computed) => computed.reads(CHANNEL_MODEL),
            None => self.call.path.names_model(),
        }
    }

    /// Whether any of the paths may have the channel's model. A computed one may be a template.
    pub(super) fn may_name_model(&self) -> bool {
        let mut others = self.other_paths.iter();
        self.computed_path.is_some()
            || self.call.path.names_model()
            || others.any(|(path, _)| path.names_model())
    }

    /// The path for a create of `model` that arrived on `requested`, which is empty for the generic shape. `has` returns
    /// whether the body has a value at a JSON pointer; `create` is the create in the generic shape, if there is one.
    /// `None` if the path cannot be computed.
    pub fn path(
        &self,
        requested: &str,
        model: &str,
        has: impl Fn(&str) -> bool,
        create: Option<DocumentNode<'_>>,
    ) -> Option<String> {
        if let (Some(computed), Some(create)) = (&self.computed_path, create) {
            let path = computed.text(create)?;
            let template = PathTemplate::parse(&path).ok()?;
            return fill(&template, model).filter(|path| path.starts_with('/'));
        }
        let own = &self.call.path;
        let others = || self.other_paths.iter();
        if !requested.is_empty() {
            if requested.ends_with(own.text()) {
                return fill(own, model);
            }
            if let Some((same, _)) = others().find(|(path, _)| requested.ends_with(path.text())) {
                return fill(same, model);
            }
        }
        let taking = others().find(|(_, fields)| fields.pointers().any(&has));
        fill(taking.map_or(own, |(path, _)| path), model)
    }
}

fn fill(path: &PathTemplate, model: &str) -> Option<String> {
    path.fill(PathValues {
        model: Some(model),
        ..PathValues::default()
    })
}

fn with_id(body: &Value, id: &str) -> Value {
    match body {
        Value::String(text) => Value::String(text.replace(ID, id)),
        Value::Array(items) => items.iter().map(|item| with_id(item, id)).collect(),
        Value::Object(members) => {
            let members = members.iter();
            let members = members.map(|(name, value)| (name.clone(), with_id(value, id)));
            Value::Object(members.collect())
        }
        scalar => scalar.clone(),
    }
}

/// A random UUID (RFC 9562, version 4); unique, but not secret.
fn new_uuid() -> String {
    let seed = RandomState::new();
    let (high, low) = (seed.hash_one(1), seed.hash_one(2));
    let high = high & !0xf000 | 0x4000;
    let low = low & !(0b11 << 62) | 0b10 << 62;
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(body: Option<Value>) -> RequestTemplate {
        RequestTemplate {
            method: Method::POST,
            path: PathTemplate::parse("/tasks").unwrap(),
            headers: vec![(
                HeaderName::from_static("ai-trace-id"),
                HeaderTemplate::AroundUuid("t-".into(), String::new()),
            )],
            body,
        }
    }

    #[test]
    fn a_body_has_the_id_in_its_texts() {
        let body = json!({"operationName": "{id}", "list": ["x/{id}", 1]});
        let body = call(Some(body)).body("a\"b");
        let sent: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(
            sent,
            json!({"operationName": "a\"b", "list": ["x/a\"b", 1]})
        );
        assert!(call(None).body("a").is_empty());
    }

    #[test]
    fn each_request_has_a_uuid_of_its_own() {
        let call = call(None);
        let values: Vec<_> = (0..2).map(|_| call.headers().next().unwrap().1).collect();
        assert_ne!(values[0], values[1]);
        let text = values[0].to_str().unwrap();
        let digits: Vec<_> = text.strip_prefix("t-").unwrap().split('-').collect();
        assert_eq!(
            digits.iter().map(|part| part.len()).collect::<Vec<_>>(),
            [8, 4, 4, 4, 12]
        );
        assert!(digits[2].starts_with('4'), "{text}");
    }
}
