//! Maps a family's responses to the generic protocol.

use super::source::SentCreate;
use super::task_url::begins_with_http;
use super::{ResponseFieldSources, UsageMapping, VideoFamily};
use crate::generic::is_ratio;
use crate::id::TaskId;
use crate::state::TaskState;
use crate::status::{
    FAILED_UPSTREAM, INVALID_RESPONSE, TaskError, TaskStatus, TaskUsage, UNKNOWN_STATUS,
};
use bytes::Bytes;
use headgate_protocol::json::{DocumentNode, JsonDocument};
use http::StatusCode;
use std::time::Duration;

/// A response without a required value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTaskResponse {
    #[error("the provider's response has no task id")]
    NoTaskId,
    #[error("the provider's response has no status")]
    NoStatus,
    #[error(
        "the provider's response names a URL of the task that is not below the channel's base URL or on one of the family's hosts"
    )]
    ForeignUrl,
    #[error("the provider's response is about another task")]
    OtherTask,
}

/// A provider's error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamError {
    /// `None` if the provider sends only a message.
    pub code: Option<String>,
    pub message: String,
}

/// How long a task with an unknown status counts as running.
const UNKNOWN_KEPT_MS: u64 = 24 * 60 * 60 * 1_000;
/// The maximum length of an unknown status in a message, in characters.
const WORD_CHARS_MAX: usize = 64;

impl VideoFamily {
    /// Whether a response to a create has a task id.
    pub fn has_task_id(&self, response: &JsonDocument) -> bool {
        let create = SentCreate {
            path: "/",
            channel_model: "model",
        };
        self.task_id.text_after(response.root(), create).is_some()
    }

    /// The HTTP status that an error in a response under 200 stands for, if the family lists its code.
    pub fn status_under_success(&self, response: &JsonDocument) -> Option<StatusCode> {
        let code = self.errors.code.text(response.root())?;
        let mut statuses = self.errors.statuses.iter();
        let listed = statuses.find(|(pattern, _)| matches_code(pattern, &code));
        listed.map(|(_, status)| *status)
    }

    /// The status of a task from the response to a query; `now_ms` is in Unix milliseconds.
    ///
    /// # Errors
    /// The response is not about this task; its status is then unchanged.
    pub fn status(
        &self,
        response: &JsonDocument,
        task: &TaskId,
        now_ms: u64,
    ) -> Result<TaskStatus, InvalidTaskResponse> {
        let root = response.root();
        if let Some(id) = self.task_id.text(root)
            && id != task.upstream
            && !(begins_with_http(&id) && id.ends_with(&task.upstream))
        {
            return Err(InvalidTaskResponse::OtherTask);
        }
        let word = self
            .status
            .at
            .text(root)
            .ok_or(InvalidTaskResponse::NoStatus)?;
        let mut words = self.status.words.iter();
        let mut status = self.response.common(root, task, now_ms);
        match words.find(|(known, _)| *known == word) {
            Some((_, state)) => status.state = *state,
            None => {
                status.upstream_word = Some(printable(&word));
                status.state = self.unknown(task, now_ms);
            }
        }
        if !status.state.is_terminal() && self.is_expired(root, &status, now_ms) {
            status.state = TaskState::Expired;
            status.upstream_word = Some(printable(&word));
        }
        match status.state {
            TaskState::Succeeded => self.succeed(response, &mut status),
            TaskState::Failed => status.error = Some(self.failure(response, &status)),
            TaskState::Queued | TaskState::Running | TaskState::Cancelled | TaskState::Expired => {}
        }
        Ok(status)
    }

    /// Whether the provider's word for the status means success, whatever else the response has.
    pub fn reports_success(&self, response: &JsonDocument) -> bool {
        let word = self.status.at.text(response.root());
        let mut words = self.status.words.iter();
        words.any(|(known, state)| *state == TaskState::Succeeded && Some(known) == word.as_ref())
    }

    /// The status of a task that is unknown to the provider (404 and similar): providers remove tasks after a while,
    /// and some do not find new ones at once.
    pub fn missing(&self, task: &TaskId, now_ms: u64) -> TaskStatus {
        let mut status = TaskStatus::new(task, now_ms);
        status.state = state_of_unknown(task, now_ms);
        status.upstream_word = Some("not_found".into());
        status
    }

    /// A response for a task of which only its creation is known: that it is running. `None` if it was created more than a
    /// day before `now_ms`, or if the family has no such word.
    pub fn presumed_response(&self, task: &TaskId, now_ms: u64) -> Option<Bytes> {
        let state = state_of_unknown(task, now_ms);
        let is_presumed = state == TaskState::Running;
        is_presumed.then(|| self.minimal_response(task, state))?
    }

    /// The error in a response, if there is one; its code replaces a missing message.
    pub fn error(&self, response: &JsonDocument) -> Option<UpstreamError> {
        let root = response.root();
        let code = self.errors.code.text(root);
        let message = self.errors.message.text(root).or_else(|| code.clone())?;
        Some(UpstreamError { code, message })
    }

    /// Whether a create that was refused with this code may fail over to another channel.
    pub fn may_fail_over(&self, code: &str) -> bool {
        let mut patterns = self.errors.failover_codes.iter();
        patterns.any(|pattern| matches_code(pattern, code))
    }

    /// Reads the fields of a success; without a video the task has failed, for the reason that the response gives.
    fn succeed(&self, response: &JsonDocument, status: &mut TaskStatus) {
        if self.response.succeed(response.root(), status) {
            let is_own = self.response.is_private || self.inline_video().is_some();
            status.private_below = is_own.then(|| self.public_url.clone());
            return;
        }
        let reason = self.error(response);
        status.state = TaskState::Failed;
        status.error = Some(match reason {
            Some(UpstreamError { code, message }) => TaskError {
                code: code.unwrap_or_else(|| INVALID_RESPONSE.into()),
                message,
            },
            None => TaskError {
                code: INVALID_RESPONSE.into(),
                message: "the provider reported success without a video".into(),
            },
        });
    }

