//! What one caller may have of a queue: half of its turns and of its places to wait, so that others find some.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The shares of the callers whose checks run or wait.
pub(super) struct CallerShares {
    turns_max: usize,
    places_max: usize,
    shares: Mutex<HashMap<Arc<str>, Weak<CallerShare>>>,
}

/// A place of a caller, in which a check waits or runs.
pub(super) struct CallerPlace {
    share: Arc<CallerShare>,
    _place: OwnedSemaphorePermit,
}

struct CallerShare {
    turns: Arc<Semaphore>,
    places: Arc<Semaphore>,
}

impl CallerShares {
    pub fn new(running_max: usize, waiting_max: usize) -> Self {
        let turns_max = running_max.div_ceil(2);
        Self {
            turns_max,
            places_max: turns_max + waiting_max.div_ceil(2),
            shares: Mutex::default(),
        }
    }

    /// A place for a check; `None` if the caller has as many as it may.
    pub fn take(&self, caller: &Arc<str>) -> Option<CallerPlace> {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        let known = shares.get(caller).and_then(Weak::upgrade);
        let share = known.unwrap_or_else(|| {
            let share = Arc::new(CallerShare {
                turns: Arc::new(Semaphore::new(self.turns_max)),
                places: Arc::new(Semaphore::new(self.places_max)),
            });
            shares.retain(|_, share| share.strong_count() > 0);
            shares.insert(caller.clone(), Arc::downgrade(&share));
            share
        });
        let place = share.places.clone().try_acquire_owned().ok()?;
        Some(CallerPlace {
            share,
            _place: place,
        })
    }
}

impl CallerPlace {
    /// Waits until the caller may run a further check.
    pub async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        self.share.turns.clone().acquire_owned().await.ok()
    }
}
