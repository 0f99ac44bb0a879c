//! A family of video providers as built: its requests, and how its responses are mapped.

mod body_builder;
mod build;
pub mod call;
pub(super) mod json_fragment;
mod media;
mod media_rule;
mod native;
mod request;
mod requested_video;
mod response;
mod source;
#[cfg(test)]
mod tests;

pub use build::InvalidFamily;
pub use call::{RequestTemplate, TaskCreateTemplate};
pub use media::{FamilyMediaRole, RequestMediaUrl};
pub use media_rule::{MediaRoleRule, RequestedOutputDuration};
pub use request::{IgnoredField, MappedRequest, UnsupportedFieldPolicy};
pub use requested_video::RequestedVideo;
pub use response::{InvalidTaskResponse, UpstreamError};

use super::generic::GenericField;
use super::state::TaskState;
use super::time::TimeFormat;
use body_builder::{RequestBodyPointer, ValueTemplate};
use headgate_protocol::Protocol;
use media::FamilyMediaRules;
use serde_json::Value;
use source::ValueSourceList;
use std::sync::Arc;
use std::time::Duration;

/// A family of video providers. It only maps data, without I/O.
#[derive(Debug)]
pub struct VideoFamily {
    pub name: Arc<str>,
    /// The protocol of callers who use the family's native API, if there is one.
    pub protocol: Option<Protocol>,
    pub create: TaskCreateTemplate,
    pub query: TaskQueryCall,
    /// `None` if tasks cannot be cancelled.
    pub cancel: Option<TaskCancelCall>,
    request: RequestMapping,
    task_id: ValueSourceList,
    status: StatusMapping,
    response: ResponseFieldSources,
    errors: ErrorMapping,
    native: NativeFieldPointers,
    media: FamilyMediaRules,
}

impl VideoFamily {
    /// Whether the provider sends status changes to the URL in the request's member `callback_url`.
    pub fn sends_callbacks(&self) -> bool {
        let field = &self.request.fields[GenericField::CallbackUrl as usize];
        matches!(field, FieldMapping::Put { to, .. } if to.is_member("callback_url"))
    }

    /// Whether the caller's callback URL reaches the provider elsewhere than in that member.
    pub fn passes_callback_url_on(&self) -> bool {
        let field = &self.request.fields[GenericField::CallbackUrl as usize];
        matches!(field, FieldMapping::Put { to, .. } if !to.is_member("callback_url"))
    }
}

/// How a task is queried, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskQueryCall {
    pub call: RequestTemplate,
    /// How long a response is cached while the task is running.
    pub cache_ttl: Duration,
    /// How long a response is cached once the task has ended.
    pub final_cache_ttl: Duration,
    /// The maximum number of queries and cancels per channel in any second; `None` for no limit.
    pub max_per_second: Option<u16>,
}

impl TaskQueryCall {
    /// How long a response about a task in this state is cached.
    pub fn cache_ttl(&self, state: TaskState) -> Duration {
        match state.is_terminal() {
            true => self.final_cache_ttl,
            false => self.cache_ttl,
        }
    }
}

/// How a task is cancelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskCancelCall {
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
        to: RequestBodyPointer,
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
    at: ValueSourceList,
    words: Vec<(String, TaskState)>,
    /// Whether a task with an unknown status counts as running for a while.
    keeps_unknown: bool,
    /// `None` if the provider never ends tasks by itself.
    expiry: Option<TaskExpiry>,
}

/// When a provider ends tasks by itself.
#[derive(Debug)]
struct TaskExpiry {
    /// Where responses have the time after the creation, in seconds.
    at: ValueSourceList,
    /// That time if the response has none.
    default: Duration,
}

#[derive(Debug)]
struct ResponseFieldSources {
    video_url: ValueSourceList,
    video_duration: ValueSourceList,
    resolution: ValueSourceList,
    ratio: ValueSourceList,
    created: ValueSourceList,
    updated: ValueSourceList,
    times: TimeFormat,
    usage: UsageMapping,
}

#[derive(Debug)]
struct UsageMapping {
    input_video_duration: ValueSourceList,
    output_video_duration: ValueSourceList,
    total_tokens: ValueSourceList,
    duration: ValueSourceList,
}

#[derive(Debug)]
struct ErrorMapping {
    code: ValueSourceList,
    message: ValueSourceList,
    failover_codes: Vec<String>,
}

#[derive(Debug)]
struct NativeFieldPointers {
    model: ValueSourceList,
    ids_in_request: ValueSourceList,
    ids_in_response: ValueSourceList,
}
