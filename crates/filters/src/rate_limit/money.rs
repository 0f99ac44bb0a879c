//! What a request has reserved of budgets in money, and what it has cost when it ends.

use headgate_core::catalog::price::{BillableMediaOutput, Cost, ExchangeCost, ModelPrice};
use headgate_core::filter::settlement::ExchangeSettlement;
use headgate_core::filter::stream_info::{StreamInfo, UpstreamProcessing};
use headgate_core::filter::view::RequestView;
use headgate_core::state::StateStore;
use headgate_core::state::lock::lock;
use headgate_core::state::money::{BudgetCharge, CreateReservation, MoneyHold, MoneyReservation};
use headgate_protocol::DuplicateRequestCost;
use headgate_protocol::estimate::TokenEstimate;
use headgate_protocol::usage::TokenUsage;
use std::sync::{Arc, Mutex};

/// The reservations of an exchange: one for each model that it tries.
#[derive(Default)]
pub struct ReservedMoney(Vec<ModelReservation>);

struct ModelReservation {
    model: Arc<str>,
    hold: MoneyHold,
    /// The price on the channel of the last attempt.
    price: Mutex<Option<Arc<ModelPrice>>>,
    estimate: TokenEstimate,
    /// Whether the provider works on although the caller has left.
    is_background: bool,
}

impl ReservedMoney {
    /// Keeps what was reserved for the request's model.
    pub fn add(
        request: &mut RequestView,
        store: &Arc<dyn StateStore>,
        reserved: Option<Box<MoneyReservation>>,
        estimate: TokenEstimate,
    ) {
        let (Some(reserved), Some(model)) = (reserved, request.model().cloned()) else {
            return;
        };
        let protocol = request.protocol.map(|protocol| protocol.descriptor());
        if protocol.is_some_and(|protocol| protocol.cost == DuplicateRequestCost::PaidWork) {
            let create = CreateReservation::new((*reserved).clone());
            request.state.set(create);
        }
        let body = request.body.document().map(|body| body.root());
        let background = body.and_then(|root| root.get("background"));
        let is_background = background.is_some_and(|value| value.raw() == b"true");
        let ReservedMoney(all) = request.state.get_or_default();
        all.push(ModelReservation {
            model: model.name.clone(),
            hold: MoneyHold::new(store, reserved),
            price: Mutex::default(),
            estimate,
            is_background,
        });
    }

    /// Notes the price on the channel of an attempt.
    pub fn note_price(&self, model: &str, price: Option<&Arc<ModelPrice>>) {
        let mut all = self.0.iter();
        if let Some(reserved) = all.find(|reserved| *reserved.model == *model) {
            *lock(&reserved.price) = price.cloned();
        }
    }

    /// Settles on what the exchange has cost: on the model that it tried last, since it has used nothing of others.
    pub fn settle(request: &mut RequestView, settlement: ExchangeSettlement) {
        let Some(Self(all)) = request.state.take() else {
            return;
        };
        let mut charge = 0_u64;
        for mut reserved in all {
            if reserved.is_settled_later(request) {
                charge = charge.saturating_add(reserved.hold.amount());
                reserved.hold.hand_over();
                continue;
            }
            let is_last = request
                .model()
                .is_some_and(|model| model.name == reserved.model);
            let cost = match is_last {
                true => reserved.cost(request, settlement),
                false => 0,
            };
            reserved.warn_of_excess(request, cost);
            charge = charge.saturating_add(cost);
            reserved.hold.settle(cost);
        }
        request.state.set(BudgetCharge(charge));
    }
}

impl ModelReservation {
    /// Whether the reservation stays after the exchange: until the task of a video has ended, or until an operator finds out
    /// whether the provider made what it may have accepted.
    fn is_settled_later(&self, request: &RequestView) -> bool {
        let Some(create) = request.state.get::<CreateReservation>() else {
            return false;
        };
        let is_last = *create.reserved.id == *self.hold.id();
        let is_unknown = request.info.processing == UpstreamProcessing::Unknown;
        create.keeps(self.hold.id()) || (is_last && is_unknown)
    }

    /// What the provider's report costs; what cannot be known costs what was reserved.
    fn cost(&self, request: &RequestView, settlement: ExchangeSettlement) -> u64 {
        let info = &request.info;
        if !info.may_have_cost {
            return 0;
        }
        let price = lock(&self.price).clone();
        let Some(price) = price else {
            return self.hold.amount();
        };
        // What nobody reported of a whole response, or of one that the provider goes on to make, can be all that was reserved.
        let is_whole = settlement == ExchangeSettlement::Complete || self.is_background;
        if is_whole && info.usage.counted().is_none() && price.tokens.is_some() {
            return self.hold.amount();
        }
        let usage = self.usage(info, settlement, &price);
        let media = request.state.get::<BillableMediaOutput>();
        match price.cost(usage.as_ref(), media) {
            ExchangeCost::Priced(Cost(nanos)) => nanos,
            // Something has a price, since it was reserved, and the provider did not report that.
            ExchangeCost::Unpriced | ExchangeCost::Unmetered => self.hold.amount(),
        }
    }

    /// The usage that the provider reported. If its response broke off before, and tokens are all that has a price: the
    /// estimated input, and at least one output token per event.
    fn usage(
        &self,
        info: &StreamInfo,
        settlement: ExchangeSettlement,
        price: &ModelPrice,
    ) -> Option<TokenUsage> {
        let counted = info.usage.counted().copied();
        if settlement == ExchangeSettlement::Complete && counted.is_some() {
            return counted;
        }
        if price.tokens.is_none() || price.audio_minute.is_some() {
            return counted;
        }
        let usage = counted.unwrap_or_default();
        Some(TokenUsage {
            input_tokens: usage.input_tokens.or(Some(self.estimate.input)),
            output_tokens: Some(usage.output_tokens.unwrap_or(0).max(info.events)),
            ..usage
        })
    }

    fn warn_of_excess(&self, request: &RequestView, cost: u64) {
        let reserved = self.hold.amount();
        if cost > reserved && reserved > 0 {
            tracing::warn!(
                id = &*request.id,
                caller = request.caller.as_ref().map(|caller| &*caller.name),
                model = &*self.model,
                cost = %Cost(cost),
                reserved = %Cost(reserved),
                "a request cost more than was reserved of the caller's budget"
            );
        }
    }
}
