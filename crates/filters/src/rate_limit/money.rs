//! What a request has reserved of budgets in money, until it is settled.

use super::cost_maximum::attempt_maximum;
use super::cost_rules::CostRules;
use super::live_budget::LiveBudgets;
use super::priced_maximum::CostMaximum;
use super::stream_budget::StreamBudgets;
use headgate_core::catalog::model::Model;
use headgate_core::catalog::price::{Cost, ModelPrice};
use headgate_core::filter::batch_reservation::BatchReservation;
use headgate_core::filter::budget_charge::{BudgetCharge, ModelCharge};
use headgate_core::filter::failed_attempt_usage::FailedAttemptUsages;
use headgate_core::filter::settlement::ExchangeSettlement;
use headgate_core::filter::stream_info::UpstreamProcessing;
use headgate_core::filter::view::{AttemptView, RequestView};
use headgate_core::state::StateStore;
use headgate_core::state::admission::{AdmissionLimit, LimitStatus};
use headgate_core::state::budget_levels::BudgetLevels;
use headgate_core::state::lock::lock;
use headgate_core::state::money::{CreateReservation, MoneyHold, MoneyReservation};
use headgate_protocol::DuplicateRequestCost;
use headgate_protocol::estimate::TokenEstimate;
use headgate_protocol::fault::Fault;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// The reservations of an exchange: one for each model that it tries.
#[derive(Default)]
pub struct ReservedMoney {
    models: Vec<ModelReservation>,
    /// Whether a later filter has edited the body since.
    is_body_edited: AtomicBool,
}

/// What an admission has reserved for the model of a request.
pub struct NewReservation<'r> {
    pub reserved: Option<Box<MoneyReservation>>,
    /// `None` if the request costs nothing.
    pub bound: Option<&'r CostMaximum>,
    pub estimate: TokenEstimate,
    /// The limits that have admitted it, and their state.
    pub admitted: (&'r [AdmissionLimit], &'r [LimitStatus]),
    pub live: &'r LiveBudgets,
}

struct ModelReservation {
    model: Arc<Model>,
    hold: MoneyHold,
    /// What attempts needed besides: for edits of their bodies, and for those that failed before.
    more: Mutex<Vec<MoneyHold>>,
    last_attempt: Mutex<AttemptedChannel>,
    rules: CostRules,
    budgets: StreamBudgets,
}

/// The channel of the last attempt for a model.
#[derive(Clone, Default)]
struct AttemptedChannel {
    name: Option<Arc<str>>,
    price: Option<Arc<ModelPrice>>,
}

impl ReservedMoney {
    /// Keeps what was reserved for the request's model.
    pub fn add(request: &mut RequestView, store: &Arc<dyn StateStore>, new: NewReservation<'_>) {
        let (Some(reserved), Some(bound)) = (new.reserved, new.bound) else {
            return;
        };
        if let Some(batch) = request.state.get_mut::<BatchReservation>() {
            batch.whole = Some(*reserved);
            return;
        }
        let Some(model) = request.model().cloned() else {
            return;
        };
        let protocol = request.protocol.map(|protocol| protocol.descriptor());
        let is_paid =
            protocol.is_some_and(|protocol| protocol.cost == DuplicateRequestCost::PaidWork);
        if is_paid {
            let create = CreateReservation::new((*reserved).clone());
            request.state.set(create);
        }
        let price = bound.price.clone();
        let rules = CostRules::new(request, price, reserved.amount, new.estimate);
        let budgets = match is_paid || rules.is_background {
            // Its provider would go on.
            true => StreamBudgets::default(),
            false => StreamBudgets::new(new.live, new.admitted, &reserved),
        };
        let all: &mut Self = request.state.get_or_default();
        all.models.push(ModelReservation {
            model,
            hold: MoneyHold::new(store, reserved),
            more: Mutex::default(),
            last_attempt: Mutex::default(),
            rules,
            budgets,
        });
    }

    /// Notes that the body that was admitted is edited for all attempts.
    pub fn note_edit(&self) {
        self.is_body_edited.store(true, Ordering::Relaxed);
    }

    /// Notes the price on the channel of an attempt. Returns what its request may cost beyond what is reserved: for edits
    /// after the admission, and for attempts that failed before.
    ///
    /// # Errors
    /// Nothing limits what the edited request can cost.
    pub fn shortage(
        &self,
        request: &RequestView,
        attempt: &AttemptView,
    ) -> Result<Option<CostMaximum>, Fault> {
        let Some(reserved) = request.model().and_then(|model| self.find(&model.name)) else {
            return Ok(None);
        };
        let candidate = &attempt.candidate;
        let price = candidate.model.as_ref().and_then(|it| it.price.clone());
        *lock(&reserved.last_attempt) = AttemptedChannel {
            name: Some(candidate.channel.name.clone()),
            price,
        };
        let failed = reserved.failed_cost(request);
        let is_edited = attempt.edited_by.is_some() || self.is_body_edited.load(Ordering::Relaxed);
        if failed == 0 && !is_edited {
            return Ok(None);
        }
        let rules = &reserved.rules;
        let bound = match is_edited {
            false => rules.reserved,
            true => {
                let edited = match attempt.edited_by {
                    Some(_) => attempt.edited_document(request)?,
                    None => None,
                };
                let body = edited.as_ref().or_else(|| request.body.document());
                attempt_maximum(request, body, candidate, &rules.reserved_price)?
            }
        };
        let needed = bound.max(rules.reserved).saturating_add(failed);
        let missing = needed.saturating_sub(reserved.amount());
        Ok((missing > 0).then(|| CostMaximum {
            nanos: missing,
            price: rules.reserved_price.clone(),
        }))
    }

