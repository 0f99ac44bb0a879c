//! How an exchange ends, for its filters, its log line and its metrics.

use super::{Exchange, reply};
use headgate_core::filter::run_name;
use headgate_core::filter::settlement::ExchangeSettlement;
use headgate_core::filter::stream_info::{DenialReplyForReplay, UpstreamProcessing, UsageReport};
use headgate_protocol::fault::{Fault, FaultKind};
use http::StatusCode;

impl Exchange<'_> {
    /// The settlement of an exchange that continued after its caller had left.
    pub(super) fn leave_caller(&mut self) -> ExchangeSettlement {
        self.record.broken = true;
        if !self.downstream.is_committed() {
            self.record.status = None;
        }
        ExchangeSettlement::ClientCancelled
    }

    /// Keeps the denial of a response, so that a retry of the request can get the same one.
    pub(super) fn note_denial(&mut self, fault: &Fault) {
        let is_accepted = self.request.info.processing == UpstreamProcessing::Accepted;
        if is_accepted && matches!(fault.kind, FaultKind::Denied(_)) {
            let denial = reply::from_fault(self.request.protocol, fault, &self.request.id);
            self.request.state.set(DenialReplyForReplay(denial));
        }
    }

    /// The settlement of an exchange whose response was passed on.
    pub(super) fn settlement_for(&self, status: StatusCode) -> ExchangeSettlement {
        let info = &self.request.info;
        let is_success = status.is_success() && info.stream_error.is_none();
        match (is_success, info.usage) {
            (false, _) => ExchangeSettlement::UpstreamError,
            (true, UsageReport::Missing) => ExchangeSettlement::UsageMissing,
            (true, UsageReport::Implausible) => ExchangeSettlement::UsageImplausible,
            (true, UsageReport::NotMetered | UsageReport::Counted(_)) => {
                ExchangeSettlement::Complete
            }
        }
    }

    /// Tells all filters how the exchange ended, and records it.
    pub(super) fn settle(&mut self, settlement: ExchangeSettlement) {
        run_name::note_status(&mut self.request, self.record.status);
        self.route.request.on_done(&mut self.request, settlement);
        self.route.response.on_done(&mut self.request, settlement);
        if self.record.candidate.is_none() {
            self.record.candidate = self.request.info.subrequest_candidate.take();
        }
        self.record.log_and_count(
            self.gateway,
            &self.snapshot,
            &self.route,
            &self.request,
            &self.downstream,
            settlement,
        );
    }
}
