//! Single flight: concurrent calls for the same key share one execution.

use headgate_core::state::lock::lock;
use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// The calls in flight by key, as long as somebody waits for them.
pub struct SingleFlight<T> {
    in_flight: Mutex<HashMap<Arc<str>, Weak<InFlightCall<T>>>>,
}

/// How the result of a call was obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlightRole {
    /// The call was started by this caller.
    Leader,
    /// The call was already in flight.
    Follower,
}

/// A call in flight. It runs in its own task, so that it does not depend on any of those who wait. It is aborted when
/// the last of them leaves.
struct InFlightCall<T> {
    key: Arc<str>,
    outcome: watch::Receiver<Option<T>>,
    task: AbortHandle,
    all: Weak<SingleFlight<T>>,
}

impl<T: Clone + Send + Sync + 'static> SingleFlight<T> {
    /// The result of `work`, or of the call in flight for the same key; `None` if it ended without a result.
    pub async fn run<F>(
        self: &Arc<Self>,
        key: &Arc<str>,
        work: impl FnOnce() -> F,
    ) -> (Option<T>, FlightRole)
    where
        F: Future<Output = T> + Send + 'static,
    {
        let (flight, part) = self.join_or_start(key, work);
        let mut outcome = flight.outcome.clone();
        let landed = outcome.wait_for(Option::is_some).await;
        (landed.ok().and_then(|outcome| outcome.clone()), part)
    }

    fn join_or_start<F>(
        self: &Arc<Self>,
        key: &Arc<str>,
        work: impl FnOnce() -> F,
    ) -> (Arc<InFlightCall<T>>, FlightRole)
    where
        F: Future<Output = T> + Send + 'static,
    {
        let mut in_flight = self.lock();
        if let Some(flight) = in_flight.get(key).and_then(Weak::upgrade) {
            return (flight, FlightRole::Follower);
        }
        let (lands, outcome) = watch::channel(None);
        let work = work();
        let task = tokio::spawn(async move {
            let _ = lands.send(Some(work.await));
        });
        let flight = Arc::new(InFlightCall {
            key: key.clone(),
            outcome,
            task: task.abort_handle(),
            all: Arc::downgrade(self),
        });
        in_flight.insert(key.clone(), Arc::downgrade(&flight));
        (flight, FlightRole::Leader)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Weak<InFlightCall<T>>>> {
        self.in_flight
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Default for SingleFlight<T> {
    fn default() -> Self {
        Self {
            in_flight: Mutex::default(),
        }
    }
}

impl<T> Drop for InFlightCall<T> {
    fn drop(&mut self) {
        self.task.abort();
        let Some(all) = self.all.upgrade() else {
            return;
        };
        let mut in_flight = lock(&all.in_flight);
        // Another call may have started for the same key.
        if in_flight
            .get(&self.key)
            .is_some_and(|flight| flight.strong_count() == 0)
        {
            in_flight.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;
    use tokio::sync::Notify;
    use tokio::time::{sleep, timeout};

    const MAX_WAIT: Duration = Duration::from_secs(30);

    #[tokio::test]
    async fn concurrent_calls_share_one_query() {
        let (single_flight, calls) = (
            Arc::new(SingleFlight::default()),
            Arc::new(AtomicUsize::new(0)),
        );
        let key: Arc<str> = "task".into();
        let pollers = (0..100).map(|_| {
            let (single_flight, calls, key) = (single_flight.clone(), calls.clone(), key.clone());
            tokio::spawn(async move {
                let work = || async move {
                    sleep(Duration::from_millis(20)).await;
                    calls.fetch_add(1, Ordering::SeqCst)
                };
                single_flight.run(&key, work).await
            })
        });
        let pollers: Vec<_> = pollers.collect();
        let mut first = 0;
        for poller in pollers {
            let (outcome, part) = timeout(MAX_WAIT, poller).await.unwrap().unwrap();
            assert_eq!(outcome, Some(0));
            first += usize::from(part == FlightRole::Leader);
        }
        assert_eq!((first, calls.load(Ordering::SeqCst)), (1, 1));
        assert!(single_flight.lock().is_empty());
    }

    #[tokio::test]
    async fn followers_get_the_result_after_the_leader_leaves() {
        let (single_flight, go) = (Arc::new(SingleFlight::default()), Arc::new(Notify::new()));
        let key: Arc<str> = "task".into();
        let ask = |response: u32| {
            let (single_flight, go, key) = (single_flight.clone(), go.clone(), key.clone());
            async move {
                let work = || async move {
                    go.notified().await;
                    response
                };
                single_flight.run(&key, work).await.0
            }
        };
        let leader = tokio::spawn(ask(1));
        sleep(Duration::from_millis(10)).await;
        let follower = tokio::spawn(ask(2));
        sleep(Duration::from_millis(10)).await;
        leader.abort();
        sleep(Duration::from_millis(10)).await;
        go.notify_one();
        let response = timeout(MAX_WAIT, follower).await.unwrap().unwrap();
        assert_eq!(response, Some(1), "the question goes on");
    }

    #[tokio::test]
    async fn a_call_without_waiters_is_aborted() {
        let single_flight: Arc<SingleFlight<()>> = Arc::default();
        let key: Arc<str> = "task".into();
        let alive = Arc::new(());
        let held = alive.clone();
        let work = || async move {
            let _held = held;
            std::future::pending().await
        };
        let outcome = timeout(Duration::from_millis(20), single_flight.run(&key, work)).await;
        assert!(outcome.is_err());
        for _ in 0..1_000 {
            if Arc::strong_count(&alive) == 1 {
                break;
            }
            sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(Arc::strong_count(&alive), 1);
        assert!(single_flight.lock().is_empty());
    }

    #[tokio::test]
    async fn a_panicking_call_releases_its_waiters() {
        let single_flight: Arc<SingleFlight<()>> = Arc::default();
        let key: Arc<str> = "task".into();
        let broken = single_flight.run(&key, || async { panic!("as a defect would") });
        let (outcome, _) = timeout(MAX_WAIT, broken).await.unwrap();
        assert!(outcome.is_none());
    }
}
