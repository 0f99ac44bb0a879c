//! A video family as written in `routes.yaml`: requests to the provider, and places of values in its responses.

mod media;
mod scalars;

use super::state::TaskState;
use crate::scalar::HumanDuration;
use headgate_protocol::Protocol;
pub use media::{
    FamilyMediaConfig, MediaRoleConfig, NativeMediaPlaceConfig, OutputDurationConfig,
    UrlSchemeHeaderConfig,
};
pub use scalars::{FieldMappingConfig, ValueSourcesConfig};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A family of video providers: how tasks are created, queried and mapped.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct VideoFamilyDefinitionConfig {
    /// A built-in family whose sections are used where this one has none. Default: none.
    pub extends: Option<String>,
    /// Native protocol of the family. Requests mapped from the generic protocol are validated against its
    /// schema, too. Default: none.
    pub protocol: Option<Protocol>,
    /// Request that creates a task. Required, here or in the family that this one extends.
    pub create: Option<TaskCreateConfig>,
    /// Request that queries the status of a task. Required, here or in the family that this one extends.
    pub query: Option<TaskQueryConfig>,
    /// Request that cancels a task. Default: not supported.
    pub cancel: Option<TaskCancelConfig>,
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
    /// What is replaced in responses to callers of the native protocol, in addition to the task id. Default:
    /// nothing.
    pub native: Option<NativeFieldRewriteConfig>,
    /// Data URIs in creates: which the provider takes, and which are replaced by URLs of the media store. Default: all
    /// are sent as they are.
    pub media: Option<FamilyMediaConfig>,
}

/// A request that creates a task.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct TaskCreateConfig {
    /// HTTP method.
    pub method: String,
    /// Path, appended to the channel's `base_url`.
    pub path: String,
    /// Headers of the request.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Other paths, each with the request fields (JSON pointers) that only this path accepts. A create on one
    /// of the provider's own paths goes to that path; others go to the first path with a field of the request,
    /// else to `path`. Default: none.
    #[serde(default)]
    pub other_paths: BTreeMap<String, ValueSourcesConfig>,
}

/// A request that queries the status of a task, and how long the status is cached.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct TaskQueryConfig {
    /// HTTP method.
    pub method: String,
    /// Path, appended to the channel's `base_url`; `{id}` is replaced by the provider's task id.
    pub path: String,
    /// Headers of the request.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// How long the status of an unfinished task is cached. Raise it to send fewer queries. Default: 2s.
    #[serde(default = "default_cache_ttl")]
    pub cache_ttl: HumanDuration,
    /// How long the status of a finished task is cached. Lower it if URLs in responses expire earlier. Default:
    /// 1h.
    #[serde(default = "default_final_cache_ttl")]
    pub final_cache_ttl: HumanDuration,
    /// Maximum queries and cancels of one channel in any second, 1 to 1000, for all gateways that share their
    /// state. Default: no limit.
    #[schemars(range(min = 1, max = 1000))]
    pub max_per_second: Option<u16>,
}

/// A request that cancels a task.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct TaskCancelConfig {
    /// HTTP method.
    pub method: String,
    /// Path, appended to the channel's `base_url`; `{id}` is replaced by the provider's task id.
    pub path: String,
    /// Headers of the request.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Statuses in which a cancel is sent. In others none is sent, since the same request may have another
    /// meaning there. Default: queued and running.
    #[serde(default)]
    pub statuses: Vec<TaskState>,
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

/// The status of a task and its mapping.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct StatusMappingConfig {
    /// Where responses have the status.
    pub at: ValueSourcesConfig,
    /// Mapping of the provider's statuses to those of the generic protocol.
    pub map: BTreeMap<String, TaskState>,
    /// Meaning of a status that is not in `map`. Default: keep.
    #[serde(default)]
    pub unknown: UnknownStatusConfig,
    /// When the provider ends tasks by itself: one that has not ended then is `expired`. Default: never.
    pub expiry: Option<TaskExpiryConfig>,
}

/// When a provider ends tasks by itself.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct TaskExpiryConfig {
    /// Where responses have the time after the creation, in seconds.
    pub at: ValueSourcesConfig,
    /// The time after the creation if the response has none: the longest that a create may set.
    pub default: HumanDuration,
}

