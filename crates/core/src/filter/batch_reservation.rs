//! What the create of a batch has reserved of budgets in money, until the batch has ended.

use crate::catalog::batch_work::BatchModelMaximum;
use crate::state::lock::lock;
use crate::state::money::MoneyReservation;
use std::sync::{Arc, Mutex};

/// What the create of a batch has reserved of budgets of its caller, for whoever settles it after the exchange; in
/// [`RequestFilterValues`](super::state::RequestFilterValues).
#[derive(Default)]
pub struct BatchReservation {
    /// For the whole batch; `None` if only models have budgets.
    pub whole: Option<MoneyReservation>,
    /// For each model of the batch.
    pub models: Vec<BatchModelReservation>,
    last_channel: Mutex<Option<Arc<str>>>,
}

/// What the create of a batch has reserved for one of its models.
pub struct BatchModelReservation {
    pub bound: BatchModelMaximum,
    /// Of the budgets of this model; `None` if they are among those of the whole batch.
    pub money: Option<MoneyReservation>,
}

impl BatchReservation {
    /// Notes the channel of an attempt.
    pub fn note_channel(&self, name: &Arc<str>) {
        *lock(&self.last_channel) = Some(name.clone());
    }

    /// The channel of the last attempt.
    pub fn last_channel(&self) -> Option<Arc<str>> {
        lock(&self.last_channel).clone()
    }

    pub fn reservations(&self) -> impl Iterator<Item = &MoneyReservation> {
        let models = self.models.iter();
        let of_models = models.filter_map(|model| model.money.as_ref());
        self.whole.iter().chain(of_models)
    }
}
