//! What edges share, or a restart must not lose, behind one trait: which channel made what, limits, budgets.

pub mod admission;
mod affinity;
pub mod bounded_cache;
pub mod calendar;
pub mod clock;
pub mod health;
mod limit_counters;
mod limit_kind;
pub mod memory;
pub mod note_cache;
mod open;
pub mod per_second_limiter;
mod redis_store;
pub mod settings;
pub mod sliding_window;
mod sqlite_store;

use admission::{Admission, AdmissionRequest, AdmissionTicket};
use bytes::Bytes;
use health::StoreHealth;
use per_second_limiter::PerSecondDecision;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// Where state is kept.
///
/// Nothing here delays an answer: what is recorded from a passing stream is handed over and written
/// behind its back. A store that is away says so within its own deadline; what is done then is for
/// the caller of these methods to decide.
pub trait StateStore: Send + Sync {
    /// Records that `channel` made `id` for `caller`. Never waits.
    fn remember(&self, caller: &Arc<str>, id: &str, channel: &Arc<str>);

    /// The channel that made `id` for `caller`; the ids of other callers are as unknown as any.
    fn channel_of<'a>(
        &'a self,
        caller: &'a Arc<str>,
        id: &'a str,
    ) -> StoreFuture<'a, Option<Arc<str>>>;

    /// Forgets an id that its caller has deleted. Never waits.
    fn forget(&self, caller: &Arc<str>, id: &str);

    /// Takes what a request needs from all of its limits at once, or from none.
    fn admit<'a>(&'a self, demand: &'a AdmissionRequest<'a>) -> StoreFuture<'a, Admission>;

    /// Ends what was admitted: corrects its estimate to the tokens really used, and frees its place.
    /// Never waits.
    fn settle(&self, ticket: AdmissionTicket, tokens_used: u64);

    /// Takes one use of what belongs to `budget_key`, of which any second holds at most `per_second`.
    fn take_per_second<'a>(
        &'a self,
        budget_key: &'a str,
        per_second: u16,
    ) -> StoreFuture<'a, PerSecondDecision>;

    /// Keeps a text under a key, for [`notes::NOTE_KEPT`] unless there is no room for so many. One that is longer
    /// than [`notes::NOTE_BYTES_MAX`] is not kept. Never waits.
    fn put_note(&self, key: &str, text: &Bytes);

    /// What was noted last under a key.
    fn get_note<'a>(&'a self, key: &'a str) -> StoreFuture<'a, Option<Bytes>>;

    /// What becomes of requests with limits while the store is away and [`StateStore::admit`] fails, and of what
    /// [`StateStore::take_per_second`] would have counted.
    fn on_store_failure(&self) -> OnStoreFailure {
        OnStoreFailure::Allow
    }

    /// How it is doing, for metrics.
    fn health(&self) -> StoreHealth;

    /// Waits until what was handed over is written, at most `max_wait`: for the end of the process. Blocks.
    fn flush(&self, _patience: Duration) {}
}

/// What happens to requests with limits while these cannot be checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnStoreFailure {
    /// They pass, uncounted.
    #[default]
    Allow,
    /// They are refused.
    Deny,
}

/// What a store gives: there already, or still to come.
pub enum StoreFuture<'a, T> {
    Ready(Result<T, StoreUnavailable>),
    Later(Pin<Box<dyn Future<Output = Result<T, StoreUnavailable>> + Send + 'a>>),
}

/// The store cannot be asked now.
#[derive(Debug, Error)]
#[error("the state store is unreachable: {0}")]
pub struct StoreUnavailable(pub String);

impl<T> StoreFuture<'_, T> {
    /// Waits for it.
    ///
    /// # Errors
    /// The store is away.
    pub async fn get(self) -> Result<T, StoreUnavailable> {
        match self {
            Self::Ready(outcome) => outcome,
            Self::Later(future) => future.await,
        }
    }
}

#[cfg(test)]
mod tests;
