//! The request for the status of a task, and the second one for its result where the family has one.
//!
//! Both responses become one document: the status, with the result as its member `result`.

use bytes::Bytes;
use headgate_core::state::calendar::unix_ms;
use headgate_core::subrequest::{
    Subrequest, SubrequestClient, SubrequestFuture, SubrequestResponse,
};
use headgate_core::task::family::{RequestTemplate, VideoFamily};
use headgate_core::task::id::TaskId;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::edit::JsonEdits;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use http::{HeaderMap, StatusCode};
use std::sync::Arc;

/// The member of the status that has the result.
const RESULT: &str = "result";

/// A future that queries the status when it is awaited, and then the result of a task that has succeeded.
pub fn status_request(
    subrequests: &SubrequestClient,
    query: Subrequest,
    family: &Arc<VideoFamily>,
    task: &TaskId,
) -> SubrequestFuture {
    // Sends nothing until it is awaited.
    let status = subrequests.send(query.clone());
    let request = StatusRequest {
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

struct StatusRequest {
    subrequests: SubrequestClient,
    query: Subrequest,
    family: Arc<VideoFamily>,
    task: TaskId,
}

impl StatusRequest {
    /// The response to the query, with the result in it.
    async fn complete(&self, mut status: SubrequestResponse) -> Result<SubrequestResponse, Fault> {
        if !status.status.is_success() {
            return Ok(status);
        }
        // A task that is not ready may have no body yet.
        if status.body.is_empty() {
            status.body = Bytes::from_static(b"{}");
        }
        let Ok(document) = JsonDocument::parse(status.body.clone(), &JsonLimits::default()) else {
            return Ok(status);
        };
        let reported = self.family.status(&document, &self.task, unix_ms());
        // Without its result a success reads as a failure.
        let has_succeeded = self.family.reports_success(&document);
        match self.family.result.is_some() && has_succeeded {
            true => self.with_result(status, document).await,
            false => {
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
        status: SubrequestResponse,
        document: JsonDocument,
    ) -> Result<SubrequestResponse, Fault> {
        let Some(call) = &self.family.result else {
            return Ok(status);
        };
        let upstream = &self.task.upstream;
        let Some(path) = call.path_after(upstream, document.root()) else {
            return Ok(status);
        };
        let mut result = self
            .subrequests
            .send(Subrequest {
                method: call.method.clone(),
                path,
                headers: call_headers(call),
                body: call.body(upstream),
                ..self.query.clone()
            })
            .await?;
        if !result.status.is_success() && !is_final_refusal(result.status) {
            return Ok(result);
        }
        let parsed = JsonDocument::parse(result.body.clone(), &JsonLimits::default());
        if parsed.is_err() {
            let message = "the provider's response has no result of this task; query it again";
            return Err(Fault::new(FaultKind::UnreadableResponse, message));
        }
        let mut edits = JsonEdits::default();
        edits.insert_member(document.root(), RESULT, result.body.clone());
        let merged = edits.apply(document.body()).to_bytes();
        let read = JsonDocument::parse(merged.clone(), &JsonLimits::default());
        // An error under 200 that passes must not end the task.
        let stands_for = read
            .ok()
            .and_then(|it| self.family.status_under_success(&it));
        if let Some(stands_for) = stands_for.filter(|status| !is_final_refusal(*status)) {
            result.status = stands_for;
            return Ok(result);
        }
        Ok(SubrequestResponse {
            body: merged,
            ..status
        })
    }
}

/// Whether a later request for the result would be refused, too: not for the credential, the account or the rate.
fn is_final_refusal(status: StatusCode) -> bool {
    status.is_client_error() && !matches!(status.as_u16(), 401 | 402 | 403 | 408 | 425 | 429)
}
