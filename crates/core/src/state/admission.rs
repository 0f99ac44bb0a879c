//! Admission of a request under its caller's limits: the request, the decision, and the ticket to settle.

pub use super::limit_kind::LimitKind;

use super::clock::ClockReading;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

/// What a request needs from its caller's limits.
#[derive(Clone, Copy, Debug)]
pub struct AdmissionRequest<'a> {
    /// Every limit that applies, all of one caller. The order changes only with the configuration.
    pub limits: &'a [AdmissionLimit],
    /// The estimated number of tokens that the request will use.
    pub tokens: u64,
}

/// One limit of one caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmissionLimit {
    pub counter: CounterKey,
    pub most: u64,
}

/// Identifies the counter of a limit. It stays the same when the configured maximum changes.
#[derive(Clone, Debug)]
pub struct CounterKey(Arc<CounterFields>);

#[derive(Debug, PartialEq, Eq)]
struct CounterFields {
    caller: Arc<str>,
    /// The platform model that is counted; all models if `None`.
    model: Option<Arc<str>>,
    measure: LimitKind,
    /// The hash of the other fields, computed once: every request looks its counters up several times.
    hash: u64,
}

/// The result of [`AdmissionRequest`].
#[derive(Debug)]
pub struct AdmissionResult {
    /// The state of each limit after the decision, in the order of the request's limits.
    pub limit_statuses: Vec<LimitStatus>,
    pub decision: AdmissionDecision,
}

#[derive(Debug)]
pub enum AdmissionDecision {
    /// The limits were charged; the ticket must be settled exactly once.
    Granted(AdmissionTicket),
    /// No limit was charged.
    Refused {
        /// The index of the limit that refuses; of several, the one with the longest wait.
        limit: usize,
        /// When to try again; for [`LimitKind::Concurrent`] an estimate.
        retry_after: Duration,
    },
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
    pub limits: Vec<AdmissionLimit>,
    /// The estimate that was charged.
    pub tokens: u64,
    /// The time of admission, on the store's clock.
    pub taken_at: ClockReading,
    /// The store's number for this admission, which names its concurrency lease; 0 if the store numbers none.
    pub lease: u64,
}

impl AdmissionTicket {
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
        }
    }

    pub fn measure(&self) -> LimitKind {
        self.counter.measure()
    }
}

impl CounterKey {
    pub fn new(caller: Arc<str>, model: Option<Arc<str>>, measure: LimitKind) -> Self {
        let mut hasher = DefaultHasher::new();
        (&caller, &model, measure).hash(&mut hasher);
        Self(Arc::new(CounterFields {
            caller,
            model,
            measure,
            hash: hasher.finish(),
        }))
    }

    pub fn caller(&self) -> &Arc<str> {
        &self.0.caller
    }

    pub fn model(&self) -> Option<&Arc<str>> {
        self.0.model.as_ref()
    }

    pub fn measure(&self) -> LimitKind {
        self.0.measure
    }
}

impl PartialEq for CounterKey {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl Eq for CounterKey {}

impl Hash for CounterKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.hash);
    }
}
