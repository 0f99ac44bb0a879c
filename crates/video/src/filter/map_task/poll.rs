//! Task queries and cancels: subrequests to the provider, with responses in the caller's protocol.

use super::request::unknown;
use super::{MapTaskFilter, no_family};
use crate::polls::{CallerStatusPoll, PolledStatus, ProviderStatusReport, StatusQueryError};
use crate::status_request::{inline_file, other_host, path_at_host, status_request};
use bytes::{Bytes, BytesMut};
use headgate_core::catalog::egress::EgressPolicy;
use headgate_core::catalog::endpoint::ProviderOperationClass;
use headgate_core::catalog::model::Candidate;
use headgate_core::filter::view::RequestView;
use headgate_core::filter::{FilterAction, LocalReply};
use headgate_core::state::calendar::unix_ms;
use headgate_core::subrequest::{
    Subrequest, SubrequestClient, SubrequestFuture, SubrequestResponse,
};
use headgate_core::task::family::{RequestTemplate, TaskCancelCall, VideoFamily};
use headgate_core::task::id::TaskId;
use headgate_core::task::openai_video;
use headgate_core::task::state::TaskState;
use headgate_core::task::status::{TaskStatus, provider_names};
use headgate_protocol::TaskApiFormat;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::{JsonDocument, JsonLimits};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use memchr::memmem;
use std::sync::Arc;
use std::time::Duration;

/// The provider's status, if the family does not define it.
const UPSTREAM_STATUS: HeaderName = HeaderName::from_static("x-headgate-upstream-status");
/// When SDKs of OpenAI poll again, in milliseconds (`resources/videos.py`).
const POLL_AFTER_MS: HeaderName = HeaderName::from_static("openai-poll-after-ms");
/// Minimum `retry-after` of a status response: tasks take minutes.
const POLL_INTERVAL_MIN: Duration = Duration::from_secs(5);
/// How long a query waits while its channel is at its limits. A cancel does not wait: meanwhile the task could finish,
/// and the cancel would delete its record.
const CHANNEL_MAX_WAIT: Duration = Duration::from_secs(2);

/// A task of the caller, and how to query it.
pub(super) struct QueryableTask {
    pub candidate: Candidate,
    pub status_query: CallerStatusPoll,
    /// The task id as the caller sent it.
    pub id: String,
    /// Where the provider may have the task, if not at the channel's host.
    egress: Arc<EgressPolicy>,
}

impl MapTaskFilter {
    /// Replies with the status of the task that [`MapTaskFilter::find_task`] found.
    pub(super) async fn query(&self, request: &mut RequestView) -> Result<FilterAction, Fault> {
        let Some(subrequests) = request.subrequests.clone() else {
            return Ok(FilterAction::Continue);
        };
        let polled = self.polled_task(request)?;
        if self.is_deleted(&polled).await {
            return Err(unknown());
        }
        let subrequest = polled.status_request(request, &subrequests)?;
        match self
            .polls
            .status(polled.status_query.clone(), subrequest)
            .await
        {
            Ok(PolledStatus { report, poll_after }) => {
                self.status_reply(request, &polled, &report, poll_after)
            }
            Err(error) => self.error_reply(request, &polled, &error),
        }
    }

    /// Cancels the task if its status allows that: after the task has ended, the same provider request may delete the
    /// task's record.
    pub(super) async fn cancel(&self, request: &mut RequestView) -> Result<FilterAction, Fault> {
        let Some(subrequests) = request.subrequests.clone() else {
            return Ok(FilterAction::Continue);
        };
        let polled = self.polled_task(request)?;
        let Some(cancel) = &polled.family().cancel else {
            return Err(not_cancellable(
                "this model does not support cancelling tasks",
            ));
        };
        let subrequest = polled.status_request(request, &subrequests)?;
        // The future sends nothing until it is awaited.
        let candidate = polled.candidate.clone();
        let cancelling = subrequests.send(Subrequest {
            candidate: candidate.with_endpoint(ProviderOperationClass::Change),
            max_wait: Duration::ZERO,
            ..polled.subrequest(request, &cancel.call)?
        });
        let report = match self
            .polls
            .status_now(&polled.status_query, subrequest, 2)
            .await
        {
            Ok(report) => report,
            Err(error) => return self.cancel_error_reply(request, &polled, &error),
        };
        if !cancel.statuses.contains(&report.state) {
            return Err(too_late(cancel, report.state));
        }
        // The cancel may change the task's status, whether it succeeds or not and whether the caller waits or not.
        self.polls.invalidate(polled.task());
        let cancelled = cancelling.await;
        self.polls.invalidate(polled.task());
        let returned = cancelled?;
        match returned.status.is_success() {
            true => self.cancelled_reply(request, &polled, &report, &returned),
            false => {
                self.cancel_error_reply(request, &polled, &StatusQueryError::Refused(returned))
            }
        }
    }