    /// Keeps what was reserved besides for the request's model.
    pub fn add_more(
        &self,
        request: &RequestView,
        store: &Arc<dyn StateStore>,
        reserved: Option<Box<MoneyReservation>>,
    ) {
        let model = request.model().and_then(|model| self.find(&model.name));
        if let (Some(model), Some(reserved)) = (model, reserved) {
            lock(&model.more).push(MoneyHold::new(store, reserved));
        }
    }

    /// Whether a budget may cut the stream of the request.
    pub fn cuts_streams(&self) -> bool {
        self.models
            .iter()
            .any(|reserved| !reserved.budgets.is_empty())
    }

    /// # Errors
    /// A budget that cuts streams does not cover what the stream costs.
    pub fn check_stream(
        &self,
        request: &RequestView,
        store: &Arc<dyn StateStore>,
    ) -> Result<(), Fault> {
        let reserved = request.model().and_then(|model| self.find(&model.name));
        let Some(reserved) = reserved.filter(|it| !it.budgets.is_empty()) else {
            return Ok(());
        };
        let price = lock(&reserved.last_attempt).price.clone();
        let running = reserved.rules.running_cost(request, price.as_deref());
        let cost = running.saturating_add(reserved.failed_cost(request));
        reserved.budgets.check((cost, reserved.amount()), store)
    }

    /// Settles on what the exchange has cost: on the model that it tried last, and on failed attempts.
    pub fn settle(
        request: &mut RequestView,
        settlement: ExchangeSettlement,
        levels: &BudgetLevels,
    ) {
        let Some(Self { models, .. }) = request.state.take() else {
            return;
        };
        let mut charge = BudgetCharge::default();
        for mut reserved in models {
            if reserved.is_settled_later(request) {
                reserved.add_reserved(&mut charge);
                reserved.hold.hand_over();
                continue;
            }
            let is_last = request
                .model()
                .is_some_and(|model| model.name == reserved.model.name);
            let price = lock(&reserved.last_attempt).price.clone();
            let last = match is_last {
                true => reserved
                    .rules
                    .last_cost(request, settlement, price.as_deref()),
                false => 0,
            };
            let cost = last.saturating_add(reserved.failed_cost(request));
            reserved.warn_of_excess(request, cost);
            charge.add(reserved.charge(&reserved.hold, cost));
            reserved.settle(cost, levels);
        }
        request.state.set(charge);
    }

    fn find(&self, model: &str) -> Option<&ModelReservation> {
        let mut all = self.models.iter();
        all.find(|reserved| *reserved.model.name == *model)
    }
}

impl ModelReservation {
    /// What is reserved, in billionths.
    fn amount(&self) -> u64 {
        let more = lock(&self.more);
        let amounts = more.iter().map(MoneyHold::amount);
        amounts.fold(self.hold.amount(), u64::saturating_add)
    }

    /// What a part of the reservation is charged with.
    fn charge(&self, hold: &MoneyHold, nanos: u64) -> ModelCharge {
        let reserved = hold.reservation();
        ModelCharge {
            model: self.model.clone(),
            channel: lock(&self.last_attempt).name.clone(),
            currency: self.rules.reserved_price.currency.clone(),
            admitted_ms: reserved.map_or(0, |reserved| reserved.taken_ms),
            nanos,
        }
    }

    /// Charges all that is reserved.
    fn add_reserved(&self, charge: &mut BudgetCharge) {
        for hold in lock(&self.more).iter().chain([&self.hold]) {
            charge.add(self.charge(hold, hold.amount()));
        }
    }

    /// What the attempts for this model cost that have failed before the current one.
    fn failed_cost(&self, request: &RequestView) -> u64 {
        let Some(works) = request.state.get::<FailedAttemptUsages>() else {
            return 0;
        };
        let before = works.before(request.info.attempt);
        self.rules
            .failed_cost(before.filter(|work| work.model.as_ref() == Some(&self.model.name)))
    }

    /// Settles all that is reserved on one cost.
    fn settle(self, cost: u64, levels: &BudgetLevels) {
        for hold in lock(&self.more).drain(..) {
            levels.settle(hold, 0);
        }
        levels.settle(self.hold, cost);
    }

    /// Whether the reservation stays after the exchange: until the task of a video has ended, or until an operator finds out
    /// whether the provider made what it may have accepted. What edits needed besides is then charged at once.
    fn is_settled_later(&self, request: &RequestView) -> bool {
        let Some(create) = request.state.get::<CreateReservation>() else {
            return false;
        };
        let is_last = *create.reserved.id == *self.hold.id();
        let is_unknown = request.info.processing == UpstreamProcessing::Unknown;
        create.keeps(self.hold.id()) || (is_last && is_unknown)
    }

    fn warn_of_excess(&self, request: &RequestView, cost: u64) {
        let reserved = self.amount();
        if cost > reserved && reserved > 0 {
            tracing::warn!(
                id = &*request.id,
                caller = request.caller.as_ref().map(|caller| &*caller.name),
                model = &*self.model.name,
                cost = %Cost(cost),
                reserved = %Cost(reserved),
                "a request cost more than was reserved of the caller's budget"
            );
        }
    }
}
