//! Uploads of media before a create, as written.

use super::scalars::ValueSourcesConfig;
use crate::generic::MediaRole;
use headgate_scalar::ByteSize;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// A request for each medium of a create, before the create, whose response has an id that the create names.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct MediaUploadConfig {
    /// HTTP method.
    pub method: String,
    /// Path, appended to the channel's `base_url`; `{model}` is replaced by the channel's model, which keeps its slashes
    /// as `{+model}`.
    pub path: String,
    /// Headers of the request; `{uuid}` is replaced by a new UUID.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Fields of a form: a text, or `{file}` for the content of a data URI, or `{url}` for a URL. Of the fields with
    /// `{file}` and `{url}`, those for which the medium has a value are sent; if there is none for URLs, the gateway fetches
    /// the file. Exactly one of `form` and `body`.
    #[serde(default)]
    pub form: BTreeMap<String, String>,
    /// JSON that is sent; `{}` stands for the URL or data URI, `{base64}` and `{media_type}` for parts of a data URI.
    pub body: Option<Value>,
    /// Where the response has the id, which is the value of the medium in `request.medias`; a JSON pointer.
    pub id: ValueSourcesConfig,
    /// Roles of the media that are uploaded. Required.
    pub roles: Vec<MediaRole>,
    /// Largest file; a larger one gets 413. Default: `20MiB`.
    pub max_size: Option<ByteSize>,
}
