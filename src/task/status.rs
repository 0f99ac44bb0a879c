//! How a task stands, and the generic protocol's answers that tell it.

use super::id::TaskId;
use super::state::TaskState;
use bytes::Bytes;
use serde::Serialize;

/// Code of a task whose provider reported success without a video.
pub const INVALID_RESPONSE: &str = "invalid_upstream_response";
/// Code of a task that failed without the provider saying why.
pub const FAILED_UPSTREAM: &str = "upstream_failed";
/// Code of a task whose provider's status is not known, where the family has that mean failure.
pub const UNKNOWN_STATUS: &str = "unknown_upstream_status";

/// How a task stands, as the generic protocol tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskStatus {
    pub state: TaskState,
    /// What the provider called it, where that is no word the family knows: for the header
    /// `x-headgate-upstream-status`. Printable ASCII, at most 64 characters.
    pub upstream_word: Option<String>,
    /// On success, always.
    pub video_url: Option<String>,
    /// Seconds, on success.
    pub video_duration: Option<u64>,
    /// Tier in lower case.
    pub resolution: Option<String>,
    /// Width to height, never `adaptive`.
    pub ratio: Option<String>,
    /// Milliseconds since 1970.
    pub created_ms: u64,
    /// Milliseconds since 1970, not before `created_ms`.
    pub updated_ms: u64,
    /// On failure, always.
    pub error: Option<TaskError>,
    /// On success, if the provider tells it.
    pub usage: Option<TaskUsage>,
}

/// Why a task failed, or a request of a provider's was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskError {
    pub code: String,
    pub message: String,
}

/// What a task used.
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
    /// Seconds that are billed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<u64>,
}

/// The answer to a create.
pub fn created(id: &str) -> Bytes {
    json(&CreatedTaskJson {
        task_id: id,
        status: TaskState::Queued,
    })
}

impl TaskStatus {
    /// The answer to a query, under the id that the caller has.
    pub fn render(&self, id: &str, task: &TaskId) -> Bytes {
        let error = self.error.as_ref();
        json(&TaskStatusJson {
            task_id: id,
            status: self.state,
            video_url: self.video_url.as_deref(),
            video_duration: self.video_duration,
            error_code: error.map(|error| &*error.code),
            error_message: error.map(|error| &*error.message),
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

fn json(answer: &impl Serialize) -> Bytes {
    serde_json::to_vec(answer)
        .expect("texts and numbers always serialise")
        .into()
}
