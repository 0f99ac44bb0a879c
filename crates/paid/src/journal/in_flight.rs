//! Keys with a create in flight in this process, which announces its end to its duplicates.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// All keys in flight.
#[derive(Clone, Default)]
pub struct InFlightKeys(Arc<Mutex<HashMap<Arc<str>, watch::Receiver<InFlightPhase>>>>);

/// How far a create in flight has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InFlightPhase {
    Processing,
    /// The end of the create is known, and is being stored.
    Ending,
}

/// A key in flight, until it is dropped.
pub struct InFlightKeyGuard {
    key: Arc<str>,
    sender: watch::Sender<InFlightPhase>,
    all: InFlightKeys,
}

/// A create in flight, for a duplicate in this process that waits for its end.
pub struct InFlightCreateWatch(watch::Receiver<InFlightPhase>);

impl InFlightKeys {
    pub fn begin(&self, key: &Arc<str>) -> InFlightKeyGuard {
        let (sender, receiver) = watch::channel(InFlightPhase::Processing);
        self.lock().insert(key.clone(), receiver);
        InFlightKeyGuard {
            key: key.clone(),
            sender,
            all: self.clone(),
        }
    }

    /// The create in flight under a key; `None` if there is none in this process.
    pub fn find(&self, key: &str) -> Option<InFlightCreateWatch> {
        self.lock().get(key).cloned().map(InFlightCreateWatch)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, watch::Receiver<InFlightPhase>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InFlightCreateWatch {
    pub fn phase(&self) -> InFlightPhase {
        *self.0.borrow()
    }

    /// Waits until the end of the create is stored, for `max_wait` at most.
    pub async fn wait_at_most(mut self, max_wait: Duration) {
        let stored = async { while self.0.changed().await.is_ok() {} };
        let _ = tokio::time::timeout(max_wait, stored).await;
    }
}

impl InFlightKeyGuard {
    pub fn set_ending(&self) {
        self.sender.send_replace(InFlightPhase::Ending);
    }
}

impl Drop for InFlightKeyGuard {
    fn drop(&mut self) {
        let mut all = self.all.lock();
        let ours = self.sender.subscribe();
        if all
            .get(&self.key)
            .is_some_and(|known| known.same_channel(&ours))
        {
            all.remove(&self.key);
        }
    }
}
