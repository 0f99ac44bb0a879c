//! A task whose status can be queried without a request of its caller: its id opened, with its channel and family.

use crate::status_request::{call_headers, inline_file};
use headgate_core::catalog::Catalog;
use headgate_core::catalog::egress::EgressPolicy;
use headgate_core::catalog::model::Candidate;
use headgate_core::request_id::RequestId;
use headgate_core::subrequest::{Subrequest, SubrequestHost};
use headgate_core::task::TaskSettings;
use headgate_core::task::family::{ForbiddenTaskHost, VideoFamily};
use headgate_core::task::id::TaskId;
use std::sync::Arc;
use std::time::Duration;

/// How long a query waits while its channel is at its limits.
const CHANNEL_MAX_WAIT: Duration = Duration::from_secs(2);

/// A task that can be queried.
pub(crate) struct UnattendedTask {
    /// The caller's id of it.
    pub id: String,
    pub task: TaskId,
    pub candidate: Candidate,
    pub family: Arc<VideoFamily>,
    /// The host of the task, if it is not the channel's.
    other_host: Option<SubrequestHost>,
}

/// Why a task cannot be queried. The configuration may change, so that it is tried again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TaskNotQueryable {
    #[error("the key of the task's id is not in `task_keys`")]
    UnknownKey,
    #[error("the channel of the task is not configured; list it as `retired`")]
    UnknownChannel,
    #[error("the channel of the task has no `family`")]
    FamilyUnset,
    #[error(transparent)]
    ForbiddenHost(#[from] ForbiddenTaskHost),
}

impl UnattendedTask {
    /// The task with this id of a caller.
    ///
    /// # Errors
    /// It cannot be queried with this configuration.
    pub fn open(
        id: &str,
        tasks: &TaskSettings,
        catalog: &Catalog,
        egress: &Arc<EgressPolicy>,
    ) -> Result<Self, TaskNotQueryable> {
        let keys = tasks.keys.as_ref();
        let task = keys.and_then(|keys| keys.open(id).ok());
        let task = task.ok_or(TaskNotQueryable::UnknownKey)?;
        let channel = catalog.channel(&task.channel);
        let channel = channel.ok_or(TaskNotQueryable::UnknownChannel)?;
        let family = channel
            .family
            .clone()
            .ok_or(TaskNotQueryable::FamilyUnset)?;
        let url = family.other_host(&task)?;
        let other_host = url.map(|url| SubrequestHost::new(url, egress));
        Ok(Self {
            id: id.to_owned(),
            other_host,
            candidate: Candidate::for_task(channel.clone(), &task, None),
            family,
            task,
        })
    }

    /// The request for its status; `id` is that of the request in logs.
    pub fn subrequest(&self, id: RequestId) -> Subrequest {
        let call = &self.family.query.call;
        Subrequest {
            id,
            candidate: self.candidate.clone(),
            method: call.method.clone(),
            path: self.family.query_path(&self.task),
            other_host: self.other_host.clone(),
            inline_file: inline_file(&self.family),
            headers: call_headers(call),
            body: call.body(&self.task.upstream).into(),
            upstream_request_id: Arc::default(),
            max_wait: CHANNEL_MAX_WAIT,
        }
    }
}
