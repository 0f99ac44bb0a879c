//! Clocks that are set: minutes and seconds do not follow them, days do.

use super::*;
use crate::state::clock::{Clock, Timestamp};
use crate::state::embedded::Embedded;
use crate::state::memory::Memory;
use crate::state::paces::Pace;

const HOUR_MS: u64 = 60 * 60 * 1000;
const DAY_MS: u64 = 24 * HOUR_MS;
/// Noon of a day.
const NOON_MS: u64 = 20_000 * DAY_MS + 12 * HOUR_MS;

/// Both clocks of a machine, as a test sets them.
#[derive(Default)]
struct Clocks {
    steady_ms: AtomicU64,
    unix_ms: AtomicU64,
}

impl Clocks {
    fn set(&self, steady_ms: u64, unix_ms: u64) {
        self.steady_ms.store(steady_ms, Ordering::Relaxed);
        self.unix_ms.store(unix_ms, Ordering::Relaxed);
    }

    fn clock(self: &Arc<Self>) -> Clock {
        let clocks = self.clone();
        Clock::new(move || Timestamp {
            steady_ms: clocks.steady_ms.load(Ordering::Relaxed),
            unix_ms: clocks.unix_ms.load(Ordering::Relaxed),
        })
    }
}

#[tokio::test]
async fn a_clock_that_is_set_moves_no_minute_and_no_second() {
    let folder = Folder::new();
    for is_file in [false, true] {
        let clocks = Arc::new(Clocks::default());
        clocks.set(5_500, NOON_MS);
        let store: Box<dyn Store> = match is_file {
            false => Box::new(Memory::with_clock(clocks.clock())),
            true => {
                let path = folder.path().join("clocks.db");
                Box::new(Embedded::open(&path, 30 * DAY, clocks.clock()).unwrap())
            }
        };
        let store = &*store;
        let ann = caller();
        let requests = [limit(&ann, Measure::RequestsPerMinute, 1)];
        let tokens = [limit(&ann, Measure::TokensPerMinute, 10)];
        granted(store, &requests, 0).await;
        let ticket = granted(store, &tokens, 10).await;
        assert_eq!(store.pace("b", 1).get().await.unwrap(), Pace::Now);
        for unix_ms in [NOON_MS + HOUR_MS, NOON_MS - HOUR_MS, NOON_MS + 61_000, 0] {
            clocks.set(5_600, unix_ms);
            for limits in [&requests, &tokens] {
                let (_, wait) = refused(store, limits, 1).await;
                assert_eq!(wait, Duration::from_millis(59_900), "{is_file} {unix_ms}");
            }
            let pace = store.pace("b", 1).get().await.unwrap();
            assert_eq!(pace, Pace::In(Duration::from_millis(1_150)), "{is_file}");
        }
        // What is settled behind a jump corrects the second in which it was taken.
        store.settle(ticket, 4);
        granted(store, &tokens, 6).await;
        clocks.set(65_500, NOON_MS);
        granted(store, &requests, 0).await;
        assert_eq!(store.pace("b", 1).get().await.unwrap(), Pace::Now);
    }
}

#[tokio::test]
async fn a_budget_goes_by_the_calendar() {
    let clocks = Arc::new(Clocks::default());
    let store = Memory::with_clock(clocks.clock());
    let limits = [limit(&caller(), Measure::TokensPerDay, 10)];
    clocks.set(0, NOON_MS);
    granted(&store, &limits, 10).await;
    clocks.set(2 * DAY_MS, NOON_MS);
    let (_, wait) = refused(&store, &limits, 1).await;
    assert_eq!(wait, Duration::from_millis(12 * HOUR_MS));
    clocks.set(2 * DAY_MS, NOON_MS + 12 * HOUR_MS);
    granted(&store, &limits, 1).await;
}

#[tokio::test]
async fn what_is_counted_no_more_is_not_kept_for_ever() {
    let clocks = Arc::new(Clocks::default());
    let store = Memory::with_clock(clocks.clock());
    for count in 0..20_000_u64 {
        clocks.set(count * 100, NOON_MS);
        let limits = [limit(&caller(), Measure::RequestsPerMinute, 1)];
        granted(&store, &limits, 0).await;
    }
    let counters = store.counters();
    assert!(counters < 4_000, "{counters}");
}
