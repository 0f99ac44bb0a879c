//! The request for the status of a task, and the second one for its result where the family has one.
//!
//! Both responses become one document: the status, with the result as its member `result`.

use bytes::Bytes;
use headgate_core::catalog::egress::EgressPolicy;
use headgate_core::state::calendar::unix_ms;
use headgate_core::subrequest::{
    InlineFile, Subrequest, SubrequestClient, SubrequestFuture, SubrequestHost, SubrequestResponse,
};
use headgate_core::task::family::{RequestTemplate, StatusWithResult, VideoFamily};
use headgate_core::task::id::TaskId;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::{JsonDocument, JsonLimits};
use http::HeaderMap;
use std::sync::Arc;

/// A future that queries the status when it is awaited, and then the result of a task that has succeeded.
pub fn status_request(
    subrequests: &SubrequestClient,
    query: Subrequest,
    family: &Arc<VideoFamily>,
    task: &TaskId,
) -> SubrequestFuture {
    // Sends nothing until it is awaited.
    let status = subrequests.send(query.clone());
    let request = StatusAndResultQuery {
        subrequests: subrequests.clone(),
        query,
        family: family.clone(),
        task: task.clone(),
    };
    Box::pin(async move { request.complete(status.await?).await })
}

/// The host to which requests about a task go, if it is not the channel's.
///
/// # Errors
/// The provider named a host for the task to which the family sends nothing.
pub fn other_host(
    family: &VideoFamily,
    task: &TaskId,
    egress: &Arc<EgressPolicy>,
    request_id: &str,
) -> Result<Option<SubrequestHost>, Fault> {
    let host = family.other_host(task).map_err(|error| {
        let (channel, id) = (&task.channel, request_id);
        tracing::warn!(channel, id, %error, "a task is not queried: its host is not allowed");
        Fault::new(
            FaultKind::UnreadableResponse,
            "the task is on a host to which this gateway sends no requests; tell the operator of this gateway",
        )
        .source(error)
    })?;
    Ok(host.map(|url| SubrequestHost::new(url, egress)))
}

/// The file in responses to queries, which is dropped: a status has none.
pub fn inline_file(family: &VideoFamily) -> Option<InlineFile> {
    let at = family.inline_video()?.clone();
    Some(InlineFile { at, is_kept: false })
}

/// The path of another request about the task of `query`, at the same host.
pub fn path_at_host(query: &Subrequest, path: String) -> String {
    match &query.other_host {
        None => path,
        Some(_) => format!("{}{path}", query.candidate.channel.origin.base_path),
    }
}

/// The headers of a family's request.
pub fn call_headers(call: &RequestTemplate) -> HeaderMap {
    let headers = call.headers();
    headers.map(|(name, value)| (name.clone(), value)).collect()
}

struct StatusAndResultQuery {
    subrequests: SubrequestClient,
    query: Subrequest,
    family: Arc<VideoFamily>,
    task: TaskId,
}

impl StatusAndResultQuery {
    /// The response to the query, with the result in it.
    async fn complete(&self, mut status: SubrequestResponse) -> Result<SubrequestResponse, Fault> {
        if !status.status.is_success() {
            return Ok(status);
        }
        // A task that is not ready may have no body yet.
        if status.body.is_empty() {
            status.body = Bytes::from_static(b"{}");
        }
        if self.family.has_plain_status() {
            return Ok(status);
        }
        let Ok(document) = JsonDocument::parse(status.body.clone(), &JsonLimits::default()) else {
            return Ok(status);
        };
        match self.family.result_request(&document, &self.task.upstream) {
            Some((call, path)) => self.with_result(call, path, status, &document).await,
            None => {
                let reported = self.family.status(&document, &self.task, unix_ms());
                if reported.is_err()
                    && let Some(stands_for) = self.family.status_under_success(&document)
                {
                    status.status = stands_for;
                }
                Ok(status)
            }
        }
    }

    /// The status with the result in it, or the response to the request for the result, if it is no final one.
    async fn with_result(
        &self,
        call: &RequestTemplate,
        path: String,
        status: SubrequestResponse,
        document: &JsonDocument,
    ) -> Result<SubrequestResponse, Fault> {
        let mut result = self
            .subrequests
            .send(Subrequest {
                method: call.method.clone(),
                path: path_at_host(&self.query, path),
                headers: call_headers(call),
                body: call.body(&self.task.upstream).into(),
                ..self.query.clone()
            })
            .await?;
        match self
            .family
            .with_result(document, result.status, result.body.clone())
        {
            StatusWithResult::Merged(merged) => Ok(SubrequestResponse {
                body: merged.body().clone(),
                ..status
            }),
            StatusWithResult::Refused(stands_for) => {
                result.status = stands_for;
                Ok(result)
            }
            StatusWithResult::Unreadable => {
                let message = "the provider's response has no result of this task; query it again";
                Err(Fault::new(FaultKind::UnreadableResponse, message))
            }
        }
    }
}
