//! What metrics and the traffic history count of a finished exchange.

use super::access_log::FailedAttempt;
use super::error_side::ErrorSide;
use super::wait_times::ExchangeWaitTimes;
use headgate_core::catalog::price::Cost;
use headgate_core::feature::exchange_recorder::{RecordedCharge, RecordedOutcome, RecordedUse};
use headgate_core::filter::settlement::ExchangeSettlement;
use headgate_core::state::calendar::{unix_ms, whole_ms};
use headgate_protocol::ChannelProtocol;
use headgate_protocol::fault::FaultKind;
use headgate_protocol::usage::TokenUsage;
use std::time::Duration;

/// Data of a finished exchange.
pub struct FinishedExchange<'a> {
    pub route: &'a str,
    /// The caller's name in metrics.
    pub caller: Option<&'a str>,
    pub caller_name: Option<&'a str>,
    pub channel: Option<&'a str>,
    pub model: Option<&'a str>,
    /// That of the channel.
    pub protocol: Option<ChannelProtocol>,
    pub status: u16,
    pub settlement: ExchangeSettlement,
    pub total: Duration,
    pub first_byte: Option<Duration>,
    /// Time from the start of the last attempt to the first byte; `None` if the provider waited for the caller.
    pub upstream_first_byte: Option<Duration>,
    pub wait_times: ExchangeWaitTimes,
    pub usage: Option<&'a TokenUsage>,
    /// Whether the usage is that of batches, whose tokens [`Metrics::count_batch`](super::metrics::Metrics::count_batch) counts for
    /// each model.
    pub is_usage_of_batches: bool,
    /// The cost and its currency; `None` without a price, and for batches, whose costs are counted for each model.
    pub cost: Option<(Cost, &'a str)>,
    /// What it has cost of its caller's budgets.
    pub charges: &'a [RecordedCharge<'a>],
    pub fault: Option<FaultKind>,
    /// Attempts whose responses were not passed on, in their order.
    pub failed_attempts: &'a [FailedAttempt],
    /// Whether the response of the last attempt was not passed on, so that it is among the failed ones.
    pub has_last_attempt_failed: bool,
    /// Whether the provider sent a whole body although the request asks for a stream.
    pub is_unstreamed: bool,
}

impl FinishedExchange<'_> {
    /// The side that caused its failure; `None` if it succeeded.
    pub(super) fn error_side(&self) -> Option<ErrorSide> {
        ErrorSide::from_settlement(self.settlement, self.status, self.fault)
    }

    /// What features record of it.
    pub(super) fn recorded_use(&self) -> RecordedUse<'_> {
        let is_served = self.status < 400 && self.error_side().is_none();
        let cause = self.fault.map_or(self.settlement.name(), FaultKind::code);
        RecordedUse {
            time_ms: unix_ms().saturating_sub(whole_ms(self.total)),
            caller: self.caller_name,
            model: self.model,
            channel: self.channel,
            outcome: Some(match is_served {
                true => RecordedOutcome::Served,
                false => RecordedOutcome::Failed(cause),
            }),
            usage: self.usage_of_model(),
            cost: self.cost.filter(|_| !self.is_usage_of_batches),
            charges: self.charges,
        }
    }

    /// The usage of the exchange's own model.
    pub(super) fn usage_of_model(&self) -> Option<&TokenUsage> {
        self.usage.filter(|_| !self.is_usage_of_batches)
    }

    /// Whether a limit of its caller refused it.
    pub(super) fn is_rate_limited(&self) -> bool {
        self.fault.is_some_and(FaultKind::is_limit)
    }
}
