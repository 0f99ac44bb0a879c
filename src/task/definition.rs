//! A family as `routes.yaml` writes it: how it is asked, and where its answers hold what.

mod scalars;

use super::state::TaskState;
use crate::protocol::Protocol;
use crate::scalar::HumanDuration;
pub use scalars::{FieldMappingConfig, ValueSourcesConfig};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A family of video providers: how tasks are created, asked for and read.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct VideoFamilyConfig {
    /// A shipped family, whose sections stand where this one has none of its own.
    pub like: Option<String>,
    /// The protocol of callers who speak the family themselves. Requests that were mapped from the generic
    /// protocol are checked against its schema, too.
    pub protocol: Option<Protocol>,
    /// How a task is created.
    pub create: Option<TaskCreateConfig>,
    /// How a task is asked for.
    pub query: Option<TaskQueryConfig>,
    /// How a task is cancelled; tasks cannot be, if absent.
    pub cancel: Option<TaskCancelConfig>,
    /// Where the fields of a generic request go; a field without a line is refused.
    pub request: Option<RequestMappingConfig>,
    /// Where answers hold the provider's task id.
    pub task_id: Option<ValueSourcesConfig>,
    /// Where answers hold the status, and what its words mean.
    pub status: Option<StatusMappingConfig>,
    /// Where the answer to a query holds what callers of the generic protocol get.
    pub answer: Option<ResponseMappingConfig>,
    /// Where answers hold errors.
    pub errors: Option<ErrorMappingConfig>,
    /// What is replaced in answers that callers get in the family's own shape.
    pub native: Option<NativeMappingConfig>,
}

/// A request that creates a task.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct TaskCreateConfig {
    /// HTTP method.
    pub method: String,
    /// Path that is appended to the channel's `base_url`.
    pub path: String,
    /// Headers that the provider wants for it.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Other paths for creates, each with the fields of a request (JSON pointers) that only it takes. A create
    /// whose caller used one of the provider's paths goes to that path; others go to the first path with a field
    /// that the request has, else to `path`.
    #[serde(default)]
    pub other_paths: BTreeMap<String, ValueSourcesConfig>,
}

/// A request that asks how a task stands, and how often that is asked.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct TaskQueryConfig {
    /// HTTP method.
    pub method: String,
    /// Path that is appended to the channel's `base_url`; `{id}` is the provider's task id.
    pub path: String,
    /// Headers that the provider wants for it.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// How long an answer is told again while the task is under way, before the provider is asked anew.
    #[serde(default = "fresh")]
    pub fresh: HumanDuration,
    /// The same once the task is over.
    #[serde(default = "fresh_when_done")]
    pub fresh_when_done: HumanDuration,
    /// Most queries and cancels of one channel in any second, by all gateways that share their state; as
    /// many as come, if absent.
    #[schemars(range(min = 1, max = 1000))]
    pub per_second: Option<u16>,
}

/// A request that cancels a task.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct TaskCancelConfig {
    /// HTTP method.
    pub method: String,
    /// Path that is appended to the channel's `base_url`; `{id}` is the provider's task id.
    pub path: String,
    /// Headers that the provider wants for it.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// States in which a task can be cancelled. In others the provider is not asked, which may mean
    /// something else by the same request. Any state that is not the last one, if absent.
    #[serde(default)]
    pub only: Vec<TaskState>,
}

/// Where the fields of a generic request go.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct RequestMappingConfig {
    /// What every request begins with.
    pub base: Map<String, Value>,
    /// The provider's model.
    pub model: Option<FieldMappingConfig>,
    /// Text of what to show.
    pub prompt: Option<FieldMappingConfig>,
    /// Text of what not to show.
    pub negative_prompt: Option<FieldMappingConfig>,
    /// Images, videos and sound to start from, by their kind.
    pub medias: MediaMappingConfig,
    /// Whole seconds.
    pub duration: Option<FieldMappingConfig>,
    /// Tier in lower case: 480p, 720p, 1080p, 4k.
    pub resolution: Option<FieldMappingConfig>,
    /// Width to height, such as 16:9; or adaptive.
    pub ratio: Option<FieldMappingConfig>,
    /// Whether there is sound.
    pub generate_audio: Option<FieldMappingConfig>,
    /// Whether there is a mark on the video.
    pub watermark: Option<FieldMappingConfig>,
    /// Random seed.
    pub seed: Option<FieldMappingConfig>,
    /// URL that is told of changes.
    pub callback_url: Option<FieldMappingConfig>,
}

