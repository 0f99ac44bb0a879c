//! Admissions after the first one of a request: for models that stand in, and for what attempts need besides.

use super::RateLimitFilter;
use super::money::{NewReservation, ReservedMoney};
use super::need::RequestNeed;
use super::priced_maximum::CostMaximum;
use super::reservation::EstimateReservation;
use super::store_failure::unchecked_limits;
use super::stream_guard::guard_stream;
use super::ticket::granted_ticket;
use headgate_core::filter::settlement::ExchangeSettlement;
use headgate_core::filter::view::RequestView;
use headgate_core::state::admission::{AdmissionLimit, AdmissionResult};
use headgate_protocol::fault::Fault;
use std::sync::Arc;

/// What is reserved for models that stand in for the one that the request names.
#[derive(Default)]
pub struct FallbackReservations(Vec<(Arc<str>, EstimateReservation)>);

impl FallbackReservations {
    pub fn has(&self, model: &Arc<str>) -> bool {
        self.0.iter().any(|(reserved, _)| reserved == model)
    }

    /// Settles those of an exchange. A model that was passed over has used nothing.
    pub fn settle(request: &mut RequestView, settlement: ExchangeSettlement) {
        let Some(Self(reservations)) = request.state.take() else {
            return;
        };
        for (model, reservation) in reservations {
            match request.model().is_some_and(|served| served.name == model) {
                true => reservation.settle(request, settlement),
                false => reservation.release(),
            }
        }
    }
}

impl RateLimitFilter {
    /// Reserves what the limits of a model that stands in ask for.
    pub(super) async fn admit_fallback(
        &self,
        request: &mut RequestView,
        model: &Arc<str>,
        limits: &[AdmissionLimit],
    ) -> Result<(), Fault> {
        let Some(caller) = request.caller.clone() else {
            return Ok(());
        };
        let need = RequestNeed::new(request, &caller, limits, self.default_output_tokens)?;
        let need = need.for_fallback();
        let admission = self.state.admit(&need.demand(limits)).get().await;
        let AdmissionResult {
            limit_statuses,
            decision,
            money,
            run: _,
        } = match admission {
            Ok(admission) => admission,
            Err(unavailable) => {
                return self
                    .decide_without_store(request, &need, unavailable)
                    .map(|_| ());
            }
        };
        self.note_levels(request, &need, limits, &limit_statuses);
        let granted = granted_ticket(decision, limits, &limit_statuses, &need);
        let ticket = granted.map_err(|(_, refusal)| refusal)?;
        let new = NewReservation {
            reserved: money,
            bound: need.bound.as_ref(),
            estimate: need.estimate,
            admitted: (limits, &limit_statuses),
            live: &self.live,
        };
        ReservedMoney::add(request, &self.state, new);
        guard_stream(request, &self.state);
        let reservation = EstimateReservation::new(self.state.clone(), ticket, need.estimate);
        let mut all: FallbackReservations = request.state.take().unwrap_or_default();
        all.0.push((model.clone(), reservation));
        request.state.set(all);
        Ok(())
    }

    /// Reserves what an attempt may cost beyond what is reserved.
    pub(super) async fn reserve_more(
        &self,
        request: &RequestView,
        shortage: CostMaximum,
    ) -> Result<(), Fault> {
        let model = request.model();
        let limits = request
            .caller
            .as_ref()
            .map(|caller| caller.limits.for_model(model.map(|model| &**model)));
        let limits = limits.unwrap_or_default();
        let of_money = |limit: &&AdmissionLimit| limit.measure().counts_money();
        let limits: Vec<_> = limits.iter().filter(of_money).cloned().collect();
        let need = RequestNeed::from_cost(request, shortage);
        let admission = self.state.admit(&need.demand(&limits)).get().await;
        let admission = admission.map_err(unchecked_limits)?;
        let statuses = &admission.limit_statuses;
        self.note_levels(request, &need, &limits, statuses);
        let granted = granted_ticket(admission.decision, &limits, statuses, &need);
        granted.map_err(|(_, refusal)| refusal)?;
        if let Some(reserved) = request.state.get::<ReservedMoney>() {
            reserved.add_more(request, &self.state, admission.money);
        }
        Ok(())
    }
}
