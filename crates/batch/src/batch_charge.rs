//! What a batch that has ended is charged of budgets in money, and the settlement of what its create has reserved.

#[cfg(test)]
mod tests;

use crate::batch_record::BatchRecord;
use crate::batch_usage::BatchUsage;
use crate::recorded_money::RecordedBatchMoney;
use headgate_core::catalog::price::{Cost, ExchangeCost, ModelPrice};
use headgate_core::feature::metrics::ChargeChange;
use headgate_core::state::StateStore;
use headgate_core::state::budget_levels::BudgetLevels;
use headgate_core::state::money::MoneyReservation;
use headgate_protocol::usage::TokenUsage;
use std::sync::Arc;

/// What a batch was charged of budgets of its caller, by model.
pub struct BatchCharge {
    models: Vec<BatchModelCharge>,
    /// The time of the admission, in Unix milliseconds.
    admitted_ms: u64,
}

/// What the requests for a model have cost, in billionths.
struct BatchModelCharge {
    nanos: u64,
    reserved: u64,
    currency: String,
    /// Whether that is what the provider reported.
    is_known: bool,
    is_on_channel: bool,
}

impl BatchCharge {
    pub fn charge(&self) -> Cost {
        Cost(sum(self.models.iter().map(|model| model.nanos)))
    }

    /// What the create had reserved.
    pub fn reserved(&self) -> Cost {
        Cost(sum(self.models.iter().map(|model| model.reserved)))
    }

    /// By how much it differs from what the create was charged with.
    pub fn changes(&self, caller: &Arc<str>, record: &BatchRecord) -> Vec<ChargeChange> {
        let models = self.models.iter().zip(&record.models);
        let changed = models.filter(|(charge, _)| charge.nanos != charge.reserved);
        let changes = changed.map(|(charge, model)| ChargeChange {
            admitted_ms: self.admitted_ms,
            caller: caller.clone(),
            model: model.name.clone(),
            channel: record.channel.clone(),
            currency: charge.currency.clone(),
            added: charge.nanos.saturating_sub(charge.reserved),
            refunded: charge.reserved.saturating_sub(charge.nanos),
        });
        changes.collect()
    }
}

/// Settles what was reserved on what the batch has cost; what is not known costs what was reserved. Called by the gateway
/// that has marked the batch as settled. Returns what its caller was charged, if that has a budget.
pub fn settle_money(
    money: &RecordedBatchMoney,
    (state, levels): (&dyn StateStore, &BudgetLevels),
    record: &BatchRecord,
    used: &BatchUsage,
) -> Option<BatchCharge> {
    let models: Vec<_> = (0..record.models.len())
        .map(|index| model_charge(money, record, used, index))
        .collect();
    let settle = |reserved: &MoneyReservation, nanos: u64| {
        levels.correct(reserved, nanos);
        state.settle_money(reserved.clone(), nanos);
    };
    for (model, charge) in money.models.iter().zip(&models) {
        if let Some(reserved) = &model.money {
            settle(reserved, charge.nanos);
        }
    }
    if let Some(reserved) = &money.whole {
        settle(reserved, sum(models.iter().map(|model| model.nanos)));
    }
    if let Some(reserved) = &money.channel {
        let on_channel = models.iter().filter(|model| model.is_on_channel);
        let on_channel = sum(on_channel.map(|model| model.nanos));
        let cost = match models.iter().all(|model| model.is_known) {
            true => on_channel,
            false => on_channel.max(reserved.amount),
        };
        settle(reserved, cost);
    }
    let of_models = money.models.iter().filter_map(|model| model.money.as_ref());
    let first = money.whole.iter().chain(of_models).next()?;
    Some(BatchCharge {
        admitted_ms: first.taken_ms,
        models,
    })
}

fn model_charge(
    money: &RecordedBatchMoney,
    record: &BatchRecord,
    used: &BatchUsage,
    index: usize,
) -> BatchModelCharge {
    let model = money.models.get(index);
    let reserved = model.map_or(0, |model| model.nanos);
    let on_channel = record.models[index].price.as_ref();
    let price = on_channel.or_else(|| model?.price.as_ref());
    let by_length = used.by_model.get(index).into_iter().flatten();
    let costs: Option<Vec<u64>> = match price {
        Some(price) => {
            let prices = price.to_price();
            let costs = by_length
                .map(|(length, usage)| known_cost(&prices, *length, usage, record.price_percent));
            costs.collect()
        }
        // What has no price is free.
        None => Some(Vec::new()),
    };
    let is_known = used.is_complete && costs.is_some();
    let known = sum(costs.into_iter().flatten());
    BatchModelCharge {
        nanos: match is_known {
            true => known,
            false => known.max(reserved),
        },
        reserved,
        currency: price.map_or_else(String::new, |price| price.currency.clone()),
        is_known,
        is_on_channel: on_channel.is_some(),
    }
}

/// What requests have cost; `None` if the provider did not report all that has a price.
fn known_cost(price: &ModelPrice, length: u64, usage: &TokenUsage, percent: u8) -> Option<u64> {
    let tokens = price.tokens.as_ref();
    let is_output_known =
        usage.output_tokens.is_some() || tokens.is_none_or(|prices| !prices.charges_output());
    // Batches report no number of images.
    if price.image.unwrap_or(0) > 0 || !is_output_known {
        return None;
    }
    match price.batch_cost(length, usage, percent) {
        ExchangeCost::Priced(Cost(nanos)) => Some(nanos),
        ExchangeCost::Unpriced | ExchangeCost::Unmetered => None,
    }
}

fn sum(amounts: impl Iterator<Item = u64>) -> u64 {
    amounts.fold(0, u64::saturating_add)
}
