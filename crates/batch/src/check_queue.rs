//! How many batches are checked at once, and how many wait for it: the check of a large one takes seconds of a processor.

#[cfg(test)]
mod tests;

mod caller_shares;

use caller_shares::CallerShares;
use headgate_protocol::fault::{Fault, FaultKind};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// How long a batch waits until its check begins.
const WAIT_MAX: Duration = Duration::from_secs(30);
/// When a batch may be sent again that was refused.
const RETRY_AFTER: Duration = Duration::from_secs(10);

/// Lets checks run on threads for blocking work, few at a time.
pub struct CheckQueue {
    /// For each check that may run.
    turns: Arc<Semaphore>,
    /// For each check that may run or wait.
    places: Arc<Semaphore>,
    /// Of both, what each caller may have.
    shares: CallerShares,
}

/// Whether the caller still waits for a check.
pub struct CheckAudience(Weak<()>);

impl CheckQueue {
    pub fn new(running_max: usize, waiting_max: usize) -> Self {
        Self {
            turns: Arc::new(Semaphore::new(running_max)),
            places: Arc::new(Semaphore::new(running_max + waiting_max)),
            shares: CallerShares::new(running_max, waiting_max),
        }
    }

    /// Runs a check of `caller` when it is its turn. If the future is dropped before, the check does not run; if it is dropped later, the
    /// check has its turn until it ends, which it does as soon as it looks at its audience.
    ///
    /// # Errors
    /// Too many checks wait, or it did not get its turn in time; else those of the check.
    pub async fn run<T: Send + 'static>(
        &self,
        caller: Option<&Arc<str>>,
        check: impl FnOnce(&CheckAudience) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let place = self.places.clone().try_acquire_owned().ok();
        let place = place.ok_or_else(too_many)?;
        let own_place = match caller {
            Some(caller) => Some(self.shares.take(caller).ok_or_else(too_many)?),
            None => None,
        };
        // Those who wait for a turn of their caller are not before others.
        let turns = async {
            let own_turn = match &own_place {
                Some(place) => place.turn().await,
                None => None,
            };
            (own_turn, self.turns.clone().acquire_owned().await)
        };
        let turn = timeout(WAIT_MAX, turns).await;
        let turn = turn.map_err(|_| too_many())?;
        let caller = Arc::new(());
        let audience = CheckAudience(Arc::downgrade(&caller));
        let checked = spawn_blocking(move || {
            let _held = (place, own_place, turn);
            check(&audience)
        });
        let checked = checked.await;
        drop(caller);
        checked.map_err(|error| {
            Fault::new(
                FaultKind::Internal,
                "internal error: the batch could not be checked",
            )
            .source(error)
        })?
    }
}

impl CheckAudience {
    /// # Errors
    /// Nobody waits any more, so that nobody will read this.
    pub fn stay(&self) -> Result<(), Fault> {
        match self.0.strong_count() {
            0 => Err(Fault::new(FaultKind::Internal, "the caller has gone away")),
            _ => Ok(()),
        }
    }
}

fn too_many() -> Fault {
    Fault::new(
        FaultKind::Overloaded,
        "the gateway checks as many batches as it can at the moment; send this one again in a few seconds",
    )
    .retry_after(RETRY_AFTER)
}