/// Meaning of an unknown status.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum UnknownStatusConfig {
    /// The task is `running` for 24 hours after its creation, then `expired`.
    #[default]
    Keep,
    /// The task is `failed`.
    Fail,
}

/// Where the response to a query has the fields of the generic task status.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct ResponseMappingConfig {
    /// URL of the video. A success without it is reported as a failure.
    pub video_url: ValueSourcesConfig,
    /// Length of the video in seconds, rounded.
    #[serde(default)]
    pub video_duration: ValueSourcesConfig,
    /// Resolution tier of the video.
    #[serde(default)]
    pub resolution: ValueSourcesConfig,
    /// Aspect ratio. Default: the requested one.
    #[serde(default)]
    pub ratio: ValueSourcesConfig,
    /// When the task was created. Default: the time of the create at the gateway.
    #[serde(default)]
    pub created: ValueSourcesConfig,
    /// When the task was last updated. Default: the time of the query.
    #[serde(default)]
    pub updated: ValueSourcesConfig,
    /// Format of `created` and `updated`. Default: Unix seconds.
    #[serde(default)]
    pub times: TimeFormatConfig,
    /// Usage of the task.
    #[serde(default)]
    pub usage: UsageMappingConfig,
}

/// How a provider writes times.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct TimeFormatConfig {
    /// Format of a time. Default: seconds.
    pub unit: TimeUnitConfig,
    /// UTC offset of a `text` without one, such as `+08:00`. Default: UTC.
    #[schemars(regex(pattern = r"^[+-][0-9]{2}:[0-9]{2}$"))]
    #[schemars(extend("patternErrorMessage" = "expected an offset from UTC, such as +08:00"))]
    pub offset: Option<String>,
}

/// Format of a time.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum TimeUnitConfig {
    /// Unix seconds.
    #[default]
    Seconds,
    /// Unix milliseconds.
    Milliseconds,
    /// `YYYY-MM-DD HH:MM:SS` with or without a fraction, or RFC 3339.
    Text,
}

/// Usage of a task, in integers; rounded.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct UsageMappingConfig {
    /// Seconds of input video.
    pub input_video_duration: ValueSourcesConfig,
    /// Seconds of output video.
    pub output_video_duration: ValueSourcesConfig,
    /// Total tokens.
    pub total_tokens: ValueSourcesConfig,
    /// Billed seconds.
    pub duration: ValueSourcesConfig,
}

/// Where responses have errors.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct ErrorMappingConfig {
    /// Where responses have the code of an error.
    pub code: ValueSourcesConfig,
    /// Where responses have the message of an error.
    pub message: ValueSourcesConfig,
    /// Codes of refusals that concern the account or are temporary, so that a create may fail over to another
    /// channel; a trailing `*` matches any rest. Default: none.
    pub failover_codes: Vec<String>,
}

/// What is replaced in responses to callers of the native protocol, in addition to the task id.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct NativeFieldRewriteConfig {
    /// Where responses have the provider's model, which is replaced by the platform model. Default: none.
    pub model: ValueSourcesConfig,
    /// Where requests have ids of other tasks; `*` matches all elements of an array. Default: none.
    pub ids_in_request: ValueSourcesConfig,
    /// Where responses have ids of other tasks; `*` matches all elements of an array. Default: none.
    pub ids_in_response: ValueSourcesConfig,
}

fn default_cache_ttl() -> HumanDuration {
    HumanDuration::seconds(2)
}

fn default_final_cache_ttl() -> HumanDuration {
    HumanDuration::seconds(60 * 60)
}

impl VideoFamilyDefinitionConfig {
    /// This family with the sections of another one where it has none.
    pub fn or(self, base: &Self) -> Self {
        let base = base.clone();
        // Requests of another shape are none of that protocol.
        let inherited = base.protocol.filter(|_| self.request.is_none());
        Self {
            extends: self.extends,
            protocol: self.protocol.or(inherited),
            create: self.create.or(base.create),
            query: self.query.or(base.query),
            cancel: self.cancel.or(base.cancel),
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
