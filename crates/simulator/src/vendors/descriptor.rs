//! The description of a vendor's video API, and the view of a task that its answers are made of.

use super::body_rules::{BodyFaultKind, BodyField};
use crate::api_error::ApiError;
use crate::http_post::CallbackHeader;
use crate::ids::IdGenerator;
use crate::media;
use crate::query;
use crate::task_directives::TaskEnd;
use crate::video_task::{VideoTask, VideoTaskState};
use http::HeaderMap;
use http::request::Parts;
use serde_json::{Value, json};

/// The video API of one vendor.
pub struct VendorApi {
    /// The path segment after `/vendor/`.
    pub name: &'static str,
    pub credential: VendorCredential,
    /// A header that each request needs besides the credential, with the check of its value.
    pub required_header: Option<RequiredHeader>,
    /// The operation for a method and the vendor's path, as segments and as one text.
    pub route: for<'p> fn(&str, &[&'p str], &'p str) -> Option<VendorOperation<'p>>,
    /// The model that a create names, by its path and body.
    pub model: fn(&str, &Value) -> String,
    /// The members of the body of a create; any other is refused.
    pub fields: fn(&VendorCreate) -> &'static [BodyField],
    /// The code of the error for a fault of the body, where the vendor has one for each kind.
    pub fault_code: fn(BodyFaultKind) -> Option<&'static str>,
    /// What the body has to fulfil besides, with the field and the reason if it does not.
    pub check: fn(&VendorCreate) -> Result<(), BodyConflict>,
    /// How files are uploaded before a create, where the vendor wants that.
    pub upload: Option<&'static UploadRule>,
    pub task_id: fn(&IdGenerator, &VendorCreate) -> String,
    pub words: StatusWords,
    /// The code and message of a task that fails, and of one that the content policy stops.
    pub failed: (&'static str, &'static str),
    pub filtered: (&'static str, &'static str),
    /// The answer to a create, with its status.
    pub created: fn(&TaskView) -> VendorAnswer,
    /// The members of that answer that lead to the task, which the directive `no_id` leaves out.
    pub id_members: &'static [&'static str],
    /// The answer to a query.
    pub status: fn(&TaskView) -> VendorAnswer,
    /// The answer to the second request for the result, where the vendor has one.
    pub result: fn(&TaskView) -> VendorAnswer,
    pub cancel: Option<CancelRule>,
    /// The status and body for an error.
    pub refusal: fn(&ApiError) -> VendorAnswer,
    pub callback: Option<VendorCallback>,
}

/// A status and a body; `null` stands for an empty one.
pub type VendorAnswer = (u16, Value);

/// A header and the check of its value.
pub type RequiredHeader = (&'static str, fn(&str) -> bool);

/// Where requests carry the credential.
pub struct VendorCredential {
    pub header: &'static str,
    /// The word before the key.
    pub scheme: Option<&'static str>,
    /// The parameter of the query string that may carry the key in place of the header.
    pub parameter: Option<&'static str>,
    /// The account that a key belongs to; `None` if the vendor refuses it.
    pub account: fn(&str) -> Option<String>,
}

/// A request that creates a task.
pub struct VendorCreate<'c> {
    /// The vendor's own path without its first slash.
    pub path: &'c str,
    /// The query string.
    pub query: &'c str,
    pub model: &'c str,
    pub body: &'c Value,
}

/// Two members of a body that do not go together, or one that the model does not have.
pub struct BodyConflict {
    pub field: &'static str,
    pub reason: &'static str,
}

/// The vendor's words for the states of a task.
pub struct StatusWords {
    pub queued: &'static str,
    pub running: &'static str,
    pub succeeded: &'static str,
    pub failed: &'static str,
    pub filtered: &'static str,
    pub cancelled: &'static str,
    pub expired: &'static str,
}

/// How files are uploaded.
pub struct UploadRule {
    /// The kind of these files in the store.
    pub kind: &'static str,
    /// The field of the form with the file, and the one with its URL: one of both is sent.
    pub file: &'static str,
    pub url: &'static str,
    /// The members of creates that are ids of files.
    pub places: &'static [&'static str],
    pub answer: fn(u64) -> VendorAnswer,
}

/// What a cancel does.
pub struct CancelRule {
    /// Whether a running task can be cancelled, besides a queued one.
    pub stops_running: bool,
    pub after_end: CancelAfterEnd,
    /// The member of the body that must repeat the id.
    pub id_in_body: Option<&'static str>,
    /// The answer, made after the cancel.
    pub answer: fn(&TaskView) -> VendorAnswer,
    /// The message if the task's state does not allow it.
    pub refused: &'static str,
}

