//! Responses of the provider as written: status, fields, errors, and what callers of its own protocol get.

use super::scalars::ValueSourcesConfig;
use crate::state::TaskState;
use headgate_scalar::HumanDuration;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

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
    /// Where responses have the time after the creation, in seconds. Without it, it is always `default`.
    #[serde(default)]
    pub at: Option<ValueSourcesConfig>,
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
    /// URL of the video. A success without a video is reported as a failure. Required, unless there is `video_base64`.
    #[serde(default)]
    pub video_url: ValueSourcesConfig,
    /// Where the response has the video itself, in base64, as a JSON pointer: callers get a URL of the gateway. Default: none.
    pub video_base64: Option<String>,
    /// Whether the provider sends the video only to requests with the channel's credential. Default: false.
    #[serde(default)]
    pub is_private: bool,
    /// Progress of the task: a share from 0 to 1, or a percentage. Default: none.
    #[serde(default)]
    pub progress: ValueSourcesConfig,
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

/// Usage of a task: integers, rounded, apart from `credits`.
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
    /// What the task cost, in the unit of the provider's account: credits, or money. Callers do not see it.
    pub credits: ValueSourcesConfig,
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
    /// HTTP statuses that errors in responses under 200 stand for, by code; a trailing `*` matches any rest. A create
    /// whose error is listed was refused; one whose error is not may have been accepted. Default: none.
    pub statuses: BTreeMap<String, u16>,
}
