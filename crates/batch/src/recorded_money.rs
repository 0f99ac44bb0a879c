//! What a batch has reserved of budgets in money, and its prices, as its record keeps them.

use headgate_core::catalog::batch_price::BatchPrice;
use headgate_core::catalog::batch_work::BatchDemand;
use headgate_core::catalog::channel::Channel;
use headgate_core::filter::batch_reservation::BatchReservation;
use headgate_core::state::money::MoneyReservation;
use serde::{Deserialize, Serialize};

/// What the create of a batch has reserved of budgets in money.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct RecordedBatchMoney {
    /// Of budgets that count all of its requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<MoneyReservation>,
    /// Of budgets of its channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<MoneyReservation>,
    /// For each model of the batch.
    pub models: Vec<RecordedModelMoney>,
}

/// What a create has reserved for one of the models of its batch.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct RecordedModelMoney {
    /// The most that its requests cost, in billionths.
    pub nanos: u64,
    /// The prices by which it is that, where the channel has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<BatchPrice>,
    /// Of budgets of the model, if they are not among those of the whole batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub money: Option<MoneyReservation>,
}

impl RecordedBatchMoney {
    /// What a create has reserved, for its record; `None` if that is nothing.
    pub fn new(
        reserved: Option<&BatchReservation>,
        channel: Option<MoneyReservation>,
        prices: &[Option<BatchPrice>],
    ) -> Option<Self> {
        let has_own = reserved.is_some_and(|it| it.reservations().next().is_some());
        if !has_own && channel.is_none() {
            return None;
        }
        let models = reserved.map(|it| it.models.iter().zip(prices));
        let models = models.into_iter().flatten().map(|(model, on_channel)| {
            let price = model.bound.price.as_ref().filter(|_| on_channel.is_none());
            RecordedModelMoney {
                nanos: model.bound.nanos,
                price: price.map(|price| BatchPrice::new(price)),
                money: model.money.clone(),
            }
        });
        Some(Self {
            whole: reserved.and_then(|it| it.whole.clone()),
            channel,
            models: models.collect(),
        })
    }
}

/// The prices of the models of a batch on a channel, as its record keeps them.
pub fn prices_on(channel: &Channel, demand: Option<&BatchDemand>) -> Vec<Option<BatchPrice>> {
    let models = demand.and_then(|demand| demand.models.as_ref());
    let models = models.into_iter().flatten();
    let prices = models.map(|model| {
        let price = model.price_on(channel)?;
        Some(BatchPrice::new(price))
    });
    prices.collect()
}
