//! The result of a task that has succeeded, if a second request has it: status and result become one document.

use super::VideoFamily;
use super::call::RequestTemplate;
use bytes::Bytes;
use headgate_protocol::json::edit::JsonEdits;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use http::StatusCode;

/// The member of the status that has the result.
pub(super) const RESULT: &str = "result";

/// What comes of the response to the request for the result.
#[derive(Debug)]
pub enum StatusWithResult {
    /// The status with the result, or with the reason why there never will be one.
    Merged(JsonDocument),
    /// The provider refuses it for now, with this status or an error that stands for it: a later query has it.
    Refused(StatusCode),
    /// The response is no JSON.
    Unreadable,
}

impl VideoFamily {
    /// Whether the response to a query is the status as it is: no result is requested, and no error comes under 200.
    pub fn has_plain_status(&self) -> bool {
        self.result.is_none() && self.errors.statuses.is_empty()
    }

    /// The request for the result, and its path; `None` if the status, a response to a query, is all there is.
    pub fn result_request(
        &self,
        status: &JsonDocument,
        upstream: &str,
    ) -> Option<(&RequestTemplate, String)> {
        let call = self.result.as_ref()?;
        // Without its result a success reads as a failure.
        let path = call.path_after(upstream, status.root());
        Some((call, path.filter(|_| self.reports_success(status))?))
    }

    /// The status with the response to the request for its result.
    pub fn with_result(
        &self,
        status: &JsonDocument,
        result_status: StatusCode,
        result: Bytes,
    ) -> StatusWithResult {
        if !result_status.is_success() && !is_final_refusal(result_status) {
            return StatusWithResult::Refused(result_status);
        }
        if JsonDocument::parse(result.clone(), &JsonLimits::default()).is_err() {
            return StatusWithResult::Unreadable;
        }
        let mut edits = JsonEdits::default();
        edits.insert_member(status.root(), RESULT, result);
        let merged = edits.apply(status.body()).to_bytes();
        let Ok(merged) = JsonDocument::parse(merged, &JsonLimits::default()) else {
            return StatusWithResult::Unreadable;
        };
        // An error under 200 that passes must not end the task.
        let stands_for = self.status_under_success(&merged);
        match stands_for.filter(|status| !is_final_refusal(*status)) {
            Some(stands_for) => StatusWithResult::Refused(stands_for),
            None => StatusWithResult::Merged(merged),
        }
    }
}

/// Whether a later request for the result would be refused, too: not for the credential, the account or the rate.
fn is_final_refusal(status: StatusCode) -> bool {
    status.is_client_error() && !matches!(status.as_u16(), 401 | 402 | 403 | 408 | 425 | 429)
}
