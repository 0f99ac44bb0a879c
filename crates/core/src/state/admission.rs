//! Admission of a request under its caller's limits: the request, the decision, and the ticket to settle.

pub use super::counter_key::CounterKey;
pub use super::limit_kind::LimitKind;

use super::clock::ClockReading;
use super::money::MoneyReservation;
use super::run::{RunDemand, RunRefusal, RunTicket};
use std::sync::Arc;
use std::time::Duration;

/// What a request needs from its caller's limits.
#[derive(Clone, Copy, Debug)]
pub struct AdmissionRequest<'a> {
    /// Every limit that applies, of one caller and its group. The order changes only with the configuration.
    pub limits: &'a [AdmissionLimit],
    /// The estimated number of tokens that the request will use.
    pub tokens: u64,
    /// The most that the request can cost, in billionths of the currency's unit; `None` if nothing counts money. What costs
    /// nothing is admitted also when a budget is used up.
    pub cost: Option<u64>,
    /// What it needs of its run, if it is a call of one.
    pub run: Option<&'a RunDemand>,
}

/// One limit of one caller, or of one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmissionLimit {
    pub counter: CounterKey,
    pub most: u64,
    /// Whether streams end where their cost passes what is left of it. Only for limits that count money.
    pub cuts_streams: bool,
}

/// The result of [`AdmissionRequest`].
#[derive(Debug)]
pub struct AdmissionResult {
    /// The state of each limit after the decision, in the order of the request's limits.
    pub limit_statuses: Vec<LimitStatus>,
    pub decision: AdmissionDecision,
    /// What was reserved of budgets in money, which is settled apart.
    pub money: Option<Box<MoneyReservation>>,
    /// The call of a run, if the request is one and was granted; it is ended apart.
    pub run: Option<Box<RunTicket>>,
}

#[derive(Debug)]
pub enum AdmissionDecision {
    /// The limits were charged; the ticket must be settled exactly once, and so must the money.
    Granted(AdmissionTicket),
    /// No limit was charged.
    Refused {
        /// The index of the limit that refuses; of several, the one with the longest wait.
        limit: usize,
        /// When to try again; for [`LimitKind::Concurrent`] an estimate.
        retry_after: Duration,
    },
    /// No limit was charged, since the run of the request refuses it.
    RunRefused(RunRefusal),
}

/// How much of a limit is left, and when it resets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitStatus {
    pub remaining: u64,
    /// The time until the whole limit is free again if nothing more is charged.
    pub reset: Duration,
}

/// What an admitted request was charged, to be settled when it ends.
#[derive(Debug)]
pub struct AdmissionTicket {
    /// Without those that count money.
    pub limits: Vec<AdmissionLimit>,
    /// The estimate that was charged.
    pub tokens: u64,
    /// The time of admission, on the store's clock.
    pub taken_at: ClockReading,
    /// The store's number for this admission, which names its concurrency lease; 0 if the store numbers none.
    pub lease: u64,
}

impl AdmissionRequest<'_> {
    /// What the request adds to a counter of this kind.
    pub fn amount(&self, measure: LimitKind) -> u64 {
        match measure {
            LimitKind::RequestsPerMinute | LimitKind::Concurrent => 1,
            LimitKind::TokensPerMinute | LimitKind::TokensPerDay | LimitKind::TokensPerMonth => {
                self.tokens
            }
            LimitKind::CostPerDay | LimitKind::CostPerMonth | LimitKind::CostTotal => {
                self.cost.unwrap_or(0)
            }
        }
    }

    /// The limits that count money, in their order.
    pub fn money_limits(&self) -> impl Iterator<Item = &AdmissionLimit> {
        let limits = self.limits.iter().filter(|_| self.cost.is_some());
        limits.filter(|limit| limit.measure().counts_money())
    }
}

impl AdmissionTicket {
    /// The ticket of a request whose limits were charged, and what it has reserved of budgets in money; `id` names that.
    pub fn granted(
        demand: &AdmissionRequest<'_>,
        taken_at: ClockReading,
        lease: u64,
        id: impl FnOnce() -> Arc<str>,
    ) -> (Self, Option<Box<MoneyReservation>>) {
        let (limits, money) = match demand.cost {
            None => (demand.limits.to_vec(), None),
            Some(cost) => {
                let all = demand.limits.iter().cloned();
                let (money, others): (Vec<_>, Vec<_>) =
                    all.partition(|limit| limit.measure().counts_money());
                let run = demand.run.map(|run| run.key.clone());
                let is_reserved = cost > 0 && (!money.is_empty() || run.is_some());
                let reservation = is_reserved.then(|| MoneyReservation {
                    id: id(),
                    counters: money.into_iter().map(|limit| limit.counter).collect(),
                    amount: cost,
                    taken_ms: taken_at.unix_ms,
                    run,
                });
                (others, reservation.map(Box::new))
            }
        };
        let ticket = Self {
            limits,
            tokens: demand.tokens,
            taken_at,
            lease,
        };
        (ticket, money)
    }

    /// Moves the `concurrent` limits into a ticket of their own for the same admission; `None` if there are none.
    pub fn split_off_concurrent(&mut self) -> Option<Self> {
        let is_concurrent = |limit: &mut AdmissionLimit| limit.measure() == LimitKind::Concurrent;
        let limits: Vec<AdmissionLimit> = self.limits.extract_if(.., is_concurrent).collect();
        match limits.is_empty() {
            true => None,
            false => Some(Self { limits, ..*self }),
        }
    }
}

impl AdmissionLimit {
    /// A limit of `most`, for requests of `caller` for `model`; for any model if that is `None`.
    pub fn new(caller: &Arc<str>, model: Option<&Arc<str>>, measure: LimitKind, most: u64) -> Self {
        Self {
            counter: CounterKey::new(caller.clone(), model.cloned(), measure),
            most,
            cuts_streams: false,
        }
    }

    /// The same limit, which cuts streams if it counts money and `cuts_streams`.
    pub fn with_stream_cuts(self, cuts_streams: bool) -> Self {
        Self {
            cuts_streams: cuts_streams && self.measure().counts_money(),
            ..self
        }
    }

    pub fn measure(&self) -> LimitKind {
        self.counter.measure()
    }
}
