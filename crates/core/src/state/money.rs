//! What a request has reserved of budgets in money, and those reservations that are not settled yet.

use super::StateStore;
use super::calendar::DAY_MS;
use super::counter_key::CounterKey;
use super::limit_kind::LimitKind;
use super::lock::lock;
use super::run::RunKey;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

/// How long stores know a reservation that nobody settles. It counts as it was reserved.
pub const RESERVATION_KEPT_MS: u64 = 40 * DAY_MS;
/// Old reservations are looked for and removed only above this number.
const RESERVATIONS_KEPT: usize = 1_024;

/// What a request has reserved of budgets in money: the most that it can cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "StoredReservation", into = "StoredReservation")]
pub struct MoneyReservation {
    /// Unique among all gateways, and never used again.
    pub id: Arc<str>,
    pub counters: Vec<CounterKey>,
    /// In billionths of the currency's unit.
    pub amount: u64,
    /// The time of the admission on the store's clock, in Unix milliseconds: the cost belongs to its day and month.
    pub taken_ms: u64,
    /// The run of which it is reserved, too.
    pub run: Option<RunKey>,
}

/// A reservation as records have it.
#[derive(Serialize, Deserialize)]
struct StoredReservation {
    id: String,
    /// Whose each limit is, a caller's or a group's, its kind, and its model.
    counters: Vec<(String, String, Option<String>)>,
    nanos: u64,
    taken_ms: u64,
    /// The caller of the run, and its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<(String, String)>,
}

/// The reservation of a create that is paid for, for whoever settles it after the exchange; in
/// [`RequestFilterValues`](crate::filter::state::RequestFilterValues).
pub struct CreateReservation {
    pub reserved: MoneyReservation,
    is_kept: bool,
}

/// What a create has reserved of its channel's budgets, until whoever settles it after the exchange takes it; in
/// [`RequestFilterValues`](crate::filter::state::RequestFilterValues).
#[derive(Default)]
pub struct ChannelCreateReservation(Mutex<Option<MoneyReservation>>);

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

impl CreateReservation {
    pub fn new(reserved: MoneyReservation) -> Self {
        Self {
            reserved,
            is_kept: false,
        }
    }

    /// The reservation for whoever settles it: it is not settled at the end of the exchange.
    pub fn keep(&mut self) -> MoneyReservation {
        self.is_kept = true;
        self.reserved.clone()
    }

    /// Whether the reservation of this id is settled after the exchange.
    pub fn keeps(&self, id: &str) -> bool {
        self.is_kept && *self.reserved.id == *id
    }
}

impl ChannelCreateReservation {
    /// Sets what the current attempt has reserved.
    pub fn set(&self, reserved: MoneyReservation) {
        *lock(&self.0) = Some(reserved);
    }

    /// Forgets what an earlier attempt has reserved, which was on another channel.
    pub fn clear(&self) {
        *lock(&self.0) = None;
    }

    /// The reservation for whoever settles it: it is not settled at the end of the exchange.
    pub fn take(&mut self) -> Option<MoneyReservation> {
        lock(&self.0).take()
    }

    /// What the current attempt has reserved, for a record of it.
    pub fn reservation(&self) -> Option<MoneyReservation> {
        lock(&self.0).clone()
    }

    /// Whether the reservation is still settled at the end of the exchange.
    pub fn is_there(&self) -> bool {
        lock(&self.0).is_some()
    }
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

    /// What is reserved; `None` once it was handed over.
    pub fn reservation(&self) -> Option<&MoneyReservation> {
        self.reserved.as_deref()
    }

    /// The id of what is reserved; empty once it was handed over.
    pub fn id(&self) -> &str {
        self.reserved.as_ref().map_or("", |it| &it.id)
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

impl From<MoneyReservation> for StoredReservation {
    fn from(reserved: MoneyReservation) -> Self {
        let counters = reserved.counters.iter();
        Self {
            counters: counters
                .map(|counter| {
                    let model = counter.model().map(ToString::to_string);
                    let holder = counter.caller().to_string();
                    (holder, counter.measure().name().to_owned(), model)
                })
                .collect(),
            id: reserved.id.to_string(),
            nanos: reserved.amount,
            taken_ms: reserved.taken_ms,
            run: reserved
                .run
                .map(|run| (run.caller.to_string(), run.name.to_string())),
        }
    }
}

impl TryFrom<StoredReservation> for MoneyReservation {
    type Error = String;

    fn try_from(stored: StoredReservation) -> Result<Self, String> {
        let counters = stored.counters.into_iter().map(|(holder, name, model)| {
            let mut kinds = LimitKind::ALL.into_iter();
            let kind = kinds.find(|kind| kind.name() == name);
            let kind = kind.ok_or_else(|| format!("unknown limit `{name}`"))?;
            Ok(CounterKey::new(holder.into(), model.map(Into::into), kind))
        });
        Ok(Self {
            counters: counters.collect::<Result<_, String>>()?,
            id: stored.id.into(),
            amount: stored.nanos,
            taken_ms: stored.taken_ms,
            run: stored.run.map(|(caller, name)| RunKey {
                caller: caller.into(),
                name: name.into(),
            }),
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reservation_is_read_as_it_was_stored() {
        let counter = |holder: &str, model: Option<&str>, kind| {
            CounterKey::new(holder.into(), model.map(Into::into), kind)
        };
        let reserved = MoneyReservation {
            id: "7-1".into(),
            counters: vec![
                counter("ann", None, LimitKind::CostPerDay),
                counter("group:team", Some("large"), LimitKind::CostTotal),
            ],
            amount: 9_000_000_000_000_001,
            taken_ms: 1_700_000_000_000,
            run: None,
        };
        let text = serde_json::to_string(&reserved).unwrap();
        let expected = r#"{"id":"7-1","counters":[["ann","cost_per_day",null],["group:team","cost_total","large"]],"nanos":9000000000000001,"taken_ms":1700000000000}"#;
        assert_eq!(text, expected);
        let read: MoneyReservation = serde_json::from_str(&text).unwrap();
        assert_eq!(read, reserved);
        let later = text.replace("cost_total", "cost_per_week");
        assert!(serde_json::from_str::<MoneyReservation>(&later).is_err());
        let of_run = MoneyReservation {
            run: Some(RunKey {
                caller: "ann".into(),
                name: "r".into(),
            }),
            ..reserved
        };
        let text = serde_json::to_string(&of_run).unwrap();
        assert!(text.ends_with(r#","run":["ann","r"]}"#), "{text}");
        assert_eq!(
            serde_json::from_str::<MoneyReservation>(&text).unwrap(),
            of_run
        );
    }
}
