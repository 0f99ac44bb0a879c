//! The name of the run that a request belongs to, for the log and the trace.

use super::view::RequestView;
use crate::state::run::{RunName, SentStatus};
use http::StatusCode;
use std::sync::Arc;

/// The run of a request; `None` if it belongs to none.
pub fn run_name(request: &RequestView) -> Option<&Arc<str>> {
    request.caller.as_ref()?.limits.runs()?;
    request.state.get().map(|RunName(name)| name)
}

/// Notes the status that the caller was sent, for the calls of the request's run.
pub fn note_status(request: &mut RequestView, status: Option<StatusCode>) {
    if let (Some(status), Some(_)) = (status, run_name(request)) {
        request.state.set(SentStatus(status.as_u16()));
    }
}
