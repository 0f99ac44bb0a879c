//! The request for the status of a task, and the second one for its result where the family has one.
//!
//! Both responses become one document: the status, with the result as its member `result`.

use bytes::Bytes;
use headgate_core::state::calendar::unix_ms;
use headgate_core::subrequest::{
    Subrequest, SubrequestClient, SubrequestFuture, SubrequestResponse,
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
                path,
                headers: call_headers(call),
                body: call.body(&self.task.upstream),
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