/// What a cancel does to a task that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelAfterEnd {
    Refused,
    Ignored,
    /// It deletes the task.
    Deletes,
}

/// How the vendor calls back.
pub struct VendorCallback {
    /// The URL that a create names.
    pub url: fn(&VendorCreate) -> Option<String>,
    pub is_sent_in: fn(VideoTaskState, &Value) -> bool,
    pub body: fn(&TaskView) -> Value,
    pub has_challenge: bool,
    /// Headers for the id of the task, the body, and the create's body: signatures.
    pub headers: fn(&str, &[u8], &Value) -> Vec<CallbackHeader>,
    /// What the signatures are verified with.
    pub keys: fn() -> Value,
}

/// What a request asks of a vendor's API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VendorOperation<'p> {
    Create,
    Upload,
    Query(VendorTaskId<'p>),
    Result(VendorTaskId<'p>),
    Cancel(VendorTaskId<'p>),
    Delete(VendorTaskId<'p>),
    /// A file that only the credential opens, by the id of its task.
    PrivateVideo(PrivateVideo<'p>),
    /// A file behind a signed URL, which no credential may be sent to.
    SignedVideo(&'p str),
    /// What receivers verify callbacks with.
    CallbackKeys(CallbackKeyAccess),
}

/// Who may read what callbacks are verified with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallbackKeyAccess {
    Anyone,
    Account,
}

/// A file that only the credential opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrivateVideo<'p> {
    pub name: &'p str,
    /// Whether the answer is a redirect to a signed URL.
    pub redirects: bool,
}

/// Where a request has the id of its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VendorTaskId<'p> {
    Path(&'p str),
    /// In a path that begins as the create's path did.
    Below {
        create: &'p str,
        id: &'p str,
    },
    /// In the query string, after a prefix.
    Parameter {
        name: &'static str,
        prefix: &'static str,
    },
}

/// A task, as its answers are made of it.
pub struct TaskView<'t> {
    pub api: &'static VendorApi,
    pub task: &'t VideoTask,
    pub head: &'t Parts,
}

impl VendorCredential {
    /// The key of a request, if it is not empty.
    pub fn key<'h>(&self, head: &'h Parts) -> Option<std::borrow::Cow<'h, str>> {
        let key = self.header_key(&head.headers).map(Into::into);
        let parameter = || query::values(head.uri.query()?, self.parameter?).next();
        key.or_else(parameter).filter(|key| !key.is_empty())
    }

    fn header_key<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        let value = headers.get(self.header)?.to_str().ok()?.trim();
        let Some(scheme) = self.scheme else {
            return Some(value);
        };
        let (word, key) = value.split_once(' ')?;
        word.eq_ignore_ascii_case(scheme).then(|| key.trim())
    }
}

/// The [`VendorApi::fault_code`] of a vendor without such codes.
pub fn no_fault_code(_: BodyFaultKind) -> Option<&'static str> {
    None
}

/// The [`VendorApi::result`] of a vendor whose query has the result.
pub fn no_result(_: &TaskView) -> VendorAnswer {
    (404, Value::Null)
}

/// The account of a plain key: what comes before its first `~`, so that an account can have several keys.
pub fn account_by_key(key: &str) -> Option<String> {
    let account = key.split('~').next()?;
    (!account.is_empty()).then(|| account.to_owned())
}

impl VendorOperation<'_> {
    /// The name in request records, after the vendor's.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Upload => "upload",
            Self::Query(_) => "query",
            Self::Result(_) => "result",
            Self::Cancel(_) => "cancel",
            Self::Delete(_) => "delete",
            Self::PrivateVideo(_) | Self::SignedVideo(_) => "content",
            Self::CallbackKeys(_) => "callback_keys",
        }
    }

    /// Whether it needs no credential.
    pub fn is_public(self) -> bool {
        match self {
            Self::SignedVideo(_) => true,
            Self::CallbackKeys(access) => access == CallbackKeyAccess::Anyone,
            _ => false,
        }
    }
}

