//! Property tests: what a counter has is the sum of the true figures, whatever was admitted, settled, dropped and left.

use super::clocks::{HOUR_MS, NOON_MS, TestClock};
use super::redis_server::RedisServer;
use super::redis_store::{open, site};
use super::*;
use crate::sqlite_store::SqliteStore;
use headgate_core::state::calendar::period;
use headgate_core::state::memory::MemoryStore;
use headgate_core::state::settings::RedisSettings;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::BTreeMap;
use std::task::Poll;

/// Far above what the steps use, so that nothing is refused.
const MOST: u64 = 1 << 40;
const TOKEN_LIMITS: [LimitKind; 3] = [
    LimitKind::TokensPerMinute,
    LimitKind::TokensPerDay,
    LimitKind::TokensPerMonth,
];

#[derive(Clone, Debug)]
enum Step {
    /// A request is admitted with this estimate.
    Admit(u64),
    /// One of the requests in flight ends, and used so many tokens.
    Settle(Index, u64),
    /// One of the requests in flight is dropped, and keeps its estimate.
    Drop(Index),
    /// A request whose caller leaves before the store responds.
    Abandon(u64),
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let waits = prop_oneof![0..2_500_u64, 55_000..70_000_u64, Just(7 * HOUR_MS)];
    let step = prop_oneof![
        3 => (0..500_u64).prop_map(Step::Admit),
        3 => (any::<Index>(), 0..2_000_u64).prop_map(|(which, used)| Step::Settle(which, used)),
        1 => any::<Index>().prop_map(Step::Drop),
        1 => (1..500_u64).prop_map(Step::Abandon),
        2 => waits.prop_map(Step::Wait),
    ];
    proptest::collection::vec(step, 1..60)
}

/// What a minute, a day and a month should have, written down without any forgetting.
#[derive(Default)]
struct ReconciliationLedger {
    /// Counts of the minute: the second that each is in.
    counts: Vec<(u64, u64)>,
    /// The last count of each second.
    lasts: BTreeMap<u64, u64>,
    /// Tokens by the time of admission.
    charges: Vec<(u64, u64)>,
}

/// A request in flight, and its entries in the ledger.
struct UnsettledRequest {
    ticket: AdmissionTicket,
    count: usize,
    charge: usize,
}

impl ReconciliationLedger {
    fn count(&mut self, now: u64, tokens: u64) -> usize {
        self.lasts.insert(now / 1000, now);
        self.counts.push((now / 1000, tokens));
        self.counts.len() - 1
    }

    fn is_forgotten(&self, second: u64, now: u64) -> bool {
        now >= self.lasts[&second] + 60_000
    }

    fn settle(&mut self, open: &UnsettledRequest, now: u64, used: u64) {
        self.charges[open.charge].1 = used;
        let (second, estimate) = self.counts[open.count];
        if !self.is_forgotten(second, now) {
            self.counts[open.count].1 = used;
        } else if used > estimate {
            self.count(now, used - estimate);
        }
    }

    fn used(&self, measure: LimitKind, now: u64, unix_ms: u64) -> u64 {
        if measure == LimitKind::TokensPerMinute {
            let counts = self.counts.iter();
            let known = counts.filter(|(second, _)| !self.is_forgotten(*second, now));
            return known.map(|(_, tokens)| tokens).sum();
        }
        let charges = self.charges.iter();
        let current = period(measure, unix_ms).0;
        let of_period = charges.filter(|(taken, _)| period(measure, *taken).0 == current);
        of_period.map(|(_, tokens)| tokens).sum()
    }
}

fn token_limits() -> Vec<AdmissionLimit> {
    let ann = caller();
    let limits = TOKEN_LIMITS.map(|measure| limit(&ann, measure, MOST));
    limits.into()
}

