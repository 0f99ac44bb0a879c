//! A call of a run, from its admission or refusal to its end.

use super::reservation::exchange_tokens;
use super::run_refusal::refusal_headers;
use headgate_core::filter::budget_charge::BudgetCharge;
use headgate_core::filter::settlement::ExchangeSettlement;
use headgate_core::filter::view::RequestView;
use headgate_core::state::StateStore;
use headgate_core::state::calendar::unix_ms;
use headgate_core::state::run::{RunCall, RunCallEnd, RunKey, RunTicket, SentStatus};
use headgate_protocol::estimate::TokenEstimate;
use std::sync::Arc;

/// A call of a run that has not ended. Dropping it ends it with what was reserved, since an exchange may be dropped at any
/// point.
pub struct OpenRunCall {
    state: Arc<dyn StateStore>,
    /// `None` once it has ended.
    end: Option<Box<RunCallEnd>>,
    estimate: TokenEstimate,
}

impl OpenRunCall {
    /// Begins a call that was admitted.
    pub fn admit(
        request: &mut RequestView,
        state: &Arc<dyn StateStore>,
        ticket: RunTicket,
        estimate: TokenEstimate,
    ) {
        let tokens = ticket.tokens;
        let mut call = Self::new(request, state, ticket.key.clone(), estimate);
        if let Some(end) = &mut call.end {
            end.ticket = Some(ticket);
            end.call.tokens = tokens;
        }
        request.state.set(call);
    }

    /// Begins a call that the limit of this name refused.
    pub fn refuse(
        request: &mut RequestView,
        state: &Arc<dyn StateStore>,
        key: &RunKey,
        limit: &'static str,
    ) {
        let mut call = Self::new(request, state, key.clone(), TokenEstimate::default());
        if let Some(end) = &mut call.end {
            end.call.refused_by = Some(limit.to_owned());
        }
        let headers = refusal_headers(&key.name, limit);
        request.response_headers.extend(headers);
        request.state.set(call);
    }

    /// Ends the call of a request that has one, on what the exchange has used.
    pub fn end(request: &mut RequestView, settlement: ExchangeSettlement) {
        let Some(mut open) = request.state.take::<Self>() else {
            return;
        };
        if let Some(end) = &mut open.end {
            let status = request.state.get().map(|SentStatus(status)| *status);
            end.call.status = status.unwrap_or(0);
            if end.ticket.is_some() {
                end.call.tokens = exchange_tokens(request, settlement, open.estimate);
                let charge = request.state.get::<BudgetCharge>();
                end.call.cost = charge.map(BudgetCharge::nanos);
            }
        }
    }

    fn new(
        request: &RequestView,
        state: &Arc<dyn StateStore>,
        key: RunKey,
        estimate: TokenEstimate,
    ) -> Self {
        let call = RunCall {
            at_ms: unix_ms(),
            id: request.id.to_string(),
            model: request.model().map(|model| model.name.to_string()),
            ..RunCall::default()
        };
        Self {
            state: state.clone(),
            end: Some(Box::new(RunCallEnd {
                key,
                ticket: None,
                call,
            })),
            estimate,
        }
    }
}

impl Drop for OpenRunCall {
    fn drop(&mut self) {
        if let Some(end) = self.end.take() {
            self.state.end_run_call(*end);
        }
    }
}
