//! What a poll brings: the status of a task, or why it is not known.

use super::report::StatusReport;
use crate::protocol::fault::Fault;
use crate::subrequest::SubrequestResponse;
use std::sync::Arc;
use std::time::Duration;

/// How a task stands, or why that cannot be told.
pub type PollResult = Result<PolledStatus, Arc<QueryError>>;

/// What was said of a task, or why nothing was.
pub(super) type QueryResult = Result<Arc<StatusReport>, Arc<QueryError>>;

/// How a task stands.
#[derive(Clone, Debug)]
pub struct PolledStatus {
    pub report: Arc<StatusReport>,
    /// Before that nobody is told anything else.
    pub poll_after: Duration,
}

/// Why a question brought no report.
#[derive(Debug)]
pub enum QueryError {
    /// The provider's own refusal.
    Refused(SubrequestResponse),
    Failed(Fault),
}
