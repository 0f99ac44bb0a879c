//! Where requests about a task go: to the channel, or to the host that the provider named for the task.

use super::path_template::is_path_value;
use super::response::InvalidTaskResponse;
use super::source::SentCreate;
use super::task_url::{TaskUrl, begins_with_http};
use super::{TaskQueryCall, VideoFamily};
use crate::id::TaskId;
use headgate_protocol::json::JsonDocument;

/// The maximum length of a provider's id, in bytes.
const ID_BYTES_MAX: usize = 512;

/// What the response to a create says of the new task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedTask {
    /// The provider's id.
    pub upstream: String,
    /// Where its status is queried, as [`TaskId::query_url`] has it.
    pub query_url: Option<String>,
}

/// The family does not send requests to this host, or no longer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`query.hosts` does not have `{0}`")]
pub struct ForbiddenTaskHost(pub String);

impl VideoFamily {
    /// The new task, by the response to a create that was sent below `base_url`. An id that is a URL is kept as its path
    /// below that.
    ///
    /// # Errors
    /// There is no id, or it or the URL to query is a URL elsewhere. The provider may have accepted the task all the same.
    pub fn created(
        &self,
        response: &JsonDocument,
        create: SentCreate<'_>,
        base_url: &str,
    ) -> Result<CreatedTask, InvalidTaskResponse> {
        let id = self.task_id.text_after(response.root(), create);
        let id = id.ok_or(InvalidTaskResponse::NoTaskId)?;
        let id = match begins_with_http(&id) {
            true => {
                let path = path_below(&id, base_url).ok_or(InvalidTaskResponse::ForeignUrl)?;
                path.split('?').next().unwrap_or_default().to_owned()
            }
            false => id,
        };
        let is_path = self.query.call.keeps_slashes_of_id();
        let is_valid = is_id(&id) && (!is_path || is_path_value(&id));
        let upstream = is_valid
            .then_some(id)
            .ok_or(InvalidTaskResponse::NoTaskId)?;
        let query_url = self.query.url.text(response.root());
        let query_url = query_url.map(|url| self.query.kept_url(&url, base_url));
        let query_url = query_url.transpose()?;
        Ok(CreatedTask {
            upstream,
            query_url,
        })
    }

    /// The path and query of the request for the status of a task: below the channel's base URL, or the whole one on
    /// [`Self::other_host`].
    pub fn query_path(&self, task: &TaskId) -> String {
        match task.query_url.as_deref() {
            None => self.query.call.path(&task.upstream),
            Some(url) if !begins_with_http(url) => url.to_owned(),
            Some(url) => {
                let path = url.splitn(4, '/').nth(3).unwrap_or_default();
                format!("/{path}")
            }
        }
    }

    /// The URL at which a task is queried, if it lies on another host than the channel's; requests about the task go to
    /// that host.
    ///
    /// # Errors
    /// The family does not have the host, or no longer.
    pub fn other_host(&self, task: &TaskId) -> Result<Option<TaskUrl>, ForbiddenTaskHost> {
        let Some(url) = task
            .query_url
            .as_deref()
            .filter(|url| begins_with_http(url))
        else {
            return Ok(None);
        };
        // The hosts may have changed since the create.
        let parsed = TaskUrl::parse(url).filter(|url| self.query.has_host(url));
        let forbidden = || ForbiddenTaskHost(url.split('/').nth(2).unwrap_or_default().to_owned());
        parsed.map(Some).ok_or_else(forbidden)
    }
}

impl TaskQueryCall {
    fn has_host(&self, url: &TaskUrl) -> bool {
        self.hosts.iter().any(|pattern| pattern.matches(url))
    }

    /// A URL of a response as it is kept: as its path and query if it lies below `base_url`, which may change.
    fn kept_url(&self, url: &str, base_url: &str) -> Result<String, InvalidTaskResponse> {
        let parsed = TaskUrl::parse(url).ok_or(InvalidTaskResponse::ForeignUrl)?;
        if let Some(path) = path_below(url, base_url) {
            return Ok(path);
        }
        match self.has_host(&parsed) {
            true => Ok(url.to_owned()),
            false => Err(InvalidTaskResponse::ForeignUrl),
        }
    }
}

/// The path and query of a URL below another one, without its fragment.
fn path_below(url: &str, base_url: &str) -> Option<String> {
    let path = url.strip_prefix(base_url.trim_end_matches('/'))?;
    let path = path.split('#').next()?;
    path.starts_with('/').then(|| path.to_owned())
}

/// Whether an id is safe in a path: an id of dots alone would change the path.
fn is_id(id: &str) -> bool {
    let is_plain = id.len() <= ID_BYTES_MAX && !id.contains(char::is_control);
    is_plain && !id.bytes().all(|byte| byte == b'.')
}
