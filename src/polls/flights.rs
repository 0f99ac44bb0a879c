//! Questions under way, each asked once for all who want to know the same.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// What is asked by a key, as long as somebody waits for it.
pub struct Flights<T> {
    under_way: Mutex<HashMap<Arc<str>, Weak<Flight<T>>>>,
}

/// How an answer came to whoever asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The question was asked for them.
    First,
    /// It was under way already.
    Joined,
}

/// One question. It has a task of its own, so that nobody who waits is more than the others; with the last
/// of them it is given up.
struct Flight<T> {
    key: Arc<str>,
    outcome: watch::Receiver<Option<T>>,
    task: AbortHandle,
    all: Weak<Flights<T>>,
}

impl<T: Clone + Send + Sync + 'static> Flights<T> {
    /// The outcome of `work`, or of what is under way for the same key; none if it ended without one.
    pub async fn share<F>(
        self: &Arc<Self>,
        key: &Arc<str>,
        work: impl FnOnce() -> F,
    ) -> (Option<T>, Part)
    where
        F: Future<Output = T> + Send + 'static,
    {
        let (flight, part) = self.board(key, work);
        let mut outcome = flight.outcome.clone();
        let landed = outcome.wait_for(Option::is_some).await;
        (landed.ok().and_then(|outcome| outcome.clone()), part)
    }

    fn board<F>(
        self: &Arc<Self>,
        key: &Arc<str>,
        work: impl FnOnce() -> F,
    ) -> (Arc<Flight<T>>, Part)
    where
        F: Future<Output = T> + Send + 'static,
    {
        let mut under_way = self.lock();
        if let Some(flight) = under_way.get(key).and_then(Weak::upgrade) {
            return (flight, Part::Joined);
        }
        let (lands, outcome) = watch::channel(None);
        let work = work();
        let task = tokio::spawn(async move {
            let _ = lands.send(Some(work.await));
        });
        let flight = Arc::new(Flight {
            key: key.clone(),
            outcome,
            task: task.abort_handle(),
            all: Arc::downgrade(self),
        });
        under_way.insert(key.clone(), Arc::downgrade(&flight));
        (flight, Part::First)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Weak<Flight<T>>>> {
        self.under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Default for Flights<T> {
    fn default() -> Self {
        Self {
            under_way: Mutex::default(),
        }
    }
}

impl<T> Drop for Flight<T> {
    fn drop(&mut self) {
        self.task.abort();
        let Some(all) = self.all.upgrade() else {
            return;
        };
        let mut under_way = all.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        // Another may have begun for the same key.
        if under_way
            .get(&self.key)
            .is_some_and(|flight| flight.strong_count() == 0)
        {
            under_way.remove(&self.key);
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

    const PATIENCE: Duration = Duration::from_secs(30);

    #[tokio::test]
    async fn all_who_ask_at_once_share_one_question() {
        let (flights, asked) = (Arc::new(Flights::default()), Arc::new(AtomicUsize::new(0)));
        let key: Arc<str> = "task".into();
        let pollers = (0..100).map(|_| {
            let (flights, asked, key) = (flights.clone(), asked.clone(), key.clone());
            tokio::spawn(async move {
                let work = || async move {
                    sleep(Duration::from_millis(20)).await;
                    asked.fetch_add(1, Ordering::SeqCst)
                };
                flights.share(&key, work).await
            })
        });
        let pollers: Vec<_> = pollers.collect();
        let mut first = 0;
        for poller in pollers {
            let (outcome, part) = timeout(PATIENCE, poller).await.unwrap().unwrap();
            assert_eq!(outcome, Some(0));
            first += usize::from(part == Part::First);
        }
        assert_eq!((first, asked.load(Ordering::SeqCst)), (1, 1));
        assert!(flights.lock().is_empty());
    }

    #[tokio::test]
    async fn who_began_may_leave_and_the_others_are_answered() {
        let (flights, go) = (Arc::new(Flights::default()), Arc::new(Notify::new()));
        let key: Arc<str> = "task".into();
        let ask = |answer: u32| {
            let (flights, go, key) = (flights.clone(), go.clone(), key.clone());
            async move {
                let work = || async move {
                    go.notified().await;
                    answer
                };
                flights.share(&key, work).await.0
            }
        };
        let leader = tokio::spawn(ask(1));
        sleep(Duration::from_millis(10)).await;
        let follower = tokio::spawn(ask(2));
        sleep(Duration::from_millis(10)).await;
        leader.abort();
        sleep(Duration::from_millis(10)).await;
        go.notify_one();
        let answer = timeout(PATIENCE, follower).await.unwrap().unwrap();
        assert_eq!(answer, Some(1), "the question goes on");
    }

    #[tokio::test]
    async fn what_nobody_waits_for_is_given_up() {
        let flights: Arc<Flights<()>> = Arc::default();
        let key: Arc<str> = "task".into();
        let alive = Arc::new(());
        let held = alive.clone();
        let work = || async move {
            let _held = held;
            std::future::pending().await
        };
        let asked = timeout(Duration::from_millis(20), flights.share(&key, work)).await;
        assert!(asked.is_err());
        for _ in 0..1_000 {
            if Arc::strong_count(&alive) == 1 {
                break;
            }
            sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(Arc::strong_count(&alive), 1);
        assert!(flights.lock().is_empty());
    }

    #[tokio::test]
    async fn a_question_that_breaks_leaves_nobody_waiting() {
        let flights: Arc<Flights<()>> = Arc::default();
        let key: Arc<str> = "task".into();
        let broken = flights.share(&key, || async { panic!("as a defect would") });
        let (outcome, _) = timeout(PATIENCE, broken).await.unwrap();
        assert!(outcome.is_none());
    }
}
