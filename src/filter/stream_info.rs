//! What is known of an exchange so far, beyond the request: for filters, the access log and the metrics.

use crate::catalog::model::Candidate;
use crate::protocol::error_class::ErrorClass;
use crate::protocol::usage::TokenUsage;
use crate::state::admission::LimitKind;
use crate::subrequest::UpstreamRequestIdSlot;
use std::sync::OnceLock;

/// What the exchange and its filters found out. What only one filter needs again is in its own
/// [`FilterState`](super::state::FilterState).
#[derive(Default)]
pub struct StreamInfo {
    pub usage: UsageReport,
    /// The provider's id of what the response is.
    pub response_id: Option<String>,
    /// What became of the request at its caller's limits.
    pub quota: QuotaDecision,
    /// The channel that was asked by a filter, where no attempt was made.
    pub subrequest_candidate: Option<Candidate>,
    /// The provider's id of the last subrequest that was made for this exchange.
    pub subrequest_id: OnceLock<UpstreamRequestIdSlot>,
    /// Index of the channel's credential that the last attempt showed.
    pub credential: Option<usize>,
    /// A provider took the request, and is not known to have refused it: tokens may be spent.
    pub may_have_cost: bool,
    /// Events of the stream so far.
    pub events: u64,
    /// Whose fault an error event at the end of the stream is.
    pub stream_error: Option<ErrorClass>,
}

/// The tokens of a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UsageReport {
    /// Nobody looks for them.
    #[default]
    NotMetered,
    /// The provider was expected to name them, and has not done so.
    Missing,
    Counted(TokenUsage),
}

/// What became of a request at its caller's limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QuotaDecision {
    /// It was admitted, or no limit applied.
    #[default]
    Admitted,
    Refused(LimitKind),
    /// The store could not be asked, and the request went on without.
    Unchecked,
}

impl UsageReport {
    pub fn counted(&self) -> Option<&TokenUsage> {
        match self {
            Self::Counted(usage) => Some(usage),
            Self::NotMetered | Self::Missing => None,
        }
    }
}
