//! What a request takes from the limits of its caller, and what became of that.

pub use super::limit_kind::LimitKind;

use super::clock::Timestamp;
use std::sync::Arc;
use std::time::Duration;

/// What a request needs.
#[derive(Clone, Copy, Debug)]
pub struct AdmissionRequest<'a> {
    /// Every limit that applies, all of one caller, in an order that stays the same while the configuration does.
    pub limits: &'a [CallerLimit],
    /// Tokens it will use, as estimated.
    pub tokens: u64,
}

/// One limit of one caller.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallerLimit {
    pub caller: Arc<str>,
    /// The platform model that it is about; all models where absent.
    pub model: Option<Arc<str>>,
    pub measure: LimitKind,
    pub most: u64,
}

/// What a limit is counted by: the same one while what may be taken changes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CounterKey {
    pub caller: Arc<str>,
    pub model: Option<Arc<str>>,
    pub measure: LimitKind,
}

/// What came of a demand.
#[derive(Debug)]
pub struct Admission {
    /// How each limit stands after this demand, in the demand's order.
    pub limit_statuses: Vec<LimitStatus>,
    pub decision: AdmissionDecision,
}

#[derive(Debug)]
pub enum AdmissionDecision {
    /// Taken; the ticket is to be settled, once.
    Granted(AdmissionTicket),
    /// Nothing was taken.
    Refused {
        /// The limit in the way, by its place in the demand; of several the one that takes longest.
        limit: usize,
        /// When it may go through; for [`LimitKind::Concurrent`] a guess.
        retry_after: Duration,
    },
}

/// How a limit stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitStatus {
    pub remaining: u64,
    /// Until all of the limit is free again, if nothing more is taken.
    pub reset: Duration,
}

/// What was taken, to be settled.
#[derive(Debug)]
pub struct AdmissionTicket {
    pub limits: Vec<CallerLimit>,
    /// The estimate that was taken.
    pub tokens: u64,
    /// On the store's clock.
    pub taken_at: Timestamp,
    /// The store's own number for the place that was taken.
    pub lease: u64,
}

impl CallerLimit {
    pub fn counter(&self) -> CounterKey {
        CounterKey {
            caller: self.caller.clone(),
            model: self.model.clone(),
            measure: self.measure,
        }
    }
}
