//! A protocol as written in `routes.yaml`. The comments of fields are the reference for users.

use crate::protocols::Protocol;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A protocol that the program does not have: where its requests and responses have what the gateway reads.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct ProtocolConfig {
    /// Name of the protocol, where a family takes it from the family that it extends.
    #[serde(skip)]
    pub name: Option<String>,
    /// Built-in protocol whose formats this one has for each key that is left out, except for `retry`. Default: none,
    /// and the defaults of the keys.
    pub extends: Option<BuiltInProtocolName>,
    /// Path of the endpoint in the provider's API. With `{model}` in it, or `{+model}` for a name that keeps its slashes, the
    /// path names the model, and those of routes must, too: the provider gets this path with the channel's name of the
    /// model. Default: none.
    pub path: Option<String>,
    /// What responses have: `text`, `image`, `audio`, `transcript` for text that may also come outside of JSON, or `data` such
    /// as vectors and scores. Default: data.
    pub medium: Option<MediumConfig>,
    /// What requests are: `json`, `form` for `multipart/form-data`, or `form_or_json`. Default: json.
    pub body: Option<BodyKindConfig>,
    /// Where requests name the model, as a JSON pointer; in a form it is the field of this name. Not with a `path` that
    /// names the model. Default: /model.
    pub model: Option<String>,
    /// What a request costs that is sent twice: `free` for tokens, `stored` if the provider keeps the response, too, `paid`
    /// for what is bought one by one. Only free and stored requests are tried on another channel after they may have
    /// arrived. Default: paid.
    pub retry: Option<RetrySafetyConfig>,
    /// How event streams are read and end: as in a built-in protocol, `done_marker` for any events before `[DONE]`, or
    /// `{last_event: …}`. Default: none.
    pub streams: Option<StreamFormatConfig>,
    /// Where responses report usage. Default: none is read.
    pub usage: Option<UsageConfig>,
    /// Error format: the name of a built-in protocol, or `{body: …}`. Default: chat.
    pub errors: Option<ErrorFormatConfig>,
    /// Headers beside those of all protocols.
    pub headers: Option<ProtocolHeadersConfig>,
    /// Members of which each makes a response a success, although it may have what looks like an error: `list`, `object`
    /// or `text`, not empty. Default: none.
    pub success: Option<BTreeMap<String, SuccessMemberConfig>>,
    /// Format of model lists: the name of a built-in protocol. Default: chat.
    pub models: Option<BuiltInProtocolName>,
    /// Names of rate limit headers: those of a built-in protocol. Default: chat.
    pub rate_limits: Option<BuiltInProtocolName>,
    /// Whether requests create batches of other requests: `file` for those in an uploaded file, as in OpenAI's API, `list` for
    /// those in the body, as in Anthropic's. Default: they create none.
    pub batch: Option<BatchFormatConfig>,
    /// `gen_ai.operation.name` of traces, such as `embeddings`. Default: generate_content.
    #[schemars(length(min = 1))]
    pub operation: Option<String>,
}

/// The name of a built-in protocol.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(try_from = "String")]
pub struct BuiltInProtocolName(pub Protocol);

/// What a protocol generates.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum MediumConfig {
    Text,
    Image,
    Audio,
    /// Text that may also come as plain text or subtitles.
    Transcript,
    Data,
}

/// What a request costs that is sent twice.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum RetrySafetyConfig {
    /// Tokens.
    Free,
    /// Tokens, and a second response that the provider keeps.
    Stored,
    /// What is bought one by one.
    Paid,
}

/// What the body of a request is.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum BodyKindConfig {
    Json,
    /// `multipart/form-data`
    Form,
    FormOrJson,
}

/// Where the requests of a batch are.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum BatchFormatConfig {
    /// In a file that was uploaded before.
    File,
    /// In the body.
    List,
}

/// How event streams are read and end.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(untagged)]
pub enum StreamFormatConfig {
    Named(StreamFormatName),
    LastEvent(LastEventConfig),
}

/// Streams of any events; one with a member `error`, or of the type `error`, is an error.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct LastEventConfig {
    /// Type of the last event: its name, or the member `type` of its data.
    #[schemars(length(min = 1))]
    pub last_event: String,
}

/// A format of event streams that the program has.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum StreamFormatName {
    /// No streams.
    None,
    /// Chunks with `choices`, then `[DONE]`.
    Chat,
    /// Named events; `message_stop` is the last.
    Messages,
    /// Named events; `response.completed` or another end of a response is the last.
    Responses,
    /// Named events; one with `completed` for each image.
    ImageEdit,
    /// Any events, then `[DONE]`; one with a member `error` is an error.
    DoneMarker,
}

