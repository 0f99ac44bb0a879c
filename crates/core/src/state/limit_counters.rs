//! Counters of what callers have used of their limits, in memory.

use super::admission::{
    AdmissionDecision, AdmissionLimit, AdmissionRequest, AdmissionResult, AdmissionTicket,
    CounterKey, LimitKind, LimitStatus,
};
use super::calendar::period;
use super::clock::ClockReading;
use super::local_runs::LocalRuns;
use super::money::{self, MoneyReservation, OpenReservations};
use super::sliding_window::SlidingWindow;
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::time::Duration;

/// The wait until the next try under a concurrency limit: nobody knows when another request will end.
pub const LEASE_RETRY: Duration = Duration::from_secs(1);

/// Idle counters are looked for and removed only above this number of counters.
const COUNTERS_KEPT: usize = 1_024;

/// Counters by caller, model and kind of limit.
#[derive(Debug, Default)]
pub struct LocalLimitCounters {
    values: HashMap<CounterKey, CounterValue, RandomState>,
    /// The number of counters at which idle ones are removed: callers come and go with the configuration.
    prune_at: usize,
    open: OpenReservations,
    pub runs: LocalRuns,
}

#[derive(Debug)]
enum CounterValue {
    Minute(SlidingWindow),
    Now(u64),
    Period(BudgetUsage),
    Money(MoneyUsage),
}

/// The money used and reserved since the start of a period, in billionths.
#[derive(Debug, Default)]
struct MoneyUsage {
    since: u64,
    used: u64,
}

/// The tokens used of a budget since the start of its day or month.
#[derive(Debug, Default)]
struct BudgetUsage {
    since: u64,
    used: u64,
    /// The part of `used` that is not yet written to the state file.
    unsaved: i64,
}

impl LocalLimitCounters {
    /// Charges `demand` to all of its limits, or to none.
    pub fn admit(&mut self, demand: &AdmissionRequest<'_>, now: ClockReading) -> AdmissionResult {
        self.prune(now);
        let refused = self.find_refusing(demand, now);
        if refused.is_none()
            && let Some(run) = demand.run
            && let Some(refusal) = self.runs.refuse(run, now.unix_ms)
        {
            return self.refused(demand, AdmissionDecision::RunRefused(refusal), now);
        }
        let limit_statuses = demand
            .limits
            .iter()
            .map(|limit| {
                let values = self.counter_value(limit);
                if refused.is_none() {
                    values.take(demand.amount(limit.measure()), now);
                }
                values.status(limit, now)
            })
            .collect();
        let (decision, money) = match refused {
            Some((limit, retry_after)) => (AdmissionDecision::Refused { limit, retry_after }, None),
            None => {
                let (ticket, money) = AdmissionTicket::granted(demand, now, 0, money::new_id);
                if let Some(reserved) = &money {
                    self.open.insert(reserved);
                }
                (AdmissionDecision::Granted(ticket), money)
            }
        };
        AdmissionResult {
            limit_statuses,
            run: match (&decision, demand.run) {
                (AdmissionDecision::Granted(_), Some(run)) => {
                    Some(Box::new(self.runs.charge(run, now.unix_ms)))
                }
                _ => None,
            },
            decision,
            money,
        }
    }

    /// The refusal of `demand`, if it would be refused now; charges nothing.
    pub fn refuse(
        &mut self,
        demand: &AdmissionRequest<'_>,
        now: ClockReading,
    ) -> Option<AdmissionResult> {
        let (limit, retry_after) = self.find_refusing(demand, now)?;
        let decision = AdmissionDecision::Refused { limit, retry_after };
        Some(self.refused(demand, decision, now))
    }

    fn refused(
        &mut self,
        demand: &AdmissionRequest<'_>,
        decision: AdmissionDecision,
        now: ClockReading,
    ) -> AdmissionResult {
        let limits = demand.limits.iter();
        AdmissionResult {
            limit_statuses: limits
                .map(|limit| self.counter_value(limit).status(limit, now))
                .collect(),
            decision,
            money: None,
            run: None,
        }
    }

