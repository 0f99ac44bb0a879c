//! What gateways have used of the budgets that cut streams, while streams run: read from the store every few seconds.

use headgate_core::catalog::Catalog;
use headgate_core::catalog::caller::Callers;
use headgate_core::state::StateStore;
use headgate_core::state::admission::{AdmissionLimit, CounterKey, LimitStatus};
use headgate_core::state::calendar::{period, unix_ms};
use headgate_core::state::lock::lock;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;
use tokio::time::Instant;

/// How old the amount that is used of a budget may be: for streams within what they have reserved, of which there may be
/// thousands, and for those that live on what is left.
const READ_EVERY: Duration = Duration::from_secs(3);
const READ_EVERY_IN_EXCESS: Duration = Duration::from_secs(1);
/// The last part of a day or a month, in which nothing is read: the store's clock may be ahead.
const LAST_MS: u64 = 5_000;

/// The budgets that cut streams and of which streams run. Outlives snapshots.
#[derive(Default)]
pub struct LiveBudgets(Mutex<HashMap<CounterKey, Weak<LiveBudget>>>);

/// A budget in one day or month. Amounts are in billionths.
pub struct LiveBudget {
    counter: CounterKey,
    /// Unix milliseconds at which another period begins.
    until_ms: u64,
    most: AtomicU64,
    /// Used and reserved, on all gateways.
    used: AtomicU64,
    /// What the streams of this gateway cost beyond what they have reserved.
    excess: AtomicU64,
    read_at: Mutex<Instant>,
}

impl LiveBudgets {
    /// The budget of a limit that has just admitted a request, at `taken_ms`.
    pub fn watch(
        &self,
        limit: &AdmissionLimit,
        status: &LimitStatus,
        taken_ms: u64,
    ) -> Arc<LiveBudget> {
        let used = limit.most.saturating_sub(status.remaining);
        let (_, until_ms) = period(limit.measure(), taken_ms);
        let mut all = lock(&self.0);
        let known = all.get(&limit.counter).and_then(Weak::upgrade);
        if let Some(budget) = known.filter(|budget| budget.until_ms == until_ms) {
            budget.most.store(limit.most, Ordering::Relaxed);
            budget.used.store(used, Ordering::Relaxed);
            return budget;
        }
        let budget = Arc::new(LiveBudget {
            counter: limit.counter.clone(),
            until_ms,
            most: limit.most.into(),
            used: used.into(),
            excess: 0.into(),
            read_at: Mutex::new(Instant::now()),
        });
        if all.len() == all.capacity() {
            all.retain(|_, budget| budget.strong_count() > 0);
        }
        all.insert(limit.counter.clone(), Arc::downgrade(&budget));
        budget
    }

    /// Adopts the amounts of another configuration. A budget that it does not have stays as it was for streams that run.
    pub fn adopt(&self, callers: &Callers, catalog: &Catalog) {
        let live: HashMap<_, _> = {
            let all = lock(&self.0);
            let live = all
                .iter()
                .filter_map(|(key, budget)| Some((key.clone(), budget.upgrade()?)));
            live.collect()
        };
        if live.is_empty() {
            return;
        }
        let mut adopt = |limit: &AdmissionLimit| {
            if let Some(budget) = live.get(&limit.counter) {
                let most = match limit.cuts_streams {
                    true => limit.most,
                    false => u64::MAX,
                };
                budget.most.store(most, Ordering::Relaxed);
            }
        };
        callers.for_each_holder(&mut |caller| caller.limits.for_each(&mut adopt));
        let channels = catalog.channels().flat_map(|channel| &channel.budgets);
        channels.for_each(adopt);
    }
}

impl LiveBudget {
    /// The time until the whole budget is free again.
    pub fn reset(&self) -> Duration {
        Duration::from_millis(self.until_ms.saturating_sub(unix_ms()))
    }

    /// Changes what a stream costs beyond what it has reserved.
    pub fn change_excess(&self, before: u64, after: u64) {
        self.excess.fetch_add(after, Ordering::Relaxed);
        self.excess.fetch_sub(before, Ordering::Relaxed);
    }

    /// Whether the budget covers a stream that has not used `unused` of what it has reserved, or that costs more than that. One
    /// that is overdrawn does not cover the last part of what is reserved of it.
    pub fn covers(&self, unused: u64, has_excess: bool) -> bool {
        let [most, used, excess] =
            [&self.most, &self.used, &self.excess].map(|it| it.load(Ordering::Relaxed));
        match has_excess {
            true => used.saturating_add(excess) <= most,
            false => used <= most.saturating_add(unused),
        }
    }

    /// Has another task read what is used, if that was not read lately. While the store is unreachable, the last amount counts.
    pub fn refresh(self: &Arc<Self>, store: &Arc<dyn StateStore>, has_excess: bool) {
        let every = match has_excess {
            true => READ_EVERY_IN_EXCESS,
            false => READ_EVERY,
        };
        {
            let mut read_at = lock(&self.read_at);
            if read_at.elapsed() < every {
                return;
            }
            *read_at = Instant::now();
        }
        if unix_ms().saturating_add(LAST_MS) >= self.until_ms {
            return;
        }
        let (budget, store) = (self.clone(), store.clone());
        tokio::spawn(async move {
            if let Ok(used) = store.money_used(&budget.counter).get().await {
                budget.used.store(used, Ordering::Relaxed);
            }
        });
    }
}
