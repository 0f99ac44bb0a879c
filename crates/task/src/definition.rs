//! A video family as written in `routes.yaml`: requests to the provider, and places of values in its responses.

mod callback;
mod calls;
mod media;
mod native;
mod protocol;
mod responses;
mod rules;
mod scalars;
mod upload;

pub use callback::{
    CallbackSignatureConfig, CallbackSignatureKindConfig, ProviderCallbackConfig,
    SignatureEncodingConfig,
};
pub use calls::{TaskCancelConfig, TaskCreateConfig, TaskQueryConfig, TaskResultConfig};
pub use media::{
    FamilyMediaConfig, MediaRoleConfig, NativeMediaPlaceConfig, OutputDurationConfig,
    UrlSchemeHeaderConfig,
};
pub use native::NativeApiConfig;
pub use protocol::FamilyProtocolConfig;
pub use responses::{
    ErrorMappingConfig, ResponseMappingConfig, StatusMappingConfig, TaskExpiryConfig,
    TimeFormatConfig, TimeUnitConfig, UnknownStatusConfig, UsageMappingConfig,
};
pub use rules::{FieldLimitConfig, FieldRuleConfig};
pub use scalars::{FieldMappingConfig, ValueSourcesConfig};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
pub use upload::MediaUploadConfig;

/// A family of video providers: how tasks are created, queried and mapped.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct VideoFamilyDefinitionConfig {
    /// A built-in family whose sections are used where this one has none. Default: none.
    pub extends: Option<String>,
    /// Name of the vendor, for people. Default: none.
    pub vendor: Option<String>,
    /// Native protocol of the family: the name of a built-in one, or its declaration, as in `protocols`. Requests mapped
    /// from the generic protocol are validated against the schema of a built-in one, too. Default: none.
    pub protocol: Option<FamilyProtocolConfig>,
    /// Request for each medium before a create, whose response has an id that the create names. Default: none.
    pub upload: Option<MediaUploadConfig>,
    /// Request that creates a task. Required, here or in the family that this one extends.
    pub create: Option<TaskCreateConfig>,
    /// Request that queries the status of a task. Required, here or in the family that this one extends.
    pub query: Option<TaskQueryConfig>,
    /// Request that cancels a task. Default: not supported.
    pub cancel: Option<TaskCancelConfig>,
    /// Request for the result of a task that has succeeded, if its status does not have the result. Default: none.
    pub result: Option<TaskResultConfig>,
    /// Callbacks of the provider. Default: none is confirmed or verified.
    pub callback: Option<ProviderCallbackConfig>,
    /// Where the fields of a generic request go; a field without an entry is refused. Required, here or in the
    /// family that this one extends.
    pub request: Option<RequestMappingConfig>,
    /// Where responses have the provider's task id. Required, here or in the family that this one extends.
    pub task_id: Option<ValueSourcesConfig>,
    /// Where responses have the status, and how it is mapped. Required, here or in the family that this one
    /// extends.
    pub status: Option<StatusMappingConfig>,
    /// Where the response to a query has the fields of the generic task status. Required, here or in the family
    /// that this one extends.
    pub response: Option<ResponseMappingConfig>,
    /// Where responses have errors. Default: none.
    pub errors: Option<ErrorMappingConfig>,
    /// The vendor's own API, for callers of the native protocol. Default: only the task id is replaced in its
    /// responses.
    pub native: Option<NativeApiConfig>,
    /// Data URIs in creates: which the provider takes, and which are replaced by URLs of the media store. Default: all
    /// are sent as they are.
    pub media: Option<FamilyMediaConfig>,
}

/// Where the fields of a generic request go.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct RequestMappingConfig {
    /// JSON object that every request starts from. Default: empty.
    pub base: Map<String, Value>,
    /// The channel's model. Required.
    pub model: Option<FieldMappingConfig>,
    /// Prompt.
    pub prompt: Option<FieldMappingConfig>,
    /// Negative prompt.
    pub negative_prompt: Option<FieldMappingConfig>,
    /// Images, videos and audio, by kind.
    pub medias: MediaMappingConfig,
    /// Duration in seconds, an integer.
    pub duration: Option<FieldMappingConfig>,
    /// Resolution tier, in lower case: 480p, 720p, 1080p, 4k.
    pub resolution: Option<FieldMappingConfig>,
    /// Aspect ratio, such as 16:9, or `adaptive`.
    pub ratio: Option<FieldMappingConfig>,
    /// Whether the video has sound.
    pub generate_audio: Option<FieldMappingConfig>,
    /// Whether the video has a watermark.
    pub watermark: Option<FieldMappingConfig>,
    /// Random seed.
    pub seed: Option<FieldMappingConfig>,
    /// URL that is notified of status changes.
    pub callback_url: Option<FieldMappingConfig>,
    /// Rules between fields, for values that work only with some values of others. Default: none.
    pub rules: Vec<FieldRuleConfig>,
    /// Fields that differ by the channel's model, in which `*` matches any characters; of several patterns with the same
    /// field the longest one counts. Default: none.
    pub models: BTreeMap<String, RequestMappingConfig>,
}

/// Where the media of a generic request go, by kind; `{}` is the URL.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct MediaMappingConfig {
    /// First frame of the video.
    pub first_frame: Option<FieldMappingConfig>,
    /// Last frame of the video.
    pub last_frame: Option<FieldMappingConfig>,
    /// Reference image.
    pub reference_image: Option<FieldMappingConfig>,
    /// Reference video, or a video to edit or extend.
    pub reference_video: Option<FieldMappingConfig>,
    /// Reference audio.
    pub reference_audio: Option<FieldMappingConfig>,
}

impl VideoFamilyDefinitionConfig {
    /// This family with the sections of another one where it has none.
    pub fn or(self, base: &Self) -> Self {
        let base = base.clone();
        // Requests of another shape are none of that protocol.
        let inherited = base.protocol.filter(|_| self.request.is_none());
        let inherited = inherited.map(|protocol| protocol.named_after(self.extends.as_deref()));
        Self {
            extends: self.extends,
            vendor: self.vendor.or(base.vendor),
            protocol: self.protocol.or(inherited),
            upload: self.upload.or(base.upload),
            create: self.create.or(base.create),
            query: self.query.or(base.query),
            cancel: self.cancel.or(base.cancel),
            result: self.result.or(base.result),
            callback: self.callback.or(base.callback),
            request: self.request.or(base.request),
            task_id: self.task_id.or(base.task_id),
            status: self.status.or(base.status),
            response: self.response.or(base.response),
            errors: self.errors.or(base.errors),
            native: self.native.or(base.native),
            media: self.media.or(base.media),
        }
    }
}
