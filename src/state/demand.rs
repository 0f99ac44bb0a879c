//! What a request takes from the limits of its caller, and what became of that.

pub use super::measure::Measure;

use super::clock::Timestamp;
use std::sync::Arc;
use std::time::Duration;

/// What a request needs.
#[derive(Clone, Copy, Debug)]
pub struct Demand<'a> {
    /// Every limit that applies, all of one caller, in an order that stays the same while the configuration does.
    pub limits: &'a [Limit],
    /// Tokens it will use, as estimated.
    pub tokens: u64,
}

/// One limit of one caller.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Limit {
    pub caller: Arc<str>,
    /// The platform model that it is about; all models where absent.
    pub model: Option<Arc<str>>,
    pub measure: Measure,
    pub most: u64,
}

/// What a limit is counted by: the same one while what may be taken changes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Counter {
    pub caller: Arc<str>,
    pub model: Option<Arc<str>>,
    pub measure: Measure,
}

/// What came of a demand.
#[derive(Debug)]
pub struct Admission {
    /// How each limit stands after this demand, in the demand's order.
    pub standings: Vec<Standing>,
    pub verdict: Verdict,
}

#[derive(Debug)]
pub enum Verdict {
    /// Taken; the ticket is to be settled, once.
    Granted(Ticket),
    /// Nothing was taken.
    Refused {
        /// The limit in the way, by its place in the demand; of several the one that takes longest.
        limit: usize,
        /// When it may go through; for [`Measure::Concurrent`] a guess.
        retry_after: Duration,
    },
}

/// How a limit stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    pub remaining: u64,
    /// Until all of the limit is free again, if nothing more is taken.
    pub reset: Duration,
}

/// What was taken, to be settled.
#[derive(Debug)]
pub struct Ticket {
    pub limits: Vec<Limit>,
    /// The estimate that was taken.
    pub tokens: u64,
    /// On the store's clock.
    pub taken_at: Timestamp,
    /// The store's own number for the place that was taken.
    pub place: u64,
}

impl Limit {
    pub fn counter(&self) -> Counter {
        Counter {
            caller: self.caller.clone(),
            model: self.model.clone(),
            measure: self.measure,
        }
    }
}
