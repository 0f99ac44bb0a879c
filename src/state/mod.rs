//! What edges share, or a restart must not lose, behind one trait: which channel made what, limits, budgets.

mod affinity;
pub mod bounded_cache;
pub mod calendar;
pub mod clock;
mod counts;
pub mod demand;
mod embedded;
pub mod health;
mod measure;
pub mod memory;
pub mod notes;
mod opening;
pub mod paces;
mod shared;
pub mod site;
pub mod window;

use bytes::Bytes;
use demand::{Admission, Demand, Ticket};
use health::Health;
use paces::Pace;
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
pub trait Store: Send + Sync {
    /// Records that `channel` made `id` for `caller`. Never waits.
    fn remember(&self, caller: &Arc<str>, id: &str, channel: &Arc<str>);

    /// The channel that made `id` for `caller`; the ids of other callers are as unknown as any.
    fn channel_of<'a>(&'a self, caller: &'a Arc<str>, id: &'a str)
    -> Pending<'a, Option<Arc<str>>>;

    /// Forgets an id that its caller has deleted. Never waits.
    fn forget(&self, caller: &Arc<str>, id: &str);

    /// Takes what a request needs from all of its limits at once, or from none.
    fn admit<'a>(&'a self, demand: &'a Demand<'a>) -> Pending<'a, Admission>;

    /// Ends what was admitted: corrects its estimate to the tokens really used, and frees its place.
    /// Never waits.
    fn settle(&self, ticket: Ticket, tokens_used: u64);

    /// Takes one use of what belongs to `whose`, of which any second holds at most `per_second`.
    fn pace<'a>(&'a self, whose: &'a str, per_second: u16) -> Pending<'a, Pace>;

    /// Keeps a text under a key, for [`notes::NOTE_KEPT`] unless there is no room for so many. One that is longer
    /// than [`notes::NOTE_BYTES_MAX`] is not kept. Never waits.
    fn note(&self, key: &str, text: &Bytes);

    /// What was noted last under a key.
    fn noted<'a>(&'a self, key: &'a str) -> Pending<'a, Option<Bytes>>;

    /// What becomes of requests with limits while the store is away and [`Store::admit`] fails, and of what
    /// [`Store::pace`] would have counted.
    fn when_away(&self) -> WhenAway {
        WhenAway::Open
    }

    /// How it is doing, for metrics.
    fn health(&self) -> Health;

    /// Waits until what was handed over is written, at most `patience`: for the end of the process. Blocks.
    fn flush(&self, _patience: Duration) {}
}

/// What becomes of requests with limits while these cannot be counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenAway {
    /// They pass, uncounted.
    #[default]
    Open,
    /// They are refused.
    Closed,
}

/// What a store gives: there already, or still to come.
pub enum Pending<'a, T> {
    Ready(Result<T, Unavailable>),
    Later(Pin<Box<dyn Future<Output = Result<T, Unavailable>> + Send + 'a>>),
}

/// The store cannot be asked now.
#[derive(Debug, Error)]
#[error("the state store is away: {0}")]
pub struct Unavailable(pub String);

impl<T> Pending<'_, T> {
    /// Waits for it.
    ///
    /// # Errors
    /// The store is away.
    pub async fn get(self) -> Result<T, Unavailable> {
        match self {
            Self::Ready(outcome) => outcome,
            Self::Later(future) => future.await,
        }
    }
}

#[cfg(test)]
mod tests;
