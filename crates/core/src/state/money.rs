//! What a request has reserved of budgets in money, and those reservations that are not settled yet.

use super::StateStore;
use super::calendar::DAY_MS;
use super::counter_key::CounterKey;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

/// How long stores know a reservation that nobody settles. It counts as it was reserved.
pub const RESERVATION_KEPT_MS: u64 = 40 * DAY_MS;
/// Old reservations are looked for and removed only above this number.
const RESERVATIONS_KEPT: usize = 1_024;

/// What a request has reserved of budgets in money: the most that it can cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MoneyReservation {
    /// Unique among all gateways, and never used again.
    pub id: Arc<str>,
    pub counters: Vec<CounterKey>,
    /// In billionths of the currency's unit.
    pub amount: u64,
    /// The time of the admission on the store's clock, in Unix milliseconds: the cost belongs to its day and month.
    pub taken_ms: u64,
}

/// The reservation of an exchange. Dropping it settles it as it was reserved, since an exchange may be dropped at any point.
pub struct MoneyHold {
    store: Arc<dyn StateStore>,
    /// `None` once it was settled or handed over.
    reserved: Option<Box<MoneyReservation>>,
}

/// The reservations of one process that are not settled.
#[derive(Debug, Default)]
pub struct OpenReservations {
    taken_ms: HashMap<Arc<str>, u64>,
    /// The number of reservations at which old ones are removed.
    prune_at: usize,
}

impl MoneyHold {
    pub fn new(store: &Arc<dyn StateStore>, reserved: Box<MoneyReservation>) -> Self {
        Self {
            store: store.clone(),
            reserved: Some(reserved),
        }
    }

    /// What is reserved, in billionths; 0 once it was handed over.
    pub fn amount(&self) -> u64 {
        self.reserved.as_ref().map_or(0, |it| it.amount)
    }

    /// Settles on what the request cost.
    pub fn settle(mut self, cost: u64) {
        if let Some(reserved) = self.reserved.take() {
            self.store.settle_money(*reserved, cost);
        }
    }

    /// Gives the reservation to whoever settles it after the exchange.
    pub fn hand_over(&mut self) -> Option<Box<MoneyReservation>> {
        self.reserved.take()
    }
}

impl Drop for MoneyHold {
    fn drop(&mut self) {
        if let Some(reserved) = self.reserved.take() {
            let amount = reserved.amount;
            self.store.settle_money(*reserved, amount);
        }
    }
}

impl OpenReservations {
    pub fn insert(&mut self, reserved: &MoneyReservation) {
        if self.taken_ms.len() >= self.prune_at.max(RESERVATIONS_KEPT) {
            let oldest = reserved.taken_ms.saturating_sub(RESERVATION_KEPT_MS);
            self.taken_ms.retain(|_, taken_ms| *taken_ms >= oldest);
            self.prune_at = 2 * self.taken_ms.len();
        }
        self.taken_ms.insert(reserved.id.clone(), reserved.taken_ms);
    }

    /// Removes a reservation; `false` if it was settled before.
    pub fn remove(&mut self, reserved: &MoneyReservation) -> bool {
        self.taken_ms.remove(&reserved.id).is_some()
    }
}

/// An id for a new reservation of this process.
pub fn new_id() -> Arc<str> {
    /// A random number that tells the reservations of this process from those of others.
    static PROCESS: LazyLock<u64> =
        LazyLock::new(|| RandomState::new().hash_one(std::process::id()));
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{:016x}-{number:x}", *PROCESS).into()
}
