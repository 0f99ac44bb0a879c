//! What metrics and the traffic history count of a finished exchange.

use super::traffic::RequestSummary;
use super::traffic::error_side::ErrorSide;
use super::wait_times::WaitTimes;
use crate::filter::settlement::Settlement;
use crate::protocol::Protocol;
use crate::protocol::fault::FaultKind;
use crate::protocol::usage::TokenUsage;
use std::time::Duration;

/// Data of a finished exchange.
pub struct FinishedExchange<'a> {
    pub route: &'a str,
    pub caller: Option<&'a str>,
    pub channel: Option<&'a str>,
    pub model: Option<&'a str>,
    pub protocol: Option<Protocol>,
    pub status: u16,
    pub settlement: Settlement,
    pub total: Duration,
    pub first_byte: Option<Duration>,
    pub wait_times: WaitTimes,
    pub usage: Option<&'a TokenUsage>,
    pub fault: Option<FaultKind>,
}

impl FinishedExchange<'_> {
    /// What the traffic history counts of it.
    pub(super) fn summary(&self) -> RequestSummary<'_> {
        RequestSummary {
            caller: self.caller,
            channel: self.channel,
            error: ErrorSide::of(self.settlement, self.status, self.fault),
            is_rate_limited: self.fault.is_some_and(FaultKind::is_limit),
            usage: self.usage,
            first_byte: self.first_byte,
            total: self.total,
            waited_for_upstream: self.wait_times.upstream.total,
            waited_for_client: self.wait_times.client.total,
        }
    }
}