    pub(super) fn polled_task(&self, request: &RequestView) -> Result<QueryableTask, Fault> {
        let destination = request.destination.as_ref().ok_or_else(no_family)?;
        let candidate = destination.candidates.first().ok_or_else(no_family)?;
        Ok(QueryableTask {
            status_query: CallerStatusPoll {
                family: candidate.channel.family.clone().ok_or_else(no_family)?,
                task: request.state.get::<TaskId>().cloned().ok_or_else(unknown)?,
                state: self.state.clone(),
            },
            candidate: candidate.clone(),
            egress: self.egress.clone(),
            id: self.id_in(request).ok_or_else(unknown)?.into_owned(),
        })
    }

    fn status_reply(
        &self,
        request: &RequestView,
        polled: &QueryableTask,
        report: &ProviderStatusReport,
        poll_after: Duration,
    ) -> Result<FilterAction, Fault> {
        let (family, task) = (polled.family(), polled.task());
        let status = family
            .status(&report.response, task, report.reported_ms)
            .map_err(|unreadable| no_family().source(unreadable))?;
        let body = match self.is_generic() {
            true => self.render(&status, polled),
            false => self.native(request, polled, &report.response, Some(&status)),
        };
        Ok(reply(StatusCode::OK, self.head(&status, poll_after), body))
    }

    /// A provider's error in the caller's protocol. Callers of the generic protocol get a status instead of 404:
    /// providers forget tasks, and some know a new task only after a while.
    pub(super) fn error_reply(
        &self,
        request: &RequestView,
        polled: &QueryableTask,
        error: &StatusQueryError,
    ) -> Result<FilterAction, Fault> {
        let refused = match error {
            StatusQueryError::Failed(fault) => return Err(fault.without_source()),
            StatusQueryError::Refused(refused) => refused,
        };
        if self.is_generic() && refused.status == StatusCode::NOT_FOUND {
            let status = polled.family().missing(polled.task(), unix_ms());
            let body = self.render(&status, polled);
            let head = self.head(&status, Duration::ZERO);
            return Ok(reply(StatusCode::OK, head, body));
        }
        let error = (refused.status, &refused.body);
        let reworded = self.error_body(polled.family(), request.protocol, error, &request.id);
        let body = reworded.unwrap_or_else(|| refused.body.clone());
        let mut headers = refused.headers.clone();
        headers.remove(header::CONTENT_LENGTH);
        if !self.is_generic() {
            polled.family().remove_url_headers(&mut headers);
        }
        Ok(reply(refused.status, headers, polled.masked(body)))
    }

    /// A client error from the provider means that the task's status forbids cancelling; 429 and server errors are
    /// passed on.
    fn cancel_error_reply(
        &self,
        request: &RequestView,
        polled: &QueryableTask,
        error: &StatusQueryError,
    ) -> Result<FilterAction, Fault> {
        match error {
            StatusQueryError::Refused(refused)
                if refused.status.is_client_error()
                    && refused.status != StatusCode::TOO_MANY_REQUESTS =>
            {
                let why = "the provider refused to cancel this task; query its status";
                let shown = String::from_utf8_lossy(&refused.body);
                Err(not_cancellable(why).detail(format!("{}: {shown}", refused.status)))
            }
            error => self.error_reply(request, polled, error),
        }
    }

    fn cancelled_reply(
        &self,
        request: &RequestView,
        polled: &QueryableTask,
        before: &ProviderStatusReport,
        returned: &SubrequestResponse,
    ) -> Result<FilterAction, Fault> {
        let (family, task) = (polled.family(), polled.task());
        if let Some(edits) = family.with_state(&before.response, TaskState::Cancelled) {
            let now = edits.apply(before.response.body()).to_bytes();
            self.polls.record_response(&polled.status_query, now);
        }
        let body = if self.is_generic() {
            let mut status = family
                .status(&before.response, task, unix_ms())
                .map_err(|unreadable| no_family().source(unreadable))?;
            status.state = TaskState::Cancelled;
            self.render(&status, polled)
        } else {
            match JsonDocument::parse(returned.body.clone(), &JsonLimits::default()) {
                Ok(response) => self.native(request, polled, &response, None),
                Err(_) => Bytes::from_static(b"{}"),
            }
        };
        Ok(reply(StatusCode::OK, HeaderMap::new(), body))
    }

