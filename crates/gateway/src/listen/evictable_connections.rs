//! Connections that a listener closes in favour of new ones at its limit: those that wait for their client, the longest
//! wait first.
//!
//! Whoever opens silent connections up to the limit would otherwise keep probes out, see `ngx_reusable_connection` of
//! nginx.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The connections of a listener that wait for their clients.
#[derive(Default)]
pub(super) struct EvictableConnections {
    waiting: Mutex<EvictionQueue>,
}

#[derive(Default)]
struct EvictionQueue {
    next: u64,
    /// In the order in which they began to wait.
    by_order: BTreeMap<u64, Arc<Notify>>,
}

/// A connection, which can be evicted while none of its requests is served.
pub(super) struct EvictableConnection {
    connections: Arc<EvictableConnections>,
    eviction: Arc<Notify>,
    activity: Mutex<ConnectionActivity>,
}

/// What a connection does; HTTP/2 has several requests at a time.
struct ConnectionActivity {
    requests: usize,
    /// The place in the order of the waiting connections.
    place: Option<u64>,
}

/// Keeps a connection from eviction while a request is served.
pub(super) struct ServedRequestGuard<'a>(&'a EvictableConnection);

impl EvictableConnections {
    /// Adds a connection that waits for its client.
    pub fn add(self: &Arc<Self>) -> EvictableConnection {
        let eviction = Arc::new(Notify::new());
        let place = self.lock().push(&eviction);
        EvictableConnection {
            connections: self.clone(),
            eviction,
            activity: Mutex::new(ConnectionActivity {
                requests: 0,
                place: Some(place),
            }),
        }
    }

    /// Evicts the connection that has waited longest; `false` if all of them serve requests.
    pub fn evict_one(&self) -> bool {
        let longest = self.lock().by_order.pop_first();
        longest.map(|(_, eviction)| eviction.notify_one()).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, EvictionQueue> {
        lock(&self.waiting)
    }
}

impl EvictionQueue {
    fn push(&mut self, eviction: &Arc<Notify>) -> u64 {
        self.next += 1;
        self.by_order.insert(self.next, eviction.clone());
        self.next
    }
}

impl EvictableConnection {
    /// Waits until the connection is to be closed.
    pub async fn evicted(&self) {
        self.eviction.notified().await;
    }

    /// Keeps the connection until the returned value is dropped.
    pub fn serve(&self) -> ServedRequestGuard<'_> {
        let mut activity = lock(&self.activity);
        activity.requests += 1;
        if let Some(place) = activity.place.take() {
            self.connections.lock().by_order.remove(&place);
        }
        ServedRequestGuard(self)
    }
}

impl Drop for ServedRequestGuard<'_> {
    fn drop(&mut self) {
        let mut activity = lock(&self.0.activity);
        activity.requests -= 1;
        if activity.requests == 0 {
            let place = self.0.connections.lock().push(&self.0.eviction);
            activity.place = Some(place);
        }
    }
}

impl Drop for EvictableConnection {
    fn drop(&mut self) {
        if let Some(place) = lock(&self.activity).place.take() {
            self.connections.lock().by_order.remove(&place);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Waker};

    #[test]
    fn the_connection_that_has_waited_longest_for_its_client_is_evicted() {
        let connections = Arc::new(EvictableConnections::default());
        let [first, second, third] = [(); 3].map(|()| connections.add());
        let evicted = |connection: &EvictableConnection| {
            let context = &mut Context::from_waker(Waker::noop());
            pin!(connection.evicted()).poll(context).is_ready()
        };
        // The first one begins to wait again after the others.
        drop(first.serve());
        let (served, other) = (second.serve(), second.serve());
        drop(other);
        for (expected, connection) in [(true, &third), (true, &first), (false, &second)] {
            assert_eq!(connections.evict_one(), expected);
            assert_eq!(evicted(connection), expected);
        }
        drop(served);
        drop(third);
        assert!(connections.evict_one());
        assert!(evicted(&second));
        drop((first, second));
        assert!(!connections.evict_one());
    }
}
