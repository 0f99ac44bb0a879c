//! What a request takes from the limits of its caller, and what became of that.

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

/// What a limit counts, and over which time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Measure {
    /// In any 60 s.
    RequestsPerMinute,
    /// In any 60 s; taken on estimate, corrected by what was used.
    TokensPerMinute,
    /// At one time.
    Concurrent,
    /// In a calendar day, UTC; survives a restart.
    TokensPerDay,
    /// In a calendar month, UTC; survives a restart.
    TokensPerMonth,
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

impl Measure {
    pub const ALL: [Self; 5] = [
        Self::RequestsPerMinute,
        Self::TokensPerMinute,
        Self::Concurrent,
        Self::TokensPerDay,
        Self::TokensPerMonth,
    ];

    /// Whether it counts over a calendar day or month, and survives a restart.
    pub fn is_budget(self) -> bool {
        matches!(self, Self::TokensPerDay | Self::TokensPerMonth)
    }

    /// The word for errors, metrics and keys of a store.
    pub fn name(self) -> &'static str {
        match self {
            Self::RequestsPerMinute => "requests_per_minute",
            Self::TokensPerMinute => "tokens_per_minute",
            Self::Concurrent => "concurrent",
            Self::TokensPerDay => "tokens_per_day",
            Self::TokensPerMonth => "tokens_per_month",
        }
    }
}