    /// A status in the generic format or in OpenAI's.
    fn render(&self, status: &TaskStatus, polled: &QueryableTask) -> Bytes {
        match self.format {
            TaskApiFormat::OpenAi => openai_video::render(status, &polled.id, polled.task()),
            TaskApiFormat::Generic | TaskApiFormat::Native => {
                status.render(&polled.id, polled.task())
            }
        }
    }

    fn head(&self, status: &TaskStatus, poll_after: Duration) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let word = status.upstream_word.as_deref();
        if let Some(word) = word.and_then(|word| HeaderValue::from_str(word).ok()) {
            headers.insert(UPSTREAM_STATUS, word);
        }
        if !status.state.is_terminal() {
            let wait = poll_after.max(POLL_INTERVAL_MIN).as_millis();
            let wait_ms = u64::try_from(wait).unwrap_or(u64::MAX);
            headers.insert(header::RETRY_AFTER, wait_ms.div_ceil(1_000).into());
            if self.format == TaskApiFormat::OpenAi {
                headers.insert(POLL_AFTER_MS, wait_ms.into());
            }
        }
        headers
    }
}

impl QueryableTask {
    pub fn family(&self) -> &Arc<VideoFamily> {
        &self.status_query.family
    }

    pub fn task(&self) -> &TaskId {
        &self.status_query.task
    }

    pub fn status_request(
        &self,
        request: &RequestView,
        subrequests: &SubrequestClient,
    ) -> Result<SubrequestFuture, Fault> {
        let query = self.query_subrequest(request)?;
        Ok(status_request(
            subrequests,
            query,
            self.family(),
            self.task(),
        ))
    }

    pub fn query_subrequest(&self, request: &RequestView) -> Result<Subrequest, Fault> {
        Ok(Subrequest {
            path: self.family().query_path(self.task()),
            ..self.subrequest(request, &self.family().query.call)?
        })
    }

    fn subrequest(
        &self,
        request: &RequestView,
        call: &RequestTemplate,
    ) -> Result<Subrequest, Fault> {
        let mut headers = HeaderMap::new();
        request.header_edits.apply(&mut headers)?;
        for (name, value) in call.headers() {
            headers.insert(name, value);
        }
        let (family, task) = (self.family(), self.task());
        let subrequest = Subrequest {
            id: request.id.clone(),
            candidate: self.candidate.clone(),
            method: call.method.clone(),
            path: String::new(),
            other_host: other_host(family, task, &self.egress, &request.id)?,
            inline_file: inline_file(family),
            headers,
            body: call.body(&task.upstream).into(),
            upstream_request_id: request.info.subrequest_id.get_or_init(Arc::default).clone(),
            max_wait: CHANNEL_MAX_WAIT,
        };
        Ok(Subrequest {
            path: path_at_host(&subrequest, call.path(&task.upstream)),
            ..subrequest
        })
    }

    /// A provider's text in which the caller's task id replaces the provider's.
    fn masked(&self, text: Bytes) -> Bytes {
        provider_names(self.task()).fold(text, |text, name| {
            let mut masked = BytesMut::with_capacity(text.len());
            let mut done = 0;
            for at in memmem::find_iter(&text, name) {
                masked.extend_from_slice(&text[done..at]);
                masked.extend_from_slice(self.id.as_bytes());
                done = at + name.len();
            }
            masked.extend_from_slice(&text[done..]);
            masked.freeze()
        })
    }
}

pub(super) fn reply(status: StatusCode, mut headers: HeaderMap, body: Bytes) -> FilterAction {
    let json = HeaderValue::from_static("application/json");
    headers.insert(header::CONTENT_TYPE, json);
    LocalReply {
        status,
        headers,
        body,
    }
    .into()
}

fn too_late(cancel: &TaskCancelCall, state: TaskState) -> Fault {
    let states: Vec<&str> = cancel.statuses.iter().map(|state| state.name()).collect();
    let (state, when) = (state.name(), states.join(" or "));
    not_cancellable(format!(
        "the task is {state}; it can be cancelled only while it is {when}"
    ))
}

fn not_cancellable(message: impl Into<String>) -> Fault {
    Fault::new(FaultKind::NotCancellable, message)
}
