//! Budgets in money of channels: each attempt reserves what it may cost on its channel, and a channel without room for that is
//! passed over.

use super::RateLimitFilter;
use super::batch_money::may_be_made;
use super::cost_maximum::attempt_bound;
use super::cost_rules::CostRules;
use super::headers::resets;
use super::need::estimate;
use super::priced_maximum::CostMaximum;
use super::store_failure::may_warn;
use super::stream_budget::StreamBudgets;
use headgate_core::catalog::batch_work::BatchDemand;
use headgate_core::catalog::price::ModelPrice;
use headgate_core::filter::failed_attempt_usage::FailedAttemptUsages;
use headgate_core::filter::settlement::ExchangeSettlement;
use headgate_core::filter::stream_info::UpstreamProcessing;
use headgate_core::filter::view::{AttemptView, RequestView};
use headgate_core::state::StateStore;
use headgate_core::state::admission::{AdmissionDecision, AdmissionLimit, AdmissionRequest};
use headgate_core::state::budget_levels::BudgetLevels;
use headgate_core::state::lock::lock;
use headgate_core::state::money::{ChannelCreateReservation, MoneyHold};
use headgate_protocol::DuplicateRequestCost;
use headgate_protocol::fault::{Fault, FaultKind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What the attempts of an exchange have reserved of the budgets of their channels.
#[derive(Default)]
pub struct ChannelReservations {
    all: Mutex<Vec<ChannelReservation>>,
    cuts_streams: bool,
}

struct ChannelReservation {
    /// The number of the attempt.
    attempt: u32,
    hold: MoneyHold,
    price: Arc<ModelPrice>,
    rules: CostRules,
    budgets: StreamBudgets,
}

impl ChannelReservations {
    /// Prepares a request for attempts on channels with budgets.
    pub fn expect(request: &mut RequestView) {
        let candidates = request.destination.as_ref().map(|it| &it.candidates);
        let all = candidates.into_iter().flat_map(|all| all.iter());
        let mut budgets = all.flat_map(|one| &one.channel.budgets).peekable();
        if budgets.peek().is_none() {
            return;
        }
        let protocol = request.protocol.map(|protocol| protocol.descriptor());
        let is_paid =
            protocol.is_some_and(|protocol| protocol.cost == DuplicateRequestCost::PaidWork);
        // The provider of a paid create would go on.
        let cuts_streams = !is_paid && budgets.any(|limit| limit.cuts_streams);
        if let Some(expected) = request.state.get_mut::<Self>() {
            expected.cuts_streams |= cuts_streams;
            return;
        }
        request.state.set(Self {
            cuts_streams,
            ..Self::default()
        });
        if is_paid {
            request.state.set(ChannelCreateReservation::default());
        }
    }

    /// Whether a budget may cut the stream of the request.
    pub fn cuts_streams(&self) -> bool {
        self.cuts_streams
    }

    /// # Errors
    /// A budget that cuts streams does not cover what the stream costs.
    pub fn check_stream(
        &self,
        request: &RequestView,
        store: &Arc<dyn StateStore>,
    ) -> Result<(), Fault> {
        let all = lock(&self.all);
        let mut all = all.iter().filter(|one| !one.budgets.is_empty());
        all.find(|one| one.attempt == request.info.attempt)
            .map_or(Ok(()), |one| {
                let cost = one.rules.running_cost(request, Some(&one.price));
                one.budgets.check((cost, one.hold.amount()), store)
            })
    }

    /// Settles each attempt on what it has cost.
    pub fn settle(
        request: &mut RequestView,
        settlement: ExchangeSettlement,
        levels: &BudgetLevels,
    ) {
        let Some(Self { all, .. }) = request.state.take() else {
            return;
        };
        for reserved in all.into_inner().unwrap_or_default() {
            reserved.settle(request, settlement, levels);
        }
    }
}

impl ChannelReservation {
    fn settle(
        mut self,
        request: &RequestView,
        settlement: ExchangeSettlement,
        levels: &BudgetLevels,
    ) {
        let info = &request.info;
        if self.attempt == info.attempt {
            if is_settled_later(request) {
                self.hold.hand_over();
                return;
            }
            let price = Some(&*self.price);
            let cost = self.rules.last_cost(request, settlement, price);
            levels.settle(self.hold, cost);
            return;
        }
        let failed = request.state.get::<FailedAttemptUsages>();
        let failed = failed.and_then(|all| all.find(self.attempt));
        let cost = self.rules.failed_cost(failed.into_iter());
        levels.settle(self.hold, cost);
    }
}

/// Whether the reservation stays after the exchange: until the task of a video or the batch has ended, or because the provider
/// may have accepted a create.
fn is_settled_later(request: &RequestView) -> bool {
    if request.state.get::<BatchDemand>().is_some() {
        return may_be_made(request);
    }
    let create = request.state.get::<ChannelCreateReservation>();
    create.is_some_and(|create| {
        !create.is_there() || request.info.processing == UpstreamProcessing::Unknown
    })
}

impl RateLimitFilter {
    /// What an attempt has to reserve of its channel's budgets; `None` if that has none, or the request is free on it.
    ///
    /// # Errors
    /// Nothing limits what the request can cost.
    pub(super) fn channel_cost(
        request: &RequestView,
        attempt: &AttemptView,
    ) -> Result<Option<CostMaximum>, Fault> {
        if let Some(create) = request.state.get::<ChannelCreateReservation>() {
            create.clear();
        }
        let has_budget = !attempt.candidate.channel.budgets.is_empty();
        if !has_budget || request.state.get::<ChannelReservations>().is_none() {
            return Ok(None);
        }
        let edited = match attempt.edited_by {
            Some(_) => attempt.edited_document(request)?,
            None => None,
        };
        let body = edited.as_ref().or_else(|| request.body.document());
        attempt_bound(request, body, &attempt.candidate)
    }

    /// Reserves what an attempt may cost of its channel's budgets.
    ///
    /// # Errors
    /// There is no room for it, or the store is unreachable. Another channel may serve the request.
    pub(super) async fn reserve_on_channel(
        &self,
        request: &RequestView,
        limits: &[AdmissionLimit],
        cost: CostMaximum,
    ) -> Result<(), Fault> {
        let demand = AdmissionRequest {
            limits,
            tokens: 0,
            cost: Some(cost.nanos),
            run: None,
        };
        let admission = self.state.admit(&demand).get().await.map_err(|error| {
            if may_warn() {
                tracing::warn!(%error, "state store is unreachable; budgets of channels not checked");
            }
            let mut fault = no_room(None).source(error);
            fault.forbids_retry = false;
            fault
        })?;
        let levels = &self.levels;
        levels.note(limits, &admission.limit_statuses, cost.currency(), None);
        if let AdmissionDecision::Refused {
            retry_after, limit, ..
        } = admission.decision
        {
            let resets = resets(&limits[limit], cost.nanos);
            return Err(no_room(resets.then_some(retry_after)));
        }
        let all = request.state.get::<ChannelReservations>();
        if let (Some(all), Some(reserved)) = (all, admission.money) {
            if let Some(create) = request.state.get::<ChannelCreateReservation>() {
                create.set((*reserved).clone());
            }
            let estimate = estimate(request, self.default_output_tokens);
            let rules = CostRules::new(request, cost.price.clone(), reserved.amount, estimate);
            let budgets = match all.cuts_streams && !rules.is_background {
                true => {
                    let admitted = (limits, &*admission.limit_statuses);
                    StreamBudgets::new(&self.live, admitted, &reserved)
                }
                false => StreamBudgets::default(),
            };
            lock(&all.all).push(ChannelReservation {
                attempt: request.info.attempt,
                hold: MoneyHold::new(&self.state, reserved),
                price: cost.price,
                rules,
                budgets,
            });
        }
        Ok(())
    }
}

/// The error for a request that no other channel serves; `wait` is `None` if the budget never has room for it. What others
/// have spent is not the caller's business.
fn no_room(wait: Option<Duration>) -> Fault {
    let advice = match wait {
        Some(_) => "try again later, or ask the operator of this gateway",
        None => "ask the operator of this gateway for more",
    };
    let message =
        format!("the budget of this gateway for the model has no room for the request; {advice}");
    let mut fault = Fault::new(FaultKind::NoChannel, message)
        .detail("the budget of the channel has no room for the request");
    fault.forbids_retry = wait.is_none();
    fault.retry_after = wait;
    fault
}