    /// The limit with the longest wait, if a request must wait.
    fn find_refusing(
        &mut self,
        demand: &AdmissionRequest<'_>,
        now: ClockReading,
    ) -> Option<(usize, Duration)> {
        let mut refused: Option<(usize, Duration)> = None;
        for (index, limit) in demand.limits.iter().enumerate() {
            let values = self.counter_value(limit);
            let wait = values.wait_for(limit, demand.amount(limit.measure()), now);
            if wait > refused.map_or(Duration::ZERO, |(_, longest)| longest) {
                refused = Some((index, wait));
            }
        }
        refused
    }

    /// Corrects the charge of `ticket` from the estimate to `tokens_used`, and ends its concurrency lease.
    pub fn settle(&mut self, ticket: &AdmissionTicket, tokens_used: u64, now: ClockReading) {
        for limit in &ticket.limits {
            // A counter may have been removed as idle since the admission.
            let values = self.counter_value(limit);
            values.settle(limit.measure(), ticket, tokens_used, now);
        }
    }

    /// Corrects what `reserved` has charged to `cost`, unless it was settled before.
    pub fn settle_money(&mut self, reserved: &MoneyReservation, cost: u64) {
        if !self.open.remove(reserved) {
            return;
        }
        if let Some(run) = &reserved.run {
            self.runs.settle_cost(run, reserved, cost);
        }
        for counter in &reserved.counters {
            if let Some(CounterValue::Money(money)) = self.values.get_mut(counter)
                && money.since == period(counter.measure(), reserved.taken_ms).0
            {
                let others = money.used.saturating_sub(reserved.amount);
                money.used = others.saturating_add(cost);
            }
        }
    }

    /// What is used and reserved of a budget in money.
    pub fn money_used(&self, budget: &CounterKey, now: ClockReading) -> u64 {
        match self.values.get(budget) {
            Some(CounterValue::Money(money))
                if money.since == period(budget.measure(), now.unix_ms).0 =>
            {
                money.used
            }
            _ => 0,
        }
    }

    /// Adopts the total that the state file has after a write: `total` for the period that began at `since`, of which
    /// this process has just added `tokens`.
    pub fn written(&mut self, counter: &CounterKey, since: u64, tokens: i64, total: u64) {
        if let Some(CounterValue::Period(period)) = self.values.get_mut(counter)
            && period.since == since
        {
            period.unsaved = period.unsaved.saturating_sub(tokens);
            period.used = total.saturating_add_signed(period.unsaved);
        }
    }

    /// Sets the total that the state file had when it was opened, for the period that began at `since`.
    pub fn restore(&mut self, counter: CounterKey, since: u64, total: u64) {
        let period = BudgetUsage {
            since,
            used: total,
            unsaved: 0,
        };
        self.values.insert(counter, CounterValue::Period(period));
    }

    /// Removes idle counters once there are many counters.
    fn prune(&mut self, now: ClockReading) {
        if self.values.len() >= self.prune_at.max(COUNTERS_KEPT) {
            self.values
                .retain(|counter, values| !values.is_idle(counter.measure(), now));
            self.prune_at = 2 * self.values.len();
        }
    }

    #[cfg(any(test, feature = "test-support"))]
    pub fn count(&self) -> usize {
        self.values.len()
    }

    fn counter_value(&mut self, limit: &AdmissionLimit) -> &mut CounterValue {
        // A clone for an entry would change a reference count that all workers share.
        if !self.values.contains_key(&limit.counter) {
            let value = CounterValue::new(limit.measure());
            self.values.insert(limit.counter.clone(), value);
        }
        let value = self.values.get_mut(&limit.counter);
        value.expect("it was inserted")
    }
}

impl CounterValue {
    fn new(measure: LimitKind) -> Self {
        match measure {
            LimitKind::RequestsPerMinute | LimitKind::TokensPerMinute => {
                Self::Minute(SlidingWindow::default())
            }
            LimitKind::Concurrent => Self::Now(0),
            LimitKind::TokensPerDay | LimitKind::TokensPerMonth => {
                Self::Period(BudgetUsage::default())
            }
            LimitKind::CostPerDay | LimitKind::CostPerMonth | LimitKind::CostTotal => {
                Self::Money(MoneyUsage::default())
            }
        }
    }

