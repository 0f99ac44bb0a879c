//! The vendor's own API as its callers use it: which call a request is, and what replaces values of the provider.

use super::VideoFamily;
use super::path_template::PathTemplate;
use super::source::ValueSourceList;
use http::Method;
use std::borrow::Cow;

/// The vendor's own API.
#[derive(Debug, Default)]
pub struct NativeApi {
    /// Empty if the definition has none: then callers may use any path, and URLs in responses stay as they are.
    pub(super) calls: Vec<NativeCall>,
    pub(super) replaced: Vec<(String, NativeText)>,
    pub(super) removed: ValueSourceList,
    pub(super) files: ValueSourceList,
    pub(super) refused: Vec<String>,
    pub(super) key_scheme: Option<String>,
    pub(super) model: ValueSourceList,
    pub(super) ids_in_request: ValueSourceList,
    pub(super) ids_in_response: ValueSourceList,
}

/// A call of the vendor's API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeCall {
    pub operation: NativeOperation,
    pub method: Method,
    /// Below the channel's base URL, and below the path of the gateway under which the API is served.
    pub(super) path: PathTemplate,
}

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NativeOperation {
    Create,
    Query,
    Cancel,
    /// The result of a task, apart from its status.
    Result,
    /// The video itself.
    Content,
}

/// A text in a response to a caller, with values of the task in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NativeText(Vec<NativeTextPart>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum NativeTextPart {
    Literal(String),
    /// `{id}`: the caller's id of the task.
    Id,
    /// `{model}`: the platform model.
    Model,
    /// `{query_url}` and the like: the gateway's URL of a call.
    Url(NativeOperation),
}

/// What a text in a response is filled with.
#[derive(Clone, Copy)]
pub(super) struct NativeTextValues<'a> {
    pub id: &'a str,
    /// The id as it stands in URLs of files.
    pub file_id: &'a str,
    pub model: &'a str,
    /// The gateway's URL under which the API is served; `None` if it is not known.
    pub base_url: Option<&'a str>,
}

impl VideoFamily {
    /// The vendor's own API.
    pub fn native_api(&self) -> &NativeApi {
        &self.native
    }

    /// The member of creates that names the model; `None` if the path does.
    pub fn model_member(&self) -> Option<String> {
        Some(self.request.model.target()?.pointer(0))
    }
}

impl NativeApi {
    /// The calls; none if the definition has none.
    pub fn calls(&self) -> &[NativeCall] {
        &self.calls
    }

    /// Whether URLs in responses reach callers only where the definition says so.
    pub fn replaces_urls(&self) -> bool {
        !self.calls.is_empty()
    }

    /// Pointers to members of creates that are refused.
    pub fn refused(&self) -> &[String] {
        &self.refused
    }

    /// The scheme of `Authorization` in which callers may send their key besides `Bearer`.
    pub fn key_scheme(&self) -> Option<&str> {
        self.key_scheme.as_deref()
    }

    /// Whether the path of a create names the model.
    pub fn names_model_in_path(&self) -> bool {
        let mut calls = self.calls.iter();
        calls.any(|call| call.operation == NativeOperation::Create && call.path.names_model())
    }

    fn call(&self, operation: NativeOperation) -> Option<&NativeCall> {
        let mut calls = self.calls.iter();
        calls.find(|call| call.operation == operation)
    }
}

impl NativeCall {
    /// The path of the gateway under which the API is served, if the path of a route is that of this call below it.
    pub fn prefix_in<'p>(&self, route_path: &'p str) -> Option<&'p str> {
        let prefix = route_path.strip_suffix(self.path.text_without_query())?;
        (!prefix.contains('{')).then_some(prefix)
    }

    /// Whether a path below that prefix is one of this call.
    pub fn has_path(&self, path: &str) -> bool {
        self.path.matches(path)
    }

    /// The member of the query that has the task id; `None` if the path has it.
    pub fn id_in_query(&self) -> Option<&str> {
        let (_, query) = self.path.text().split_once('?')?;
        let mut members = query.split('&').filter_map(|member| member.split_once('='));
        let found = members.find(|(_, value)| *value == super::call::ID);
        found.map(|(name, _)| name)
    }

    /// As routes have it, such as `GET /v1/tasks/{id}`.
    pub fn pattern(&self, prefix: &str) -> String {
        format!("{} {prefix}{}", self.method, self.path.text_without_query())
    }

    /// The path at the provider of a create for a model.
    pub fn create_path(&self, channel_model: &str) -> Option<String> {
        self.path.fill_task("", channel_model)
    }
}

impl NativeOperation {
    /// The key in the definition, and the name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Query => "query",
            Self::Cancel => "cancel",
            Self::Result => "result",
            Self::Content => "content",
        }
    }

    fn for_url(name: &str) -> Option<Self> {
        let urls = [Self::Query, Self::Cancel, Self::Result, Self::Content];
        let wanted = name.strip_suffix("_url")?;
        urls.into_iter().find(|call| call.name() == wanted)
    }
}

impl NativeText {
    /// # Errors
    /// A sentence that says what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((literal, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').ok_or("unclosed `{`")?;
            if !literal.is_empty() {
                parts.push(NativeTextPart::Literal(literal.to_owned()));
            }
            parts.push(match (name, NativeOperation::for_url(name)) {
                ("id", _) => NativeTextPart::Id,
                ("model", _) => NativeTextPart::Model,
                (_, Some(operation)) => NativeTextPart::Url(operation),
                _ => {
                    return Err(format!(
                        "unknown placeholder `{{{name}}}`: `{{id}}`, `{{model}}`, `{{query_url}}`, `{{cancel_url}}`, `{{result_url}}` and `{{content_url}}` are known"
                    ));
                }
            });
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(NativeTextPart::Literal(rest.to_owned()));
        }
        Ok(Self(parts))
    }

    /// The calls whose URLs are in the text.
    pub fn urls(&self) -> impl Iterator<Item = NativeOperation> {
        self.0.iter().filter_map(|part| match part {
            NativeTextPart::Url(operation) => Some(*operation),
            _ => None,
        })
    }

    /// Whether the text has the task's id, or a URL with it.
    pub fn has_id(&self) -> bool {
        let mut parts = self.0.iter();
        parts.any(|part| matches!(part, NativeTextPart::Id | NativeTextPart::Url(_)))
    }

    /// `None` if the text has a URL, and the gateway does not know its own.
    pub fn fill(&self, api: &NativeApi, values: NativeTextValues<'_>) -> Option<String> {
        let parts = self.0.iter().map(|part| {
            Some(match part {
                NativeTextPart::Literal(text) => Cow::from(text),
                NativeTextPart::Id => values.id.into(),
                NativeTextPart::Model => values.model.into(),
                NativeTextPart::Url(operation) => api.url(*operation, values)?.into(),
            })
        });
        parts.collect()
    }
}

impl NativeApi {
    fn url(&self, operation: NativeOperation, values: NativeTextValues<'_>) -> Option<String> {
        let id = match operation {
            NativeOperation::Content => values.file_id,
            _ => values.id,
        };
        let path = self.call(operation)?.path.fill_task(id, values.model)?;
        Some(format!("{}{path}", values.base_url?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_names_nothing_known_is_refused() {
        for text in ["{id", "{other}", "{create_url}", "{_url}"] {
            assert!(NativeText::parse(text).is_err(), "{text}");
        }
        for text in ["{id}", "models/{model}/operations/{id}", "{query_url}", ""] {
            assert!(NativeText::parse(text).is_ok(), "{text}");
        }
    }
}