/// Where media of a generic request go, by their kind; `{}` is the URL.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct MediaMappingConfig {
    /// Image that the video begins with.
    pub first_frame: Option<FieldMappingConfig>,
    /// Image that the video ends with.
    pub last_frame: Option<FieldMappingConfig>,
    /// Image to take something from.
    pub reference_image: Option<FieldMappingConfig>,
    /// Video to take something from, to edit or to extend.
    pub reference_video: Option<FieldMappingConfig>,
    /// Sound to take something from.
    pub reference_audio: Option<FieldMappingConfig>,
}

/// The status of a task, and what the provider's words for it mean.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct StatusMappingConfig {
    /// Where answers hold the status.
    pub at: ValueSourcesConfig,
    /// The provider's words to those of the generic protocol.
    pub map: BTreeMap<String, TaskState>,
    /// What a word means that is not in `map`.
    #[serde(default)]
    pub unknown: UnknownStatusConfig,
}

/// What an unknown status means.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum UnknownStatusConfig {
    /// The task is running for 24 hours after it was created, and expired afterwards.
    #[default]
    Keep,
    /// The task has failed.
    Fail,
}

/// Where the answer to a query holds what callers of the generic protocol get.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct ResponseMappingConfig {
    /// URL of the video; a success without it is a failure.
    pub video_url: ValueSourcesConfig,
    /// Length of the video in seconds; rounded.
    #[serde(default)]
    pub video_duration: ValueSourcesConfig,
    /// Tier of the video.
    #[serde(default)]
    pub resolution: ValueSourcesConfig,
    /// Width to height; what was asked for, if the answer has none.
    #[serde(default)]
    pub ratio: ValueSourcesConfig,
    /// When the task was created.
    #[serde(default)]
    pub created: ValueSourcesConfig,
    /// When it changed last.
    #[serde(default)]
    pub updated: ValueSourcesConfig,
    /// How `created` and `updated` are written.
    #[serde(default)]
    pub times: TimeFormatConfig,
    /// What the task used.
    #[serde(default)]
    pub usage: UsageMappingConfig,
}

/// How a family writes times.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct TimeFormatConfig {
    /// How a time is written.
    pub unit: TimeUnitConfig,
    /// Zone of a `text` that names none, as `+08:00`; UTC if absent.
    #[schemars(regex(pattern = r"^[+-][0-9]{2}:[0-9]{2}$"))]
    #[schemars(extend("patternErrorMessage" = "expected an offset from UTC, such as +08:00"))]
    pub offset: Option<String>,
}

/// How a time is written.
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

/// What a task used, in whole numbers; rounded.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct UsageMappingConfig {
    /// Seconds of video that were put in.
    pub input_video_duration: ValueSourcesConfig,
    /// Seconds of video that were made.
    pub output_video_duration: ValueSourcesConfig,
    /// Tokens in all.
    pub total_tokens: ValueSourcesConfig,
    /// Seconds that are billed.
    pub duration: ValueSourcesConfig,
}

/// Where answers hold errors.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct ErrorMappingConfig {
    /// The error's code.
    pub code: ValueSourcesConfig,
    /// The error's message.
    pub message: ValueSourcesConfig,
    /// Codes with which a create was refused for reasons of the account or the moment, so that
    /// another channel may take it; `*` at the end stands for the rest of a code.
    pub elsewhere: Vec<String>,
}

/// What is replaced in answers that callers get in the family's own shape, beside the task id.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct NativeMappingConfig {
    /// Where answers hold the provider's model, for which the platform model stands.
    pub model: ValueSourcesConfig,
    /// Where requests hold ids of other tasks; `*` stands for all elements of a list.
    pub ids_in_request: ValueSourcesConfig,
    /// Where answers hold ids of other tasks; `*` stands for all elements of a list.
    pub ids_in_answer: ValueSourcesConfig,
}

fn fresh() -> HumanDuration {
    HumanDuration::seconds(2)
}

fn fresh_when_done() -> HumanDuration {
    HumanDuration::seconds(60 * 60)
}

impl VideoFamilyConfig {
    /// This family with the sections of another one where it has none.
    pub fn or(self, base: &Self) -> Self {
        let base = base.clone();
        // Requests of another shape are none of that protocol.
        let inherited = base.protocol.filter(|_| self.request.is_none());
        Self {
            like: self.like,
            protocol: self.protocol.or(inherited),
            create: self.create.or(base.create),
            query: self.query.or(base.query),
            cancel: self.cancel.or(base.cancel),
            request: self.request.or(base.request),
            task_id: self.task_id.or(base.task_id),
            status: self.status.or(base.status),
            answer: self.answer.or(base.answer),
            errors: self.errors.or(base.errors),
            native: self.native.or(base.native),
        }
    }
}
