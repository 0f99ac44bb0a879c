//! State that gateways share or that must survive a restart, behind the trait `StateStore`: id owners, limits, notes.

pub mod admission;
pub mod affinity;
pub mod bounded_cache;
pub mod budget_levels;
pub mod calendar;
pub mod caller_permit;
pub mod clock;
pub mod counter_key;
pub mod health;
pub mod kept_thoughts;
pub mod limit_counters;
mod limit_kind;
pub mod local_limits;
pub mod local_runs;
pub mod lock;
pub mod log_throttle;
pub mod memory;
pub mod money;
pub mod new_id;
pub mod note_cache;
pub mod per_second_limiter;
pub mod records;
pub mod run;
pub mod run_usage;
pub mod settings;
pub mod sliding_window;
#[cfg(any(test, feature = "test-support"))]
pub mod test_stores;

use admission::{AdmissionRequest, AdmissionResult, AdmissionTicket};
use bytes::Bytes;
use counter_key::CounterKey;
use health::StoreHealthReport;
use money::MoneyReservation;
use per_second_limiter::PerSecondDecision;
use records::RecordStore;
use run::RunCallEnd;
use run_usage::RunStatus;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// A store for shared state.
///
/// Writes never delay a response: they are queued and written in the background. Reads fail at the store's own deadline
/// while the store is unreachable; the caller of these methods decides what happens then.
pub trait StateStore: Send + Sync {
    /// Records that `channel` created `id` for `caller`, unless this id of this channel belongs to another caller: whoever
    /// had it first keeps it. Never waits.
    fn remember(&self, caller: &Arc<str>, id: &str, channel: &Arc<str>);

    /// The channel that created `id` for `caller`; `None` for unknown ids and for ids of other callers.
    fn find_channel<'a>(
        &'a self,
        caller: &'a Arc<str>,
        id: &'a str,
    ) -> StoreFuture<'a, Option<Arc<str>>>;

    /// Whether one of `channels` created `id` for another caller, whoever that is. A store that sees all channels at once may
    /// count those that are not among `channels`, too.
    fn is_of_another<'a>(
        &'a self,
        caller: &'a Arc<str>,
        id: &'a str,
        channels: &'a [Arc<str>],
    ) -> StoreFuture<'a, bool>;

    /// Removes an id that its caller has deleted. Never waits.
    fn forget(&self, caller: &Arc<str>, id: &str);

    /// Charges a request to all of its limits at once, or to none. A future charges nothing before it is polled. What is
    /// reserved of budgets in money is durable when the request is granted, as far as the store is.
    fn admit<'a>(&'a self, demand: &'a AdmissionRequest<'a>) -> StoreFuture<'a, AdmissionResult>;

    /// Settles an admitted request: corrects its estimate to the tokens used, and ends its concurrency lease. A minute that
    /// has forgotten the estimate counts what was used beyond it from now on. Never waits.
    fn settle(&self, ticket: AdmissionTicket, tokens_used: u64);

    /// Corrects what a settled request of a day or a month has counted: `ticket` has the tokens that it settled on. Never waits.
    fn correct(&self, ticket: AdmissionTicket, tokens_used: u64) {
        self.settle(ticket, tokens_used);
    }

    /// Corrects what was reserved of budgets in money to the cost of the request. A reservation is settled once: later calls
    /// change nothing, whichever gateway makes them. One that nobody settles counts as it was reserved. Never waits.
    fn settle_money(&self, reserved: MoneyReservation, cost: u64);

    /// What is used and reserved of a budget in money in its current day or month, in billionths.
    fn money_used<'a>(&'a self, budget: &'a CounterKey) -> StoreFuture<'a, u64>;

    /// Ends a call of a run: corrects its tokens, and adds it to the calls of the run. Never waits.
    fn end_run_call(&self, end: RunCallEnd);

    /// At most `most` live runs of all callers: of this name and with their calls, or those that were in use last without
    /// their calls. The newest first.
    fn runs<'a>(&'a self, name: Option<&'a str>, most: usize) -> StoreFuture<'a, Vec<RunStatus>>;

    /// Charges one use to `budget_key`, which allows at most `per_second` uses in any second.
    fn take_per_second<'a>(
        &'a self,
        budget_key: &'a str,
        per_second: u16,
    ) -> StoreFuture<'a, PerSecondDecision>;

    /// Stores a text under a key for [`note_cache::NOTE_KEPT`]; older notes may be evicted earlier if there are too
    /// many. A text longer than [`note_cache::NOTE_BYTES_MAX`] is not stored. Never waits.
    fn put_note(&self, key: &str, text: &Bytes);

    /// The last text that was stored under a key.
    fn get_note<'a>(&'a self, key: &'a str) -> StoreFuture<'a, Option<Bytes>>;

    /// Durable records, whose operations are awaited.
    fn records(&self) -> &dyn RecordStore;

    /// What happens while the store is unreachable: to requests with limits when [`StateStore::admit`] fails, and to
    /// uses that [`StateStore::take_per_second`] would have counted.
    fn on_store_failure(&self) -> OnStoreFailure {
        OnStoreFailure::Allow
    }

    /// Whether other processes write to this store: an id gets there a little later than the response that has it.
    fn has_other_writers(&self) -> bool {
        false
    }

    /// The store's health, for metrics.
    fn health(&self) -> StoreHealthReport;

    /// Blocks until the queued writes are written, at most for the given time. Called when the process ends.
    fn flush(&self, _patience: Duration) {}
}

/// What happens to requests with limits while the limits cannot be checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnStoreFailure {
    /// Requests pass and are not counted.
    #[default]
    Allow,
    /// Requests are refused.
    Deny,
}

/// The result of a store operation: known already, or a future.
pub enum StoreFuture<'a, T> {
    Ready(Result<T, StoreUnavailable>),
    Later(Pin<Box<dyn Future<Output = Result<T, StoreUnavailable>> + Send + 'a>>),
}

/// The state store is unreachable or did not respond in time.
#[derive(Clone, Debug, Error)]
#[error("the state store is unreachable: {0}")]
pub struct StoreUnavailable(pub String);

impl<T> StoreFuture<'_, T> {
    /// Waits for the result.
    ///
    /// # Errors
    /// The store is unreachable.
    pub async fn get(self) -> Result<T, StoreUnavailable> {
        match self {
            Self::Ready(outcome) => outcome,
            Self::Later(future) => future.await,
        }
    }
}
