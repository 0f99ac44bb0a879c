//! A family of video providers as built: its requests, and how its responses are mapped.

mod body_builder;
mod build;
pub mod call;
pub(super) mod json_fragment;
mod native;
mod request;
mod response;
mod source;
#[cfg(test)]
mod tests;

pub use build::InvalidFamily;
pub use call::{RequestTemplate, TaskCreate};
pub use request::{IgnoredField, MappedRequest, UnsupportedFieldPolicy};
pub use response::{UnreadableResponse, UpstreamError};

use super::state::TaskState;
use super::time::TimeFormat;
use crate::protocol::Protocol;
use body_builder::{TargetPointer, ValueTemplate};
use serde_json::Value;
use source::ValueSources;
use std::sync::Arc;
use std::time::Duration;

/// A family of video providers. It only maps data, without I/O.
#[derive(Debug)]
pub struct VideoFamily {
    pub name: Arc<str>,
    /// The protocol of callers who use the family's native API, if there is one.
    pub protocol: Option<Protocol>,
    pub create: TaskCreate,
    pub query: TaskQuery,
    /// `None` if tasks cannot be cancelled.
    pub cancel: Option<TaskCancel>,
    request: RequestMapping,
    task_id: ValueSources,
    status: StatusMapping,
    response: ResponseMapping,
    errors: ErrorMapping,
    native: NativeMapping,
}

/// How a task is queried, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskQuery {
    pub call: RequestTemplate,
    /// How long a response is cached while the task is running.
    pub cache_ttl: Duration,
    /// How long a response is cached once the task has ended.
    pub final_cache_ttl: Duration,
    /// The maximum number of queries and cancels per channel in any second; `None` for no limit.
    pub max_per_second: Option<u16>,
}

impl TaskQuery {
    /// How long a response about a task in this state is cached.
    pub fn cache_ttl_of(&self, state: TaskState) -> Duration {
        match state.is_terminal() {
            true => self.final_cache_ttl,
            false => self.cache_ttl,
        }
    }
}

/// How a task is cancelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskCancel {
    pub call: RequestTemplate,
    /// The states in which the provider accepts a cancel.
    pub statuses: Vec<TaskState>,
}

/// How the fields of a generic request are mapped.
#[derive(Debug)]
struct RequestMapping {
    base: ValueTemplate,
    model: FieldMapping,
    /// In the order of `GenericField::ALL`.
    fields: [FieldMapping; 9],
    /// In the order of `MediaRole`.
    medias: [FieldMapping; 5],
}

/// The mapping of a field.
#[derive(Debug)]
enum FieldMapping {
    Put {
        to: TargetPointer,
        value: ValueTemplate,
        choices: AllowedValues,
    },
    Refuse(String),
    Ignore(String),
}

/// The values of a field that a provider supports.
#[derive(Debug)]
enum AllowedValues {
    Any,
    /// Each value with its replacement, if there is one.
    Of(Vec<(String, Option<Value>)>),
}

#[derive(Debug)]
struct StatusMapping {
    at: ValueSources,
    words: Vec<(String, TaskState)>,
    /// Whether a task with an unknown status counts as running for a while.
    keeps_unknown: bool,
}

#[derive(Debug)]
struct ResponseMapping {
    video_url: ValueSources,
    video_duration: ValueSources,
    resolution: ValueSources,
    ratio: ValueSources,
    created: ValueSources,
    updated: ValueSources,
    times: TimeFormat,
    usage: UsageMapping,
}

#[derive(Debug)]
struct UsageMapping {
    input_video_duration: ValueSources,
    output_video_duration: ValueSources,
    total_tokens: ValueSources,
    duration: ValueSources,
}

#[derive(Debug)]
struct ErrorMapping {
    code: ValueSources,
    message: ValueSources,
    failover_codes: Vec<String>,
}

#[derive(Debug)]
struct NativeMapping {
    model: ValueSources,
    ids_in_request: ValueSources,
    ids_in_response: ValueSources,
}
