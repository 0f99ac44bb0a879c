//! `image_edit` of a channel in `routes.yaml`: the request format of its provider.

use schemars::JsonSchema;
use serde::Deserialize;

/// Request format of the provider for image edits.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct ImageEditConfig {
    /// Format of the requests. Default: unchanged.
    pub body: ImageEditBodyFormatConfig,
    /// How `response_format` is handled. Default: convert.
    pub response_format: ResponseFormatHandlingConfig,
}

/// The format of requests for image edits.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum ImageEditBodyFormatConfig {
    /// As the caller sent it: JSON, or a form with files.
    #[default]
    Unchanged,
    /// JSON, with files as data URLs.
    Json,
    /// JSON, with files and data URLs as URLs of the media store.
    JsonWithUrls,
    /// `multipart/form-data`, with data URLs as files.
    Multipart,
}

/// How `response_format` is handled, which few providers support.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum ResponseFormatHandlingConfig {
    /// The gateway removes it, and converts the images of the response.
    #[default]
    Convert,
    /// It is sent to the provider.
    Forward,
}