/// Plays steps against a store whose clocks a test sets, and compares it with a ledger after each.
fn play(store: &dyn StateStore, clocks: &TestClock, steps: &[Step]) -> Result<(), TestCaseError> {
    let limits = token_limits();
    let mut ledger = ReconciliationLedger::default();
    let mut open: Vec<UnsettledRequest> = Vec::new();
    let mut now = 5_000;
    let admit = |tokens| match store.admit(&AdmissionRequest {
        limits: &limits,
        tokens,
        cost: None,
        run: None,
    }) {
        StoreFuture::Ready(Ok(result)) => result,
        _ => panic!("this store never waits"),
    };
    for step in steps {
        clocks.set(now, NOON_MS + now);
        match step {
            Step::Admit(tokens) => {
                let AdmissionDecision::Granted(ticket) = admit(*tokens).decision else {
                    panic!("there is room");
                };
                ledger.charges.push((NOON_MS + now, *tokens));
                open.push(UnsettledRequest {
                    ticket,
                    count: ledger.count(now, *tokens),
                    charge: ledger.charges.len() - 1,
                });
            }
            Step::Settle(..) | Step::Drop(_) if open.is_empty() => {}
            Step::Settle(which, used) => {
                let ended = open.swap_remove(which.index(open.len()));
                ledger.settle(&ended, now, *used);
                store.settle(ended.ticket, *used);
            }
            Step::Drop(which) => {
                let ended = open.swap_remove(which.index(open.len()));
                let estimate = ended.ticket.tokens;
                store.settle(ended.ticket, estimate);
            }
            Step::Abandon(_) => {}
            Step::Wait(ms) => now += ms,
        }
        clocks.set(now, NOON_MS + now);
        store.flush(Duration::from_secs(10));
        // A request without tokens shows what is left.
        ledger.count(now, 0);
        for (measure, status) in TOKEN_LIMITS.into_iter().zip(admit(0).limit_statuses) {
            let used = ledger.used(measure, now, NOON_MS + now);
            prop_assert_eq!(
                MOST - status.remaining,
                used,
                "{:?} after {:?}",
                measure,
                step
            );
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn counters_in_memory_reconcile(steps in steps()) {
        let clocks = Arc::new(TestClock::default());
        play(&MemoryStore::with_clock(clocks.clock()), &clocks, &steps)?;
    }
}

#[test]
fn counters_with_a_file_reconcile() {
    let mut runner = TestRunner::deterministic();
    let folder = TempFolder::new();
    let clocks = Arc::new(TestClock::default());
    clocks.set(0, NOON_MS);
    let path = folder.path().join("sums.db");
    let store = SqliteStore::open(&path, 30 * DAY, clocks.clock()).unwrap();
    for _ in 0..20 {
        let steps = steps().new_tree(&mut runner).unwrap().current();
        play(&store, &clocks, &steps).unwrap();
    }
}

/// Begins an admission, and leaves after one poll; returns whether it left before the response.
async fn abandon(store: &dyn StateStore, limits: &[AdmissionLimit], tokens: u64) -> bool {
    let demand = AdmissionRequest {
        limits,
        tokens,
        cost: None,
        run: None,
    };
    let mut admitting = Box::pin(store.admit(&demand).get());
    let first_poll = std::future::poll_fn(|context| Poll::Ready(admitting.as_mut().poll(context)));
    match first_poll.await {
        // Most are with Redis when they are dropped, and some are not.
        Poll::Pending => {
            tokio::task::yield_now().await;
            true
        }
        // Redis has responded within the poll: nobody left, and the ticket has to be settled.
        Poll::Ready(Ok(AdmissionResult {
            decision: AdmissionDecision::Granted(ticket),
            ..
        })) => {
            store.settle(ticket, 0);
            false
        }
        Poll::Ready(other) => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn counters_in_redis_reconcile_also_if_nobody_awaits_an_admission() {
    let server = RedisServer::start();
    let store = open(RedisSettings {
        // On a busy machine a response may come late.
        timeout: Duration::from_secs(20),
        ..site(&server.url())
    });
    let mut runner = TestRunner::deterministic();
    let mut abandoned = 0;
    for _ in 0..20 {
        let limits = token_limits();
        let mut open: Vec<AdmissionTicket> = Vec::new();
        let mut settled = 0;
        for step in steps().new_tree(&mut runner).unwrap().current() {
            match step {
                Step::Admit(tokens) => open.push(granted(&*store, &limits, tokens).await),
                Step::Settle(..) | Step::Drop(_) if open.is_empty() => {}
                Step::Settle(which, used) => {
                    store.settle(open.swap_remove(which.index(open.len())), used);
                    settled += used;
                }
                Step::Drop(which) => {
                    let ticket: AdmissionTicket = open.swap_remove(which.index(open.len()));
                    settled += ticket.tokens;
                    let estimate = ticket.tokens;
                    store.settle(ticket, estimate);
                }
                Step::Abandon(tokens) => {
                    abandoned += usize::from(abandon(&*store, &limits, tokens).await);
                }
                Step::Wait(_) => {}
            }
        }
        store.flush(Duration::from_secs(60));
        let in_flight: u64 = open.iter().map(|ticket| ticket.tokens).sum();
        let statuses = admit(&*store, &limits, 0).await.limit_statuses;
        let used: Vec<u64> = statuses
            .iter()
            .map(|status| MOST - status.remaining)
            .collect();
        assert_eq!(used, [settled + in_flight; 3]);
    }
    assert!(abandoned > 0, "no admission was abandoned");
}

#[tokio::test]
async fn redis_counts_what_exceeds_a_forgotten_estimate() {
    let server = RedisServer::start();
    let store = open(site(&server.url()));
    let mut redis = crate::redis_store::client(&site(&server.url()))
        .unwrap()
        .get_connection()
        .unwrap();
    for (used, counted) in [(350, 250), (100, 0), (7, 0)] {
        let ann = caller();
        let limits = [limit(&ann, LimitKind::TokensPerMinute, MOST)];
        let mut ticket = granted(&*store, &limits, 100).await;
        // The admission was two minutes ago.
        ticket.taken_at.unix_ms -= 120_000;
        let keys: Vec<String> = redis::cmd("KEYS")
            .arg("*tokens_per_minute")
            .query(&mut redis)
            .unwrap();
        redis::cmd("DEL").arg(&keys).exec(&mut redis).unwrap();
        store.settle(ticket, used);
        store.flush(Duration::from_secs(10));
        let status = admit(&*store, &limits, 0).await.limit_statuses[0];
        assert_eq!(MOST - status.remaining, counted, "{used}");
    }
}