    /// The time until a request for `room` fits; zero if it fits now.
    fn wait_for(&mut self, limit: &AdmissionLimit, room: u64, now: ClockReading) -> Duration {
        match self {
            // A request that alone exceeds the limit is admitted when the window is empty: its estimate may be wrong.
            Self::Minute(window) => window
                .wait_for(now.steady_ms, room.min(limit.most), limit.most)
                .unwrap_or(Duration::from_secs(60)),
            Self::Now(leases) if *leases < limit.most => Duration::ZERO,
            Self::Now(_) => LEASE_RETRY,
            Self::Period(budget) => {
                let (since, next) = period(limit.measure(), now.unix_ms);
                if budget.since != since {
                    *budget = BudgetUsage {
                        since,
                        ..BudgetUsage::default()
                    };
                }
                match budget.used < limit.most {
                    true => Duration::ZERO,
                    false => Duration::from_millis(next - now.unix_ms),
                }
            }
            Self::Money(money) => {
                let (since, next) = period(limit.measure(), now.unix_ms);
                if money.since != since {
                    *money = MoneyUsage { since, used: 0 };
                }
                match room == 0 || money.used.saturating_add(room) <= limit.most {
                    true => Duration::ZERO,
                    false => Duration::from_millis(next - now.unix_ms),
                }
            }
        }
    }

    fn take(&mut self, amount: u64, now: ClockReading) {
        match self {
            Self::Minute(window) => window.add(now.steady_ms, amount),
            Self::Now(leases) => *leases += 1,
            Self::Period(budget) => budget.change(0, amount),
            Self::Money(money) => money.used = money.used.saturating_add(amount),
        }
    }

    fn settle(
        &mut self,
        measure: LimitKind,
        ticket: &AdmissionTicket,
        tokens_used: u64,
        now: ClockReading,
    ) {
        match self {
            Self::Minute(window) if measure == LimitKind::TokensPerMinute => {
                let taken_ms = ticket.taken_at.steady_ms;
                window.correct(now.steady_ms, taken_ms, ticket.tokens, tokens_used);
            }
            // Money is settled apart.
            Self::Minute(_) | Self::Money(_) => {}
            Self::Now(leases) => *leases = leases.saturating_sub(1),
            Self::Period(budget) => {
                if budget.since == period(measure, ticket.taken_at.unix_ms).0 {
                    budget.change(ticket.tokens, tokens_used);
                }
            }
        }
    }

    /// Whether a new counter would give the same results, so that this one can be removed.
    fn is_idle(&mut self, measure: LimitKind, now: ClockReading) -> bool {
        match self {
            Self::Minute(window) => window.sum(now.steady_ms) == 0,
            Self::Now(leases) => *leases == 0,
            Self::Period(budget) => {
                budget.unsaved == 0 && budget.since != period(measure, now.unix_ms).0
            }
            Self::Money(money) => money.used == 0 || money.since != period(measure, now.unix_ms).0,
        }
    }

    fn status(&mut self, limit: &AdmissionLimit, now: ClockReading) -> LimitStatus {
        let (used, reset) = match self {
            Self::Minute(window) => (window.sum(now.steady_ms), window.reset(now.steady_ms)),
            Self::Now(leases) => (*leases, Duration::ZERO),
            Self::Period(budget) => {
                let (_, next) = period(limit.measure(), now.unix_ms);
                (budget.used, Duration::from_millis(next - now.unix_ms))
            }
            Self::Money(money) => {
                let (_, next) = period(limit.measure(), now.unix_ms);
                (money.used, Duration::from_millis(next - now.unix_ms))
            }
        };
        LimitStatus {
            remaining: limit.most.saturating_sub(used),
            reset,
        }
    }
}

impl BudgetUsage {
    fn change(&mut self, less: u64, more: u64) {
        self.used = self.used.saturating_sub(less).saturating_add(more);
        self.unsaved = self
            .unsaved
            .saturating_sub_unsigned(less)
            .saturating_add_unsigned(more);
    }
}
