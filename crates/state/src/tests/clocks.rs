//! Tests with clocks that are set: counters of minutes and seconds ignore the system clock, those of days follow it.

use super::*;
use crate::sqlite_store::SqliteStore;
use headgate_core::state::clock::{Clock, ClockReading};
use headgate_core::state::memory::MemoryStore;
use headgate_core::state::per_second_limiter::PerSecondDecision;

pub const HOUR_MS: u64 = 60 * 60 * 1000;
const DAY_MS: u64 = 24 * HOUR_MS;
/// Noon of a day, in Unix milliseconds.
pub const NOON_MS: u64 = 20_000 * DAY_MS + 12 * HOUR_MS;

/// A monotonic and a system clock that a test sets.
#[derive(Default)]
pub struct TestClock {
    steady_ms: AtomicU64,
    unix_ms: AtomicU64,
}

impl TestClock {
    pub fn set(&self, steady_ms: u64, unix_ms: u64) {
        self.steady_ms.store(steady_ms, Ordering::Relaxed);
        self.unix_ms.store(unix_ms, Ordering::Relaxed);
    }

    pub fn clock(self: &Arc<Self>) -> Clock {
        let clocks = self.clone();
        Clock::new(move || ClockReading {
            steady_ms: clocks.steady_ms.load(Ordering::Relaxed),
            unix_ms: clocks.unix_ms.load(Ordering::Relaxed),
        })
    }
}

#[tokio::test]
async fn setting_the_wall_clock_does_not_move_minute_windows() {
    let folder = TempFolder::new();
    for is_file in [false, true] {
        let clocks = Arc::new(TestClock::default());
        clocks.set(5_500, NOON_MS);
        let store: Box<dyn StateStore> = match is_file {
            false => Box::new(MemoryStore::with_clock(clocks.clock())),
            true => {
                let path = folder.path().join("clocks.db");
                Box::new(SqliteStore::open(&path, 30 * DAY, clocks.clock()).unwrap())
            }
        };
        let store = &*store;
        let ann = caller();
        let requests = [limit(&ann, LimitKind::RequestsPerMinute, 1)];
        let tokens = [limit(&ann, LimitKind::TokensPerMinute, 10)];
        granted(store, &requests, 0).await;
        let ticket = granted(store, &tokens, 10).await;
        assert_eq!(
            store.take_per_second("b", 1).get().await.unwrap(),
            PerSecondDecision::Allowed
        );
        for unix_ms in [NOON_MS + HOUR_MS, NOON_MS - HOUR_MS, NOON_MS + 61_000, 0] {
            clocks.set(5_600, unix_ms);
            for limits in [&requests, &tokens] {
                let (_, wait) = refused(store, limits, 1).await;
                assert_eq!(wait, Duration::from_millis(59_900), "{is_file} {unix_ms}");
            }
            let pace = store.take_per_second("b", 1).get().await.unwrap();
            assert_eq!(
                pace,
                PerSecondDecision::RetryAfter(Duration::from_millis(1_150)),
                "{is_file}"
            );
        }
        // A settlement after a clock jump corrects the second in which the request was charged.
        store.settle(ticket, 4);
        granted(store, &tokens, 6).await;
        clocks.set(65_500, NOON_MS);
        granted(store, &requests, 0).await;
        assert_eq!(
            store.take_per_second("b", 1).get().await.unwrap(),
            PerSecondDecision::Allowed
        );
    }
}

#[tokio::test]
async fn a_budget_goes_by_the_calendar() {
    let clocks = Arc::new(TestClock::default());
    let store = MemoryStore::with_clock(clocks.clock());
    let limits = [limit(&caller(), LimitKind::TokensPerDay, 10)];
    clocks.set(0, NOON_MS);
    granted(&store, &limits, 10).await;
    clocks.set(2 * DAY_MS, NOON_MS);
    let (_, wait) = refused(&store, &limits, 1).await;
    assert_eq!(wait, Duration::from_millis(12 * HOUR_MS));
    clocks.set(2 * DAY_MS, NOON_MS + 12 * HOUR_MS);
    granted(&store, &limits, 1).await;
}

#[tokio::test]
async fn idle_counters_are_evicted() {
    let clocks = Arc::new(TestClock::default());
    let store = MemoryStore::with_clock(clocks.clock());
    for count in 0..20_000_u64 {
        clocks.set(count * 100, NOON_MS);
        let limits = [limit(&caller(), LimitKind::RequestsPerMinute, 1)];
        granted(&store, &limits, 0).await;
    }
    let counters = store.counters();
    assert!(counters < 4_000, "{counters}");
}

#[tokio::test]
async fn a_state_file_is_pruned_by_the_clock_that_counts_its_budgets() {
    let folder = TempFolder::new();
    let clocks = Arc::new(TestClock::default());
    // By the system clock this budget is years old.
    clocks.set(0, NOON_MS);
    let limits = [limit(&caller(), LimitKind::TokensPerDay, 100)];
    for uses in 1..=4 {
        let path = folder.path().join("pruned.db");
        // The first pruning is before or after the first write.
        let store = SqliteStore::open(&path, 30 * DAY, clocks.clock()).unwrap();
        for _ in 0..2 {
            let ticket = granted(&store, &limits, 5).await;
            store.settle(ticket, 5);
            store.flush(Duration::from_secs(10));
        }
        let status = admit(&store, &limits, 0).await.limit_statuses[0];
        assert_eq!(status.remaining, 100 - uses * 10);
    }
}
