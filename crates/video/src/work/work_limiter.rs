//! Limits concurrent work by key and by caller, so that a slow receiver, a slow channel, or a caller with much work
//! delays only its own work. Work that gets no permit gets a time at which one is expected to be free.

use headgate_core::state::calendar::whole_ms;
use headgate_core::state::lock::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

/// How long a piece of work is expected to take before one on its key has ended.
const DEFAULT_MS: u64 = 100;
/// How much later postponed work is tried again, at least and at most.
const POSTPONED_MS_MIN: u64 = 1_000;
const POSTPONED_MS_MAX: u64 = 120_000;
/// The maximum number of keys without work in flight that are remembered.
const IDLE_KEYS_MAX: usize = 10_000;

/// The maximum numbers of pieces of work in flight.
#[derive(Clone, Copy, Debug)]
pub struct InFlightWorkLimits {
    pub total: usize,
    /// Further permits for keys and callers without any work in flight.
    pub reserved: usize,
    pub of_key: usize,
    pub of_owner: usize,
    /// Of one caller on one key.
    pub of_owner_on_key: usize,
}

/// Counts of work in flight.
pub struct WorkLimiter {
    limits: InFlightWorkLimits,
    table: Mutex<InFlightWorkTable>,
}

#[derive(Default)]
struct InFlightWorkTable {
    total: usize,
    of_key: HashMap<Arc<str>, WorkPace>,
    of_owner: HashMap<Arc<str>, WorkPace>,
    of_both: HashMap<(Arc<str>, Arc<str>), usize>,
}

/// The work on a key, or of a caller.
#[derive(Default)]
struct WorkPace {
    in_flight: usize,
    /// How long recent work took.
    took_ms: u64,
    /// When the next postponed work is tried, in Unix milliseconds.
    next_ms: u64,
}

/// A permit for one piece of work, which ends when it is dropped.
pub struct WorkPermit {
    work: Arc<WorkLimiter>,
    key: Arc<str>,
    owner: Arc<str>,
    began: Instant,
}

impl WorkLimiter {
    pub fn new(limits: InFlightWorkLimits) -> Self {
        Self {
            limits,
            table: Mutex::default(),
        }
    }

    /// A permit for work of `owner` on `key`; `None` if there is none free.
    pub fn begin(self: &Arc<Self>, key: &str, owner: &Arc<str>) -> Option<WorkPermit> {
        let mut table = self.lock();
        let key: Arc<str> = key.into();
        let both = (owner.clone(), key.clone());
        let of_key = table.of_key.get(&key).map_or(0, |pace| pace.in_flight);
        let of_owner = table.of_owner.get(owner).map_or(0, |pace| pace.in_flight);
        let of_both = table.of_both.get(&both).copied().unwrap_or(0);
        let limits = self.limits;
        let total = match of_key == 0 || of_owner == 0 {
            true => limits.total + limits.reserved,
            false => limits.total,
        };
        if table.total >= total
            || of_key >= limits.of_key
            || of_owner >= limits.of_owner
            || of_both >= limits.of_owner_on_key
        {
            return None;
        }
        table.total += 1;
        table.of_key.entry(key.clone()).or_default().in_flight += 1;
        table.of_owner.entry(owner.clone()).or_default().in_flight += 1;
        *table.of_both.entry(both).or_default() += 1;
        drop(table);
        Some(WorkPermit {
            work: self.clone(),
            key,
            owner: owner.clone(),
            began: Instant::now(),
        })
    }

    /// When work of `owner` on `key` that got no permit is to be tried again, in Unix milliseconds: one after the other,
    /// as fast as the work of the key, or of the caller if it has all its permits, has ended so far. `random` is from
    /// 0 to 1.
    pub fn postponed_until(&self, key: &str, owner: &Arc<str>, now_ms: u64, random: f64) -> u64 {
        let mut table = self.lock();
        table.forget_idle(now_ms);
        let of_owner = table.of_owner.get(owner).map_or(0, |pace| pace.in_flight);
        let is_owner_full = of_owner >= self.limits.of_owner || table.total >= self.limits.total;
        let (pace, permits) = match is_owner_full {
            true => (
                table.of_owner.entry(owner.clone()).or_default(),
                self.limits.of_owner,
            ),
            false => (
                table.of_key.entry(key.into()).or_default(),
                self.limits.of_owner_on_key,
            ),
        };
        pace.postponed_until(permits as u64, now_ms, random)
    }

    /// Whether nothing is in flight.
    pub fn is_idle(&self) -> bool {
        self.lock().total == 0
    }

    fn lock(&self) -> MutexGuard<'_, InFlightWorkTable> {
        lock(&self.table)
    }
}

