//! Tasks in the format of OpenAI's video API: the object `video`, and the fields of creates by their names there.
//!
//! The shapes are those of `types/video.py` and `types/video_delete_response.py` in OpenAI's SDK.

use super::id::TaskId;
use super::resolution::video_size;
use super::state::TaskState;
use super::status::{TaskStatus, with_callers_id};
use bytes::Bytes;
use headgate_protocol::caller_fields::CallerFieldNames;
use serde::Serialize;

/// What fields of generic creates are called in this format.
pub const FIELD_NAMES: CallerFieldNames = CallerFieldNames {
    fields: &[
        ("medias", "input_reference"),
        ("duration", "seconds"),
        ("resolution", "size"),
        ("ratio", "size"),
    ],
    // This format has one medium, without a role, and no -1.
    phrases: &[
        ("`resolution`", "`size` (its resolution)"),
        ("`ratio`", "`size` (its ratio)"),
        (
            "a medium with the role `first_frame`",
            "an image in `input_reference`",
        ),
        (" in the role `first_frame`", ""),
        (" for the role `first_frame`", ""),
        (" of the role `first_frame`", ""),
        (
            " must be adaptive",
            " is chosen by the model; send a resolution such as 720p, or no `size`",
        ),
        (", or -1 to let the model choose", ""),
        (", or -1", ""),
    ],
};

/// The response to a create.
pub fn created(id: &str, task: &TaskId) -> Bytes {
    json(&VideoJson {
        status: status_word(TaskState::Queued),
        created_at: task.created,
        seconds: task.requested.seconds.as_deref(),
        size: task.requested.size.as_deref(),
        ..VideoJson::new(id, task)
    })
}

/// The response to a query, with the caller's id.
pub fn render(status: &TaskStatus, id: &str, task: &TaskId) -> Bytes {
    let seconds = status.video_duration.map(|seconds| seconds.to_string());
    let size = reported_size(status);
    let error = TaskFailure::from_status(status, id, task);
    json(&VideoJson {
        status: status_word(status.state),
        progress: progress(status),
        created_at: status.created_ms / 1_000,
        completed_at: (status.state == TaskState::Succeeded).then_some(status.updated_ms / 1_000),
        seconds: seconds.as_deref().or(task.requested.seconds.as_deref()),
        size: task.requested.size.as_deref().or(size.as_deref()),
        error: error.as_ref(),
        ..VideoJson::new(id, task)
    })
}

/// The response to a delete.
pub fn deleted(id: &str) -> Bytes {
    json(&DeletedVideoJson {
        id,
        object: "video.deleted",
        deleted: true,
    })
}

/// The event that a task has ended, as OpenAI's webhooks have it (`types/webhooks` of its SDK); `None` while it has not.
pub fn event(event_id: &str, id: &str, state: TaskState, created_s: u64) -> Option<Bytes> {
    let kind = match status_word(state) {
        "completed" => "video.completed",
        "failed" => "video.failed",
        _ => return None,
    };
    Some(json(&VideoEventJson {
        id: event_id,
        object: "event",
        created_at: created_s,
        kind,
        data: VideoReferenceJson { id },
    }))
}

/// Why a task has no video. This format has one status for that.
#[derive(Serialize)]
pub struct TaskFailure {
    pub code: String,
    pub message: String,
}

impl TaskFailure {
    /// `None` unless the task has ended without a video.
    pub fn from_status(status: &TaskStatus, id: &str, task: &TaskId) -> Option<Self> {
        let (code, message) = match (status.state, &status.error) {
            (TaskState::Queued | TaskState::Running | TaskState::Succeeded, _) => return None,
            (TaskState::Cancelled, _) => ("cancelled", "the task was cancelled"),
            (TaskState::Expired, _) => ("expired", "the task expired before it had a video"),
            (TaskState::Failed, Some(error)) => (&*error.code, &*error.message),
            (TaskState::Failed, None) => ("failed", "the provider gave no error message"),
        };
        Some(Self {
            code: code.to_owned(),
            message: with_callers_id(message, task, id).into_owned(),
        })
    }
}

#[derive(Serialize)]
struct VideoJson<'a> {
    id: &'a str,
    object: &'static str,
    model: &'a str,
    status: &'static str,
    /// Percent.
    progress: u8,
    created_at: u64,
    completed_at: Option<u64>,
    expires_at: Option<u64>,
    seconds: Option<&'a str>,
    size: Option<&'a str>,
    remixed_from_video_id: Option<&'a str>,
    error: Option<&'a TaskFailure>,
}

#[derive(Serialize)]
struct VideoEventJson<'a> {
    id: &'a str,
    object: &'static str,
    /// Unix seconds.
    created_at: u64,
    #[serde(rename = "type")]
    kind: &'static str,
    data: VideoReferenceJson<'a>,
}

#[derive(Serialize)]
struct VideoReferenceJson<'a> {
    id: &'a str,
}

#[derive(Serialize)]
struct DeletedVideoJson<'a> {
    id: &'a str,
    object: &'static str,
    deleted: bool,
}

impl<'a> VideoJson<'a> {
    fn new(id: &'a str, task: &'a TaskId) -> Self {
        Self {
            id,
            object: "video",
            model: &task.model,
            status: status_word(TaskState::Queued),
            progress: 0,
            created_at: task.created,
            completed_at: None,
            expires_at: None,
            seconds: None,
            size: None,
            remixed_from_video_id: None,
            error: None,
        }
    }
}

fn status_word(state: TaskState) -> &'static str {
    match state {
        TaskState::Queued => "queued",
        TaskState::Running => "in_progress",
        TaskState::Succeeded => "completed",
        TaskState::Failed | TaskState::Cancelled | TaskState::Expired => "failed",
    }
}

/// Percent: what the provider reports, else 0 until the video is there, which only a completed task has.
fn progress(status: &TaskStatus) -> u8 {
    match status.state {
        TaskState::Succeeded => 100,
        _ => status.progress.unwrap_or(0).min(99),
    }
}

/// The size by resolution and ratio, both as the provider reports them.
fn reported_size(status: &TaskStatus) -> Option<String> {
    video_size(status.resolution.as_deref()?, status.ratio.as_deref()?)
}

fn json(response: &impl Serialize) -> Bytes {
    serde_json::to_vec(response)
        .expect("texts and numbers always serialise")
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_a_task_is_an_event() {
        for (state, kind) in [
            (TaskState::Queued, None),
            (TaskState::Running, None),
            (TaskState::Succeeded, Some("video.completed")),
            (TaskState::Failed, Some("video.failed")),
            (TaskState::Cancelled, Some("video.failed")),
            (TaskState::Expired, Some("video.failed")),
        ] {
            let event = event("evt_1", "task_1", state, 7);
            let event = event.map(|event| String::from_utf8(event.into()).unwrap());
            let expected = kind.map(|kind| {
                format!(
                    r#"{{"id":"evt_1","object":"event","created_at":7,"type":"{kind}","data":{{"id":"task_1"}}}}"#
                )
            });
            assert_eq!(event, expected);
        }
    }
}