impl VendorCreate<'_> {
    pub fn has(&self, pointer: &str) -> bool {
        self.body.pointer(pointer).is_some()
    }

    pub fn text(&self, pointer: &str) -> &str {
        let text = self.body.pointer(pointer).and_then(Value::as_str);
        text.unwrap_or_default()
    }

    pub fn list(&self, pointer: &str) -> &[Value] {
        let list = self.body.pointer(pointer).and_then(Value::as_array);
        list.map_or(&[], Vec::as_slice)
    }

    pub fn number(&self, pointer: &str) -> Option<f64> {
        self.body.pointer(pointer).and_then(Value::as_f64)
    }

    /// `Err` with the conflict unless `is_met`.
    pub fn require(
        &self,
        is_met: bool,
        field: &'static str,
        reason: &'static str,
    ) -> Result<(), BodyConflict> {
        if is_met {
            return Ok(());
        }
        Err(BodyConflict { field, reason })
    }
}

/// What the store keeps of a create.
pub fn echoed(create: &VendorCreate) -> Value {
    json!({"model": create.model, "path": create.path, "body": create.body})
}

impl<'t> TaskView<'t> {
    pub fn id(&self) -> &'t str {
        &self.task.id
    }

    pub fn model(&self) -> &'t str {
        &self.task.model
    }

    /// The path that created the task.
    pub fn path(&self) -> &'t str {
        self.task.echoed["path"].as_str().unwrap_or_default()
    }

    /// The body that created the task.
    pub fn body(&self) -> &'t Value {
        &self.task.echoed["body"]
    }

    /// A member of the body that created the task.
    pub fn member(&self, pointer: &str) -> Value {
        self.body().pointer(pointer).cloned().unwrap_or_default()
    }

    pub fn end(&self) -> Option<TaskEnd> {
        match self.task.state() {
            VideoTaskState::Ended(end) => Some(end),
            VideoTaskState::Queued | VideoTaskState::Running => None,
        }
    }

    pub fn is_queued(&self) -> bool {
        self.task.state() == VideoTaskState::Queued
    }

    pub fn has_succeeded(&self) -> bool {
        self.end() == Some(TaskEnd::Succeeded)
    }

    /// The vendor's word for the state of the task.
    pub fn word(&self) -> &'t str {
        let words = &self.api.words;
        match self.task.state() {
            VideoTaskState::Queued => words.queued,
            VideoTaskState::Running => {
                let unknown = self.task.plan.unknown_status.as_deref();
                unknown.unwrap_or(words.running)
            }
            VideoTaskState::Ended(TaskEnd::Succeeded) => words.succeeded,
            VideoTaskState::Ended(TaskEnd::Failed) => words.failed,
            VideoTaskState::Ended(TaskEnd::Filtered) => words.filtered,
            VideoTaskState::Ended(TaskEnd::Cancelled) => words.cancelled,
            VideoTaskState::Ended(TaskEnd::Expired) => words.expired,
            VideoTaskState::Ended(TaskEnd::Unknown) => "unknown",
        }
    }

    /// The code and message of a task that failed or was filtered.
    pub fn failure(&self) -> Option<(&'t str, &'t str)> {
        let (code, message) = match self.end()? {
            TaskEnd::Failed => self.api.failed,
            TaskEnd::Filtered => self.api.filtered,
            _ => return None,
        };
        Some(self.task.plan.failure_or(code, message))
    }

    /// The signed URL of the video, if there is one.
    pub fn video_url(&self) -> Option<String> {
        let is_there = self.has_succeeded() && self.task.plan.has_url;
        let name = format!("{}.mp4", self.file_name());
        is_there.then(|| signed_url(self.api, self.head, &name, self.task.plan.video_bytes))
    }

    /// The last segment of the id.
    pub fn file_name(&self) -> &'t str {
        let id = self.id();
        id.rsplit_once('/').map_or(id, |(_, last)| last)
    }

    /// The URL below which the vendor's paths lie, with the directives of the request's path.
    pub fn base_url(&self) -> String {
        let path = self.head.uri.path();
        let prefix = format!("/vendor/{}", self.api.name);
        let end = path.find(&prefix).map_or(0, |at| at + prefix.len());
        format!("{}{}", media::origin(self.head), &path[..end])
    }
}

/// The signed URL of a file.
pub fn signed_url(api: &VendorApi, head: &Parts, name: &str, bytes: Option<usize>) -> String {
    let size = bytes.map_or_else(String::new, |bytes| format!("&bytes={bytes}"));
    let origin = media::origin(head);
    let folder = api.name;
    format!("{origin}/vendor/{folder}/signed/{name}?X-Signature=simulated&X-Expires=86400{size}")
}
