//! Image edits as written: what a channel takes of them.

use schemars::JsonSchema;
use serde::Deserialize;

/// Request format of the provider for image edits.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct ImageEditConfig {
    /// The format of requests.
    pub body: ImageBodyFormatConfig,
    /// How `response_format` is handled.
    pub response_format: ResponseFormatHandlingConfig,
}

/// The format of requests for image edits.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum ImageBodyFormatConfig {
    /// The caller's: JSON, or a form with files.
    #[default]
    Unchanged,
    /// JSON, with files as data URLs.
    Json,
    /// `multipart/form-data`, with data URLs as files.
    Multipart,
}

/// How `response_format` is handled, which few providers support.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum ResponseFormatHandlingConfig {
    /// It stays here, and the gateway sees to it.
    #[default]
    Convert,
    /// It goes to the provider.
    Forward,
}
