//! A family of video providers as built: what it is asked, and how its answers are read.

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

/// A family of video providers. It is data; all it does is pure.
#[derive(Debug)]
pub struct VideoFamily {
    pub name: Arc<str>,
    /// The protocol of callers who speak it themselves, if there is one.
    pub protocol: Option<Protocol>,
    pub create: TaskCreate,
    pub query: TaskQuery,
    /// None where tasks cannot be cancelled.
    pub cancel: Option<TaskCancel>,
    request: RequestMapping,
    task_id: ValueSources,
    status: StatusMapping,
    response: ResponseMapping,
    errors: ErrorMapping,
    native: NativeMapping,
}

/// How a task is asked for, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskQuery {
    pub call: RequestTemplate,
    /// How long an answer is told again while the task is under way.
    pub fresh: Duration,
    /// How long an answer is told again once the task is over.
    pub fresh_when_done: Duration,
    /// Most queries and cancels of one channel in any second; as many as come where absent.
    pub per_second: Option<u16>,
}

impl TaskQuery {
    /// How long an answer is told again about a task that stands so.
    pub fn fresh_while(&self, state: TaskState) -> Duration {
        match state.is_terminal() {
            true => self.fresh_when_done,
            false => self.fresh,
        }
    }
}

/// How a task is cancelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskCancel {
    pub call: RequestTemplate,
    /// States in which the provider may be asked to.
    pub only: Vec<TaskState>,
}

/// Where the fields of a generic request go.
#[derive(Debug)]
struct RequestMapping {
    base: ValueTemplate,
    model: FieldMapping,
    /// In the order of `Field::ALL`.
    fields: [FieldMapping; 9],
    /// In the order of `MediaKind::ALL`.
    medias: [FieldMapping; 5],
}

/// What becomes of a field.
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

/// The values of a field that a provider knows.
#[derive(Debug)]
enum AllowedValues {
    Any,
    /// Each with what stands for it, if it is not itself.
    Of(Vec<(String, Option<Value>)>),
}

#[derive(Debug)]
struct StatusMapping {
    at: ValueSources,
    words: Vec<(String, TaskState)>,
    /// Whether an unknown word leaves the task running for a while.
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
    elsewhere: Vec<String>,
}

#[derive(Debug)]
struct NativeMapping {
    model: ValueSources,
    ids_in_request: ValueSources,
    ids_in_answer: ValueSources,
}
