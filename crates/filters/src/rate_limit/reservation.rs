//! What a request has reserved of its caller's limits, settled exactly once however the request ends.

use crate::unreported_output::reported_usage;
use headgate_core::filter::failed_attempt_usage::FailedAttemptUsages;
use headgate_core::filter::settlement::ExchangeSettlement;
use headgate_core::filter::stream_info::StreamInfo;
use headgate_core::filter::view::RequestView;
use headgate_core::state::StateStore;
use headgate_core::state::admission::AdmissionTicket;
use headgate_protocol::estimate::{TOKENS_MAX, TokenEstimate};
use headgate_protocol::usage::TokenUsage;
use std::sync::Arc;

/// A reservation of an estimate. Dropping it without `settle` settles on the estimate, since an exchange may be dropped
/// at any point.
pub struct EstimateReservation {
    state: Arc<dyn StateStore>,
    ticket: Option<AdmissionTicket>,
    estimate: TokenEstimate,
}

impl EstimateReservation {
    pub fn new(
        state: Arc<dyn StateStore>,
        ticket: AdmissionTicket,
        estimate: TokenEstimate,
    ) -> Self {
        Self {
            state,
            ticket: Some(ticket),
            estimate,
        }
    }

    /// Settles on the usage that is known of the exchange.
    pub fn settle(mut self, request: &RequestView, settlement: ExchangeSettlement) {
        self.settle_ticket(exchange_tokens(request, settlement, self.estimate));
    }

    /// Settles without any usage.
    pub fn release(mut self) {
        self.settle_ticket(0);
    }

    fn settle_ticket(&mut self, tokens: u64) {
        if let Some(ticket) = self.ticket.take() {
            self.state.settle(ticket, tokens);
        }
    }
}

impl Drop for EstimateReservation {
    fn drop(&mut self) {
        self.settle_ticket(self.estimate.total());
    }
}

/// The tokens of all attempts of an exchange.
pub fn exchange_tokens(
    request: &RequestView,
    settlement: ExchangeSettlement,
    estimate: TokenEstimate,
) -> u64 {
    let used = tokens_used(&request.info, reported_usage(request), settlement, estimate);
    let failed = request.state.get::<FailedAttemptUsages>();
    let failed = failed.map_or(0, |works| {
        failed_tokens(works, request.info.attempt, estimate)
    });
    used.saturating_add(failed).min(TOKENS_MAX)
}

/// The usage that the provider reported. If it reported none or its response broke off: the estimated input, and at
/// least one output token per event.
fn tokens_used(
    info: &StreamInfo,
    counted: Option<TokenUsage>,
    settlement: ExchangeSettlement,
    estimate: TokenEstimate,
) -> u64 {
    if !info.may_have_cost {
        return 0;
    }
    let counted = counted.unwrap_or_default();
    let input = counted.input_with_cache().unwrap_or(estimate.input);
    let output = match (settlement, counted.output_tokens) {
        (ExchangeSettlement::Complete, Some(output)) => output,
        (_, output) => output.unwrap_or(0).max(info.event_tokens()),
    };
    input.saturating_add(output).min(TOKENS_MAX)
}

/// The tokens of the attempts that failed before this one: those that their providers reported, or else the estimated input.
fn failed_tokens(works: &FailedAttemptUsages, attempt: u32, estimate: TokenEstimate) -> u64 {
    let tokens = works.before(attempt).map(|work| {
        let reported = work.usage.as_ref().map(TokenUsage::total);
        reported.unwrap_or(estimate.input)
    });
    tokens.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_core::filter::stream_info::UsageReport;
    use headgate_core::state::admission::{
        AdmissionDecision, AdmissionLimit, AdmissionRequest, LimitKind,
    };
    use headgate_core::state::memory::MemoryStore;
    use http::{HeaderMap, Method};

    const ESTIMATE: TokenEstimate = TokenEstimate {
        input: 40,
        output: 60,
    };

    #[test]
    fn usage_is_the_providers_count_or_an_estimate() {
        use ExchangeSettlement::{
            ClientCancelled, Complete, GatewayReply, UpstreamCut, UsageMissing,
        };
        let usage = |input, output, input_excludes_cache| {
            Some(TokenUsage {
                input_tokens: input,
                output_tokens: output,
                cached_input_tokens: Some(5),
                input_excludes_cache,
                ..TokenUsage::default()
            })
        };
        for (reached, usage, events, settlement, expected) in [
            (true, usage(Some(10), Some(20), false), 500, Complete, 30),
            (true, usage(Some(10), Some(20), true), 500, Complete, 35),
            (true, None, 0, Complete, 40),
            (true, None, 7, UsageMissing, 47),
            (true, usage(Some(10), Some(1), true), 7, ClientCancelled, 22),
            (true, usage(Some(10), Some(9), true), 7, UpstreamCut, 24),
            (true, None, 0, ClientCancelled, 40),
            (
                true,
                usage(Some(u64::MAX), Some(1), false),
                0,
                Complete,
                TOKENS_MAX,
            ),
            (false, None, 0, GatewayReply, 0),
            (false, None, 0, ClientCancelled, 0),
        ] {
            let info = StreamInfo {
                usage: usage.map_or(UsageReport::Missing, UsageReport::Counted),
                events,
                may_have_cost: reached,
                ..StreamInfo::default()
            };
            assert_eq!(
                tokens_used(&info, info.usage.counted().copied(), settlement, ESTIMATE),
                expected,
                "{usage:?} {events} {settlement:?}"
            );
        }
    }

    #[tokio::test]
    async fn a_reservation_is_settled_once_also_when_it_is_dropped() {
        let state: Arc<dyn StateStore> = Arc::new(MemoryStore::default());
        let limits: Vec<AdmissionLimit> = [
            (LimitKind::Concurrent, 2),
            (LimitKind::TokensPerMinute, 1000),
        ]
        .map(|(measure, most)| AdmissionLimit::new(&"ann".into(), None, measure, most))
        .into();
        let demand = AdmissionRequest {
            limits: &limits,
            tokens: 100,
            cost: None,
            run: None,
        };
        let reserved = async || {
            let admission = state.admit(&demand).get().await.unwrap();
            let remaining: Vec<u64> = admission
                .limit_statuses
                .iter()
                .map(|s| s.remaining)
                .collect();
            match admission.decision {
                AdmissionDecision::Granted(ticket) => (
                    EstimateReservation::new(state.clone(), ticket, ESTIMATE),
                    remaining,
                ),
                refused => panic!("{refused:?}"),
            }
        };
        let (dropped, remaining) = reserved().await;
        assert_eq!(remaining, [1, 900]);
        drop(dropped);
        let (settled, remaining) = reserved().await;
        assert_eq!(remaining, [1, 800]);
        let request = RequestView::new(
            "r".into(),
            Method::POST,
            "/".into(),
            None,
            HeaderMap::new(),
            Vec::new(),
            None,
        );
        settled.settle(&request, ExchangeSettlement::GatewayReply);
        let (_, remaining) = reserved().await;
        assert_eq!(remaining, [1, 800]);
    }
}
