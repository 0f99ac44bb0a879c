//! The ticket of a request that was admitted, or what refuses it.

use super::headers;
use super::need::RequestNeed;
use super::run_refusal::run_refusal;
use headgate_core::filter::stream_info::QuotaDecision;
use headgate_core::state::admission::{
    AdmissionDecision, AdmissionLimit, AdmissionTicket, LimitStatus,
};
use headgate_protocol::fault::{Fault, FaultKind};

/// The ticket of an admission, or the limit that refuses it with the error for the caller.
pub fn granted_ticket(
    decision: AdmissionDecision,
    limits: &[AdmissionLimit],
    statuses: &[LimitStatus],
    need: &RequestNeed,
) -> Result<AdmissionTicket, (QuotaDecision, Fault)> {
    match decision {
        AdmissionDecision::Granted(ticket) => Ok(ticket),
        AdmissionDecision::Refused { limit, retry_after } => {
            let (Some(limit), Some(status)) = (limits.get(limit), statuses.get(limit)) else {
                let fault = Fault::new(
                    FaultKind::Overloaded,
                    "the admission was cancelled; try again",
                );
                return Err((QuotaDecision::Unchecked, fault));
            };
            let left = status.remaining;
            let refusal = match &need.bound {
                Some(bound) if limit.measure().counts_money() => {
                    headers::money_refusal(limit, bound, left, retry_after)
                }
                _ => headers::refusal(limit, need.estimate.total(), left, retry_after),
            };
            Err((QuotaDecision::Refused(limit.measure()), refusal))
        }
        AdmissionDecision::RunRefused(refusal) => {
            let decision = QuotaDecision::RunRefused(refusal.limit());
            let Some(run) = &need.run else {
                let fault = Fault::new(FaultKind::OverBudget, "quota exceeded: the run is over");
                return Err((decision, fault));
            };
            let currency = need.bound.as_ref().map_or("", |bound| &**bound.currency());
            Err((decision, run_refusal(&refusal, run, currency)))
        }
    }
}
