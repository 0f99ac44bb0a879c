//! The status of a task, and the generic protocol's responses that contain it.

use super::id::TaskId;
use super::state::TaskState;
use bytes::Bytes;
use serde::Serialize;
use std::borrow::Cow;
use std::sync::Arc;

/// The error code if the provider reported success without a video.
pub const INVALID_RESPONSE: &str = "invalid_upstream_response";
/// The error code if a task failed and the provider gave no reason.
pub const FAILED_UPSTREAM: &str = "upstream_failed";
/// The error code if the provider's status is unknown and the family treats unknown statuses as failed.
pub const UNKNOWN_STATUS: &str = "unknown_upstream_status";

/// Where callers get the files of tasks, by the task's id.
const FILES: &str = "/v1/videos";

/// Minimum length of a provider's task id, in bytes, for replacing it in a text: a shorter one could match words.
const ID_BYTES_MIN: usize = 8;

/// The texts by which a provider may name a task: its id, and the last segment of one that is a path. A text that could
/// match words is left out.
pub fn provider_names(task: &TaskId) -> impl Iterator<Item = &str> {
    let segment = task.upstream.rsplit_once('/').map(|(_, last)| last);
    let names = [Some(&*task.upstream), segment].into_iter().flatten();
    names.filter(|name| name.len() >= ID_BYTES_MIN)
}

/// A provider's text in which `id`, the caller's id of the task, replaces the provider's.
pub fn with_callers_id<'t>(text: &'t str, task: &TaskId, id: &str) -> Cow<'t, str> {
    let mut replaced = Cow::from(text);
    for name in provider_names(task) {
        if replaced.contains(name) {
            replaced = replaced.replace(name, id).into();
        }
    }
    replaced
}

/// The status of a task in the generic protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskStatus {
    pub state: TaskState,
    /// The provider's status if the family does not know it, for the header `x-headgate-upstream-status`. Printable
    /// ASCII, at most 64 characters.
    pub upstream_word: Option<String>,
    /// In percent, if the provider reports it.
    pub progress: Option<u8>,
    /// The gateway's public URL, if only the gateway can get the video, with the channel's credential.
    pub private_below: Option<Arc<str>>,
    /// The provider's URL. Always set on success.
    pub video_url: Option<String>,
    /// Seconds; only on success.
    pub video_duration: Option<u64>,
    /// The tier in lower case, such as `720p`.
    pub resolution: Option<String>,
    /// Width to height, never `adaptive`.
    pub ratio: Option<String>,
    /// Unix milliseconds.
    pub created_ms: u64,
    /// Unix milliseconds, not before `created_ms`.
    pub updated_ms: u64,
    /// Always set on failure.
    pub error: Option<TaskError>,
    /// Only on success, if the provider sends it.
    pub usage: Option<TaskUsage>,
}

/// Why a task failed, or why a provider refused a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskError {
    pub code: String,
    pub message: String,
}

/// The usage of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TaskUsage {
    /// Seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_video_duration: Option<u64>,
    /// Seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_video_duration: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    /// Billed seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<u64>,
}

/// The response to a create.
pub fn created(id: &str) -> Bytes {
    json(&CreatedTaskJson {
        task_id: id,
        status: TaskState::Queued,
    })
}

impl TaskStatus {
    /// The response to a query, with the caller's id.
    pub fn render(&self, id: &str, task: &TaskId) -> Bytes {
        let error = self.error.as_ref();
        let message = error.map(|error| with_callers_id(&error.message, task, id));
        let gateways = self.private_below.as_ref();
        let gateways = gateways.map(|below| format!("{below}{FILES}/{id}/content"));
        json(&TaskStatusJson {
            task_id: id,
            status: self.state,
            video_url: gateways.as_deref().or(self.video_url.as_deref()),
            video_duration: self.video_duration,
            error_code: error.map(|error| &*error.code),
            error_message: message.as_deref(),
            resolution: self.resolution.as_deref(),
            ratio: self.ratio.as_deref(),
            model: &task.model,
            created: self.created_ms,
            updated: self.updated_ms,
            usage: self.usage,
        })
    }
}

#[derive(Serialize)]
struct CreatedTaskJson<'a> {
    task_id: &'a str,
    status: TaskState,
}

#[derive(Serialize)]
struct TaskStatusJson<'a> {
    task_id: &'a str,
    status: TaskState,
    #[serde(skip_serializing_if = "Option::is_none")]
    video_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    video_duration: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resolution: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<&'a str>,
    model: &'a str,
    created: u64,
    updated: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<TaskUsage>,
}

fn json(response: &impl Serialize) -> Bytes {
    serde_json::to_vec(response)
        .expect("texts and numbers always serialise")
        .into()
}
