//! Image edits as written: what a channel takes of them.

use schemars::JsonSchema;
use serde::Deserialize;

/// How the provider wants image edits.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct ImageEditConfig {
    /// The shape of requests.
    pub body: ImageBodyFormatConfig,
    /// What becomes of `response_format`.
    pub response_format: ResponseFormatHandlingConfig,
}

/// The shape of requests for image edits.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum ImageBodyFormatConfig {
    /// The caller's: JSON, or a form with files.
    #[default]
    AsSent,
    /// JSON, with files as data URLs.
    Json,
    /// `multipart/form-data`, with data URLs as files.
    Form,
}

/// What becomes of `response_format`, which few providers know.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum ResponseFormatHandlingConfig {
    /// It stays here, and the gateway sees to it.
    #[default]
    Consume,
    /// It goes to the provider.
    Pass,
}