    /// Whether the time is over after which the provider ends the task.
    fn is_expired(&self, root: DocumentNode<'_>, status: &TaskStatus, now_ms: u64) -> bool {
        self.status.expiry.as_ref().is_some_and(|expiry| {
            let stated = expiry.at.as_ref().and_then(|at| at.whole(root));
            let stated = stated.map(Duration::from_secs);
            let after_ms = stated.unwrap_or(expiry.default).as_millis();
            u128::from(now_ms.saturating_sub(status.created_ms)) > after_ms
        })
    }

    fn unknown(&self, task: &TaskId, now_ms: u64) -> TaskState {
        match self.status.keeps_unknown {
            true => state_of_unknown(task, now_ms),
            false => TaskState::Failed,
        }
    }

    fn failure(&self, response: &JsonDocument, status: &TaskStatus) -> TaskError {
        let (code, message) = match status.upstream_word {
            Some(_) => (UNKNOWN_STATUS, "the provider reported an unknown status"),
            None => (FAILED_UPSTREAM, "the provider gave no error message"),
        };
        match self.error(response) {
            Some(error) => TaskError {
                code: error.code.unwrap_or_else(|| code.into()),
                message: error.message,
            },
            None => TaskError {
                code: code.into(),
                message: message.into(),
            },
        }
    }
}

impl ResponseFieldSources {
    /// The fields of a response that do not depend on the state.
    fn common(&self, root: DocumentNode<'_>, task: &TaskId, now_ms: u64) -> TaskStatus {
        let mut status = TaskStatus::new(task, now_ms);
        let time = |text: Option<String>| self.times.read(&text?);
        status.created_ms = time(self.created.text(root)).unwrap_or(status.created_ms);
        status.updated_ms = time(self.updated.text(root)).unwrap_or(status.updated_ms);
        status.updated_ms = status.updated_ms.max(status.created_ms);
        let resolution = self.resolution.text(root);
        let resolution = resolution.map(|tier| tier.to_ascii_lowercase());
        status.resolution = resolution.filter(|tier| is_tier(tier));
        let ratio = self.ratio.text(root).filter(|ratio| is_ratio(ratio));
        status.ratio = ratio.or(status.ratio);
        status.progress = self.progress.number(root).map(percentage);
        status
    }

    /// Reads the fields of a success; `false` if there is no video.
    fn succeed(&self, root: DocumentNode<'_>, status: &mut TaskStatus) -> bool {
        let inline = self.inline_video.as_ref();
        let inline = inline.and_then(|at| root.pointer(at)?.as_str());
        let inline = inline
            .filter(|text| !text.is_empty())
            .map(|text| text.into_owned());
        status.video_url = self.video_url.text(root).or(inline);
        if status.video_url.is_none() {
            return false;
        }
        status.progress = Some(100);
        status.video_duration = self.video_duration.whole(root);
        let usage = self.usage.read(root);
        status.usage = (usage != TaskUsage::default()).then_some(usage);
        true
    }
}

impl UsageMapping {
    /// The charge of a task: credits or other units of the provider's account, and billed seconds.
    pub(super) fn billed(&self, root: DocumentNode<'_>) -> (Option<f64>, Option<u64>) {
        (self.credits.number(root), self.duration.whole(root))
    }

    fn read(&self, root: DocumentNode<'_>) -> TaskUsage {
        TaskUsage {
            input_video_duration: self.input_video_duration.whole(root),
            output_video_duration: self.output_video_duration.whole(root),
            total_tokens: self.total_tokens.whole(root),
            duration: self.duration.whole(root),
        }
    }
}

impl TaskStatus {
    /// The status of a task without a response.
    fn new(task: &TaskId, now_ms: u64) -> Self {
        let created_ms = task.created.saturating_mul(1_000);
        Self {
            state: TaskState::Running,
            upstream_word: None,
            progress: None,
            private_below: None,
            video_url: None,
            video_duration: None,
            resolution: None,
            ratio: task.ratio.clone().filter(|ratio| is_ratio(ratio)),
            created_ms,
            updated_ms: now_ms.max(created_ms),
            error: None,
            usage: None,
        }
    }
}

fn state_of_unknown(task: &TaskId, now_ms: u64) -> TaskState {
    let age_ms = now_ms.saturating_sub(task.created.saturating_mul(1_000));
    match age_ms < UNKNOWN_KEPT_MS {
        true => TaskState::Running,
        false => TaskState::Expired,
    }
}

/// A trailing `*` in the pattern matches any rest.
fn matches_code(pattern: &str, code: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => code.starts_with(beginning),
        None => code == pattern,
    }
}

/// Providers report a share from 0 to 1, or a percentage.
fn percentage(progress: f64) -> u8 {
    let percent = if progress <= 1.0 {
        progress * 100.0
    } else {
        progress
    };
    percent.round().clamp(0.0, 100.0) as u8
}

/// Whether `tier` is like `480p`, `720p`, `1080p` or `4k`.
fn is_tier(tier: &str) -> bool {
    let number = tier.strip_suffix(['p', 'k']).unwrap_or_default();
    (1..=5).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit())
}

fn printable(word: &str) -> String {
    let printable = word.chars().filter(char::is_ascii_graphic);
    printable.take(WORD_CHARS_MAX).collect()
}
