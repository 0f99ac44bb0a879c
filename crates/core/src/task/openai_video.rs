//! Tasks in the format of OpenAI's video API: the object `video`, and the fields of creates by their names there.
//!
//! The shapes are those of `types/video.py` and `types/video_delete_response.py` in OpenAI's SDK.

use super::id::TaskId;
use super::state::TaskState;
use super::status::{TaskStatus, with_callers_id};
use bytes::Bytes;
use headgate_protocol::fault::Fault;
use serde::Serialize;

/// Fields of generic creates, and what they are called in this format.
const NAMES: [(&str, &str); 7] = [
    ("medias[0].url", "input_reference"),
    ("medias[0].role", "input_reference"),
    ("medias[0]", "input_reference"),
    ("medias", "input_reference"),
    ("duration", "seconds"),
    ("resolution", "size"),
    ("ratio", "size"),
];

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

/// The fault of a generic create, with the names of fields in this format.
pub fn with_field_names(mut fault: Fault) -> Fault {
    for (generic, name) in NAMES {
        if fault.param.as_deref() == Some(generic) {
            fault.param = Some(name.to_owned());
        }
        let quoted = format!("`{generic}`");
        if fault.message.contains(&quoted) {
            fault.message = fault.message.replace(&quoted, &format!("`{name}`"));
        }
    }
    fault
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
    let short: u32 = match status.resolution.as_deref()? {
        "4k" => 2160,
        "2k" => 1440,
        tier => tier.strip_suffix('p')?.parse().ok()?,
    };
    let (width, height) = status.ratio.as_deref()?.split_once(':')?;
    let (width, height): (u32, u32) = (width.parse().ok()?, height.parse().ok()?);
    if short > 10_000 || width == 0 || height == 0 {
        return None;
    }
    // Encoders need even sides.
    let long = |longer: u32, shorter: u32| (short * longer / shorter).next_multiple_of(2);
    Some(match width >= height {
        true => format!("{}x{short}", long(width, height)),
        false => format!("{short}x{}", long(height, width)),
    })
}

fn json(response: &impl Serialize) -> Bytes {
    serde_json::to_vec(response)
        .expect("texts and numbers always serialise")
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_protocol::fault::FaultKind;

    #[test]
    fn a_fault_of_the_generic_create_names_the_fields_of_this_one() {
        for (param, message, expected) in [
            (
                "duration",
                "`duration` must be 5",
                ("seconds", "`seconds` must be 5"),
            ),
            (
                "ratio",
                "use `ratio` with `resolution`",
                ("size", "use `size` with `size`"),
            ),
            (
                "medias[0].url",
                "`medias[0].url` is no image",
                ("input_reference", "`input_reference` is no image"),
            ),
            (
                "prompt",
                "duration of `prompt`",
                ("prompt", "duration of `prompt`"),
            ),
        ] {
            let fault = with_field_names(Fault::new(FaultKind::Invalid, message).param(param));
            assert_eq!(
                (fault.param.as_deref(), &*fault.message),
                (Some(expected.0), expected.1)
            );
        }
    }
}
