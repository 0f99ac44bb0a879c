//! Keys with a create in flight in this process, so that duplicates learn of its end at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// The keys in flight.
#[derive(Clone, Default)]
pub struct InFlightKeys(Arc<Mutex<HashMap<Arc<str>, watch::Receiver<()>>>>);

/// A key in flight, until it is dropped.
pub struct InFlightKey {
    key: Arc<str>,
    /// Never sends: its end is the message.
    sender: watch::Sender<()>,
    all: InFlightKeys,
}

/// The end of a create, as far as this process learns of it.
pub struct InFlightEnd(Option<watch::Receiver<()>>);

impl InFlightKeys {
    pub fn begin(&self, key: &Arc<str>) -> InFlightKey {
        let (sender, receiver) = watch::channel(());
        self.lock().insert(key.clone(), receiver);
        InFlightKey {
            key: key.clone(),
            sender,
            all: self.clone(),
        }
    }

    pub fn end_of(&self, key: &str) -> InFlightEnd {
        InFlightEnd(self.lock().get(key).cloned())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, watch::Receiver<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InFlightEnd {
    /// Waits for the end, for `max_wait` at most.
    pub async fn within(self, max_wait: Duration) {
        match self.0 {
            Some(mut receiver) => {
                // It fails when the sender is gone, which is what it waits for.
                let _ = tokio::time::timeout(max_wait, receiver.changed()).await;
            }
            None => tokio::time::sleep(max_wait).await,
        }
    }
}

impl Drop for InFlightKey {
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
