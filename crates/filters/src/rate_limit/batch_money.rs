//! Budgets in money of batches: the create reserves what all requests can cost, and the batch keeps that until its end.

use super::RateLimitFilter;
use super::batch_costs::batch_bounds;
use super::need::RequestNeed;
use super::priced_maximum::CostMaximum;
use super::reservation::EstimateReservation;
use super::store_failure::unchecked_limits;
use super::ticket::granted_ticket;
use headgate_core::catalog::batch_work::{BatchDemand, BatchModelDemand};
use headgate_core::catalog::caller::Caller;
use headgate_core::catalog::model::Model;
use headgate_core::filter::FilterAction;
use headgate_core::filter::batch_reservation::{BatchModelReservation, BatchReservation};
use headgate_core::filter::budget_charge::{BudgetCharge, ModelCharge};
use headgate_core::filter::stream_info::UpstreamProcessing;
use headgate_core::filter::view::RequestView;
use headgate_core::state::admission::{AdmissionLimit, AdmissionRequest};
use headgate_core::state::money::MoneyReservation;
use headgate_core::state::run::RunName;
use headgate_protocol::fault::Fault;
use std::sync::Arc;

/// Whether the provider may have made the batch that a request creates.
pub fn may_be_made(request: &RequestView) -> bool {
    match request.info.processing {
        UpstreamProcessing::Unsent | UpstreamProcessing::Refused => false,
        UpstreamProcessing::Unknown | UpstreamProcessing::Accepted => true,
    }
}

impl RateLimitFilter {
    /// Releases at the end of the exchange what a create has reserved, unless the provider may have made the batch: then it stays
    /// until the end of that, or until an operator finds out whether it was made. A batch that no record has costs what was
    /// reserved, as does what nobody settles.
    pub(super) fn settle_batch(&self, request: &mut RequestView) {
        let Some(reserved) = request.state.take::<BatchReservation>() else {
            return;
        };
        let is_made = may_be_made(request);
        for reserved in reserved.reservations().filter(|_| !is_made) {
            self.levels.correct(reserved, 0);
            self.state.settle_money(reserved.clone(), 0);
        }
        let mut charge = BudgetCharge::default();
        if is_made {
            add_charges(&mut charge, &reserved, request);
        }
        request.state.set(charge);
    }

    /// Admits the create of a batch by the limits of its caller, and by the budgets in money of its models.
    pub(super) async fn admit_batch(
        &self,
        request: &mut RequestView,
        caller: Arc<Caller>,
        batch: BatchDemand,
    ) -> Result<FilterAction, Fault> {
        let is_reserved = request.state.get::<BatchReservation>().is_some();
        if is_reserved || request.state.get::<EstimateReservation>().is_some() {
            return Ok(FilterAction::Continue);
        }
        let models = batch.models.as_deref().unwrap_or_default();
        let limits = limits_of_all(&caller, models);
        let need = RequestNeed::new(request, &caller, &limits, self.default_output_tokens)?;
        if let Some(run) = &need.run {
            request.state.set(RunName(run.key.name.clone()));
        }
        let own = limits_of_each(&caller, models);
        if need.bound.is_some() || own.iter().any(|limits| !limits.is_empty()) {
            self.reserve_for_models(request, &batch, &own).await?;
        }
        if limits.is_empty() && need.run.is_none() {
            return Ok(FilterAction::Continue);
        }
        let admission = self.state.admit(&need.demand(&limits)).get().await;
        self.decide(request, &limits, &need, admission)
    }

    /// Reserves for each model what its own limits ask for. What is reserved is released at the end of the exchange if another
    /// limit refuses the batch.
    async fn reserve_for_models(
        &self,
        request: &mut RequestView,
        batch: &BatchDemand,
        own: &[Vec<AdmissionLimit>],
    ) -> Result<(), Fault> {
        let bounds = batch_bounds(request, batch)?;
        request.state.set(BatchReservation::default());
        let mut own = own.iter();
        for bound in bounds {
            let limits = own.next().filter(|limits| !limits.is_empty());
            let cost = bound.price.clone().map(|price| CostMaximum {
                nanos: bound.nanos,
                price,
            });
            let money = match limits.zip(cost) {
                Some((limits, cost)) => self.reserve_for_model(request, limits, cost).await?,
                None => None,
            };
            let reserved: &mut BatchReservation = request.state.get_or_default();
            reserved.models.push(BatchModelReservation { bound, money });
        }
        Ok(())
    }

    async fn reserve_for_model(
        &self,
        request: &mut RequestView,
        limits: &[AdmissionLimit],
        cost: CostMaximum,
    ) -> Result<Option<MoneyReservation>, Fault> {
        let demand = AdmissionRequest {
            limits,
            tokens: 0,
            cost: Some(cost.nanos),
            run: None,
        };
        let admission = self.state.admit(&demand).get().await;
        let admission = admission.map_err(unchecked_limits)?;
        let need = RequestNeed::from_cost(request, cost);
        let statuses = &admission.limit_statuses;
        self.note_levels(request, &need, limits, statuses);
        if let Err((quota, refusal)) = granted_ticket(admission.decision, limits, statuses, &need) {
            request.info.quota = quota;
            return Err(refusal);
        }
        Ok(admission.money.map(|reserved| *reserved))
    }
}

/// Adds what a batch is charged with until it is settled: what it has reserved.
fn add_charges(charge: &mut BudgetCharge, reserved: &BatchReservation, request: &RequestView) {
    let batch = request.state.get::<BatchDemand>();
    let models = batch.and_then(|batch| batch.models.as_ref());
    let admitted_ms = reserved.reservations().next().map(|it| it.taken_ms);
    let models = models.into_iter().flatten().zip(&reserved.models);
    for (demand, BatchModelReservation { bound, .. }) in models {
        let (Some(price), Some(admitted_ms)) = (&bound.price, admitted_ms) else {
            continue;
        };
        charge.add(ModelCharge {
            model: demand.model.clone(),
            channel: reserved.last_channel(),
            currency: price.currency.clone(),
            admitted_ms,
            nanos: bound.nanos,
        });
    }
}

/// The limits that count all requests of a batch. Those of a model are of money, and are among them if there is no other
/// model: one admission has one cost.
fn limits_of_all(caller: &Caller, models: &[BatchModelDemand]) -> Vec<AdmissionLimit> {
    let only: Option<&Model> = match models {
        [only] => Some(&only.model),
        _ => None,
    };
    let limits = caller.limits.for_model(only);
    let holds =
        |limit: &&AdmissionLimit| limit.counter.model().is_none() || limit.measure().counts_money();
    limits.iter().filter(holds).cloned().collect()
}

/// The limits in money of each model alone, if there are several.
fn limits_of_each(caller: &Caller, models: &[BatchModelDemand]) -> Vec<Vec<AdmissionLimit>> {
    if models.len() < 2 {
        return Vec::new();
    }
    let is_own =
        |limit: &&AdmissionLimit| limit.counter.model().is_some() && limit.measure().counts_money();
    let limits = models.iter().map(|one| {
        let limits = caller.limits.for_model(Some(&one.model));
        limits.iter().filter(is_own).cloned().collect()
    });
    limits.collect()
}