impl InFlightWorkTable {
    fn forget_idle(&mut self, now_ms: u64) {
        for paces in [&mut self.of_key, &mut self.of_owner] {
            if paces.len() >= IDLE_KEYS_MAX {
                paces.retain(|_, pace| pace.in_flight > 0 || pace.next_ms > now_ms);
            }
        }
    }
}

impl WorkPace {
    fn postponed_until(&mut self, permits: u64, now_ms: u64, random: f64) -> u64 {
        let took_ms = match self.took_ms {
            0 => DEFAULT_MS,
            took_ms => took_ms,
        };
        let until_ms = self.next_ms.max(now_ms + POSTPONED_MS_MIN);
        self.next_ms = until_ms + took_ms.div_ceil(permits.max(1));
        let latest_ms = now_ms + POSTPONED_MS_MAX;
        if until_ms < latest_ms {
            return until_ms;
        }
        // More than can be done until then: the order is left to chance.
        self.next_ms = latest_ms;
        latest_ms - (random * POSTPONED_MS_MAX as f64 / 2.0) as u64
    }

    /// Notes the end of a piece of work; returns whether there is nothing to remember.
    fn end(&mut self, took_ms: u64) -> bool {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.took_ms = match self.took_ms {
            0 => took_ms,
            before => (before * 3 + took_ms) / 4,
        };
        self.in_flight == 0 && self.next_ms == 0
    }
}

impl Drop for WorkPermit {
    fn drop(&mut self) {
        let took_ms = whole_ms(self.began.elapsed()).max(1);
        let mut table = self.work.lock();
        table.total = table.total.saturating_sub(1);
        end_work(&mut table.of_key, &self.key, took_ms);
        end_work(&mut table.of_owner, &self.owner, took_ms);
        let both = (self.owner.clone(), self.key.clone());
        if let Some(count) = table.of_both.get_mut(&both) {
            *count -= 1;
            if *count == 0 {
                table.of_both.remove(&both);
            }
        }
    }
}

fn end_work(paces: &mut HashMap<Arc<str>, WorkPace>, name: &str, took_ms: u64) {
    if paces.get_mut(name).is_some_and(|pace| pace.end(took_ms)) {
        paces.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work() -> Arc<WorkLimiter> {
        Arc::new(WorkLimiter::new(InFlightWorkLimits {
            total: 6,
            reserved: 2,
            of_key: 4,
            of_owner: 5,
            of_owner_on_key: 3,
        }))
    }

    fn owner(name: &str) -> Arc<str> {
        name.into()
    }

    #[test]
    fn no_key_and_no_caller_takes_the_permits_of_others() {
        let work = work();
        let (ann, bob, cy) = (owner("ann"), owner("bob"), owner("cy"));
        let mut held: Vec<_> = (0..3).map(|_| work.begin("a", &ann).unwrap()).collect();
        assert!(work.begin("a", &ann).is_none(), "a caller on a key");
        held.push(work.begin("a", &bob).unwrap());
        assert!(work.begin("a", &bob).is_none(), "a key");
        held.extend((0..2).map(|_| work.begin("b", &ann).unwrap()));
        assert!(work.begin("c", &ann).is_none(), "a caller");
        assert!(work.begin("b", &bob).is_none(), "the total");
        held.push(work.begin("c", &bob).unwrap());
        held.push(work.begin("b", &cy).unwrap());
        assert!(work.begin("d", &owner("di")).is_none(), "the reserve");
        drop(held);
        assert!(work.is_idle());
        assert!(work.begin("a", &ann).is_some());
    }

    #[test]
    fn postponed_work_is_spread_as_fast_as_it_ends_and_within_two_minutes() {
        let work = work();
        let ann = owner("ann");
        let until = |key: &str, random| work.postponed_until(key, &ann, 0, random);
        let times: Vec<u64> = (0..4).map(|_| until("a", 0.0)).collect();
        assert_eq!(times, [1_000, 1_034, 1_068, 1_102]);
        assert_eq!(until("b", 0.0), 1_000);
        let last = (0..10_000).map(|n| until("a", f64::from(n % 10) / 10.0));
        assert!(last.max() <= Some(POSTPONED_MS_MAX));
        // A caller that has all its permits: its keys wait for each other.
        let held: Vec<_> = ["a", "b", "c", "d", "e"]
            .map(|key| work.begin(key, &ann).unwrap())
            .into();
        let times: Vec<u64> = ["x", "y", "z"].iter().map(|key| until(key, 0.0)).collect();
        assert_eq!(times, [1_000, 1_020, 1_040]);
        drop(held);
    }
}