/// Where responses report usage.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct UsageConfig {
    /// The object with the counts, as a JSON pointer into responses and events. Default: /usage.
    pub at: String,
    /// Input tokens, as a JSON pointer into that object of one or two steps. Default: none.
    pub input: Option<String>,
    /// Input tokens that were read from the provider's cache. Default: none.
    pub cached_input: Option<String>,
    /// Input tokens that were written to the provider's cache. Default: none.
    pub cache_write: Option<String>,
    /// Output tokens. Default: none.
    pub output: Option<String>,
    /// Output tokens spent on reasoning. Default: none.
    pub reasoning: Option<String>,
    /// All tokens. Default: the sum of input and output.
    pub total: Option<String>,
    /// Seconds of audio, which may have decimal places. Default: none.
    pub seconds: Option<String>,
    /// Seconds of audio, as a JSON pointer into responses that are no streams: a number, or one in a string. They count if the
    /// object at `at` has no count. Default: none.
    pub duration: Option<String>,
    /// Whether `input` lacks the tokens that were read from and written to the cache. Default: false.
    pub input_excludes_cache: bool,
}

/// The error format of a protocol.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged)]
pub enum ErrorFormatConfig {
    BuiltIn(BuiltInProtocolName),
    Template(ErrorBodyTemplateConfig),
}

/// An error format of the protocol's own.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct ErrorBodyTemplateConfig {
    /// JSON object of every error. In its texts `{message}`, `{type}`, `{code}`, `{param}`, `{request_id}` and `{status}` stand
    /// for parts of the error; `"{param}"` alone is null if no field is at fault, `"{status}"` alone is a number.
    pub body: Map<String, Value>,
    /// The protocol's own codes, texts or integers, by those of the gateway (docs/errors.md), or by `*` for all others.
    /// Default: those of the gateway.
    #[serde(default)]
    pub codes: BTreeMap<String, ErrorCodeConfig>,
    /// Built-in protocol whose error types `{type}` stands for. Default: chat.
    pub types: Option<BuiltInProtocolName>,
    /// Status of an overload of the gateway, 400 to 599. Default: 503.
    #[schemars(range(min = 400, max = 599))]
    pub overload_status: Option<u16>,
}

/// An error code of a protocol's own.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(untagged)]
pub enum ErrorCodeConfig {
    Text(String),
    Number(i64),
}

/// Headers beside those of all protocols.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct ProtocolHeadersConfig {
    /// Header in which callers may send the key, beside `Authorization`. Default: none.
    pub api_key: Option<String>,
    /// Header with the version of the protocol. Default: none.
    pub version: Option<VersionHeaderConfig>,
    /// Response header with the request id, beside `x-request-id`. Default: none.
    pub request_id: Option<String>,
}

/// The header with the version of a protocol.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct VersionHeaderConfig {
    /// Name of the header.
    pub name: String,
    /// Its value in requests that the gateway makes itself.
    pub value: String,
}

/// What a member of a success is.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum SuccessMemberConfig {
    List,
    Object,
    Text,
}

impl Default for UsageConfig {
    fn default() -> Self {
        Self {
            at: "/usage".into(),
            input: None,
            cached_input: None,
            cache_write: None,
            output: None,
            reasoning: None,
            total: None,
            seconds: None,
            duration: None,
            input_excludes_cache: false,
        }
    }
}

impl TryFrom<String> for BuiltInProtocolName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        let protocol = Protocol::built_in(&name);
        let protocol = protocol.ok_or_else(|| format!("`{name}` is no built-in protocol"))?;
        Ok(Self(protocol))
    }
}

impl From<ErrorCodeConfig> for Value {
    fn from(code: ErrorCodeConfig) -> Self {
        match code {
            ErrorCodeConfig::Text(text) => text.into(),
            ErrorCodeConfig::Number(number) => number.into(),
        }
    }
}

impl JsonSchema for ErrorCodeConfig {
    fn schema_name() -> Cow<'static, str> {
        "ErrorCodeConfig".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "An error code of a protocol's own.",
            "type": ["string", "integer"]
        })
    }
}

impl JsonSchema for BuiltInProtocolName {
    fn schema_name() -> Cow<'static, str> {
        "BuiltInProtocolName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The name of a built-in protocol.",
            "type": "string",
            "enum": built_in_names()
        })
    }
}

/// One object that may be a name, so that a mistake in either is named: `anyOf` could only say that neither fits.
impl JsonSchema for ErrorFormatConfig {
    fn schema_name() -> Cow<'static, str> {
        "ErrorFormatConfig".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = ErrorBodyTemplateConfig::json_schema(generator);
        schema.insert(
            "description".into(),
            json!("The name of a built-in protocol, or `{body: …}`."),
        );
        schema.insert("type".into(), json!(["string", "object"]));
        schema.insert("if".into(), json!({"type": "string"}));
        schema.insert("then".into(), json!({"enum": built_in_names()}));
        schema
    }
}

/// As that of [`ErrorFormatConfig`].
impl JsonSchema for StreamFormatConfig {
    fn schema_name() -> Cow<'static, str> {
        "StreamFormatConfig".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let names = generator.subschema_for::<StreamFormatName>();
        let mut schema = LastEventConfig::json_schema(generator);
        schema.insert(
            "description".into(),
            json!(
                "How event streams are read and end: the name of a format, or `{last_event: …}`."
            ),
        );
        schema.insert("type".into(), json!(["string", "object"]));
        schema.insert("if".into(), json!({"type": "string"}));
        schema.insert("then".into(), names.to_value());
        schema
    }
}

fn built_in_names() -> Vec<&'static str> {
    Protocol::BUILT_IN.iter().map(|it| it.name()).collect()
}
