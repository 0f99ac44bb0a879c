//! The result of a status poll: the status of a task, or why it is unknown.

use super::report::ProviderStatusReport;
use headgate_core::subrequest::SubrequestResponse;
use headgate_protocol::fault::Fault;
use std::sync::Arc;
use std::time::Duration;

/// The status of a task, or why it is unknown.
pub type PollResult = Result<PolledStatus, Arc<StatusQueryError>>;

/// The provider's report about a task, or why there is none.
pub(super) type QueryResult = Result<Arc<ProviderStatusReport>, Arc<StatusQueryError>>;

/// The status of a task.
#[derive(Clone, Debug)]
pub struct PolledStatus {
    pub report: Arc<ProviderStatusReport>,
    /// The time until the response can change; polling earlier returns the same.
    pub poll_after: Duration,
}

/// Why a query brought no report.
#[derive(Debug)]
pub enum StatusQueryError {
    /// The provider's error response.
    Refused(SubrequestResponse),
    Failed(Fault),
}

impl StatusQueryError {
    /// The approximate size in memory, in bytes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Refused(returned) => returned.body.len(),
            Self::Failed(fault) => fault.detail.as_ref().map_or(0, String::len),
        }
    }
}

impl PolledStatus {
    pub(super) fn until(report: Arc<ProviderStatusReport>, poll_after: Duration) -> Self {
        Self { report, poll_after }
    }
}
