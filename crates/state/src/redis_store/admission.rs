//! Admission in Redis: one script for all limits of a request, its settlement, and its cancellation.

use super::RedisStoreInner;
use super::admission_reply;
use super::run_call_write::{RUN_KEYS, RunCallWrite};
use super::scripts::COUNT_MAX;
use super::write::RedisWrite;
use headgate_core::state::StoreUnavailable;
use headgate_core::state::admission::{
    AdmissionDecision, AdmissionLimit, AdmissionRequest, AdmissionResult, AdmissionTicket,
    CounterKey, LimitKind,
};
use headgate_core::state::calendar::unix_ms;
use headgate_core::state::money::MoneyReservation;
use headgate_core::state::run::{RunCallEnd, RunKey};

impl RedisStoreInner {
    /// As [`StateStore::admit`](headgate_core::state::StateStore::admit).
    pub async fn admit(
        &self,
        demand: &AdmissionRequest<'_>,
    ) -> Result<AdmissionResult, StoreUnavailable> {
        let connection = self.connector.connection()?;
        let lease = self.leases.next();
        let name = self.leases.name(lease);
        let mut keys = self.limit_keys(demand.limits);
        keys.extend(self.note_key(demand, &name));
        let reserved = self.reservation(demand, &name);
        keys.extend(
            reserved
                .as_ref()
                .map(|reserved| self.reservation_key(reserved)),
        );
        if let Some(run) = demand.run {
            keys.extend(self.run_keys(&run.key));
        }
        let command = self.scripts.admit(&keys, &name, demand);
        let mut guard = AdmissionCancelGuard {
            store: self,
            reserved,
            name,
            keys,
            demand,
            has_reply: false,
        };
        let reply: Vec<i64> = self.connector.query(connection, &command).await?;
        let admission =
            admission_reply::admission(&reply, demand, lease, || guard.name.as_str().into());
        let admission = admission.ok_or_else(|| {
            StoreUnavailable("Redis returned an unexpected result of the script".into())
        })?;
        guard.has_reply = true;
        let taken = leases_among(demand.limits, &guard.keys);
        if matches!(admission.decision, AdmissionDecision::Granted(_)) && !taken.is_empty() {
            self.leases.hold(lease, taken);
        }
        Ok(admission)
    }

    /// The key under which an admission is noted, if it charges what a cancellation takes back: tokens, money, a lease, or a
    /// call of a run.
    fn note_key(&self, demand: &AdmissionRequest<'_>, lease: &str) -> Option<String> {
        let is_taken_back = |limit: &&AdmissionLimit| match limit.measure() {
            LimitKind::Concurrent => true,
            measure if measure.counts_money() => demand.cost.is_some_and(|cost| cost > 0),
            measure => measure.counts_tokens() && demand.tokens > 0,
        };
        let limit = demand.limits.iter().find(is_taken_back);
        let of_run = demand.run.map(|run| &run.key.caller);
        let caller = limit.map(|limit| limit.counter.caller()).or(of_run)?;
        Some(self.keys.admission(caller, lease))
    }

    /// What the request reserves of budgets in money, if that is something. Redis sets its time.
    fn reservation(&self, demand: &AdmissionRequest<'_>, id: &str) -> Option<MoneyReservation> {
        let amount = demand.cost.filter(|cost| *cost > 0)?;
        let counters = demand.money_limits().map(|limit| limit.counter.clone());
        let counters: Vec<CounterKey> = counters.collect();
        let run = demand.run.map(|run| run.key.clone());
        (!counters.is_empty() || run.is_some()).then(|| MoneyReservation {
            id: id.into(),
            counters,
            amount,
            taken_ms: unix_ms(),
            run,
        })
    }

    fn reservation_key(&self, reserved: &MoneyReservation) -> String {
        let caller = reserved.counters.first().map(CounterKey::caller);
        let of_run = reserved.run.as_ref().map(|run| &run.caller);
        let caller = caller.or(of_run);
        let caller = caller.map_or("", |caller| caller);
        self.keys.reservation(caller, &reserved.id)
    }

    /// As [`StateStore::money_used`](headgate_core::state::StateStore::money_used): what is missing of the largest budget after
    /// a request that costs nothing.
    pub async fn money_used(&self, budget: &CounterKey) -> Result<u64, StoreUnavailable> {
        let limit = AdmissionLimit {
            counter: budget.clone(),
            most: COUNT_MAX,
            cuts_streams: false,
        };
        let demand = AdmissionRequest {
            limits: &[limit],
            tokens: 0,
            cost: Some(0),
            run: None,
        };
        let admission = self.admit(&demand).await?;
        let remaining = admission.limit_statuses.first().map(|it| it.remaining);
        Ok(COUNT_MAX - remaining.unwrap_or(COUNT_MAX))
    }

    /// As [`StateStore::settle_money`](headgate_core::state::StateStore::settle_money).
    pub fn settle_money(&self, reserved: MoneyReservation, cost: u64) {
        let counters = reserved.counters.iter();
        let mut keys: Vec<String> = counters.map(|counter| self.keys.limit(counter)).collect();
        keys.extend(reserved.run.as_ref().map(|run| self.keys.run(run)));
        keys.push(self.reservation_key(&reserved));
        self.outbox.push(RedisWrite::SettleMoney {
            keys,
            reserved,
            cost,
        });
    }

    /// As [`StateStore::settle`](headgate_core::state::StateStore::settle).
    pub fn settle(&self, mut ticket: AdmissionTicket, tokens_used: u64) {
        let estimate = ticket.tokens;
        ticket.limits.retain(|limit| match limit.measure() {
            LimitKind::Concurrent => true,
            measure => measure.counts_tokens() && tokens_used != estimate,
        });
        let Some(limit) = ticket.limits.first() else {
            return;
        };
        let lease = self.leases.name(ticket.lease);
        let mut keys = self.limit_keys(&ticket.limits);
        let mut measures = ticket.limits.iter().map(AdmissionLimit::measure);
        // The end of a lease may be repeated without a note.
        if measures.clone().any(LimitKind::counts_tokens) {
            keys.push(self.keys.admission(limit.counter.caller(), &lease));
        }
        if measures.any(|measure| measure == LimitKind::Concurrent) {
            self.leases.release(ticket.lease);
        }
        self.outbox.push(RedisWrite::Settle {
            keys,
            lease,
            ticket,
            tokens_used,
            maybe_executed: None,
        });
    }

    /// As [`StateStore::end_run_call`](headgate_core::state::StateStore::end_run_call).
    pub fn end_run_call(&self, end: RunCallEnd) {
        let ticket = end.ticket.as_ref();
        let lease = ticket.map(|ticket| self.leases.name(ticket.lease));
        self.outbox.push(RedisWrite::EndRunCall {
            keys: self.run_keys(&end.key),
            lease: lease.unwrap_or_default(),
            run: end.key,
            end: RunCallWrite::Ended(Box::new(end.call)),
            may_be_executed: false,
        });
    }

    /// The keys of a run, of its caller's runs, and of all callers with runs.
    fn run_keys(&self, run: &RunKey) -> [String; RUN_KEYS] {
        [
            self.keys.run(run),
            self.keys.live_runs(&run.caller),
            self.keys.callers_with_runs(),
        ]
    }

    fn limit_keys(&self, limits: &[AdmissionLimit]) -> Vec<String> {
        let counters = limits.iter().map(|limit| &limit.counter);
        counters.map(|counter| self.keys.limit(counter)).collect()
    }
}

/// Takes back an admission that got no response, or got it too late.
struct AdmissionCancelGuard<'a> {
    store: &'a RedisStoreInner,
    /// What was reserved of budgets in money, if it was admitted.
    reserved: Option<MoneyReservation>,
    name: String,
    keys: Vec<String>,
    demand: &'a AdmissionRequest<'a>,
    has_reply: bool,
}

impl Drop for AdmissionCancelGuard<'_> {
    fn drop(&mut self) {
        if !self.has_reply {
            let limits = self.demand.limits.iter();
            // A model that stands in is no call, which alone the run would know by the lease: its money is settled apart.
            let is_call = self.demand.run.is_none_or(|run| run.calls > 0);
            if self.demand.run.is_some() {
                // The keys of the run are none of the script that cancels.
                self.keys.truncate(self.keys.len() - RUN_KEYS);
            }
            if let (false, Some(_)) = (is_call, &self.reserved) {
                self.keys.pop();
            }
            self.store.outbox.push(RedisWrite::Cancel {
                keys: std::mem::take(&mut self.keys),
                lease: self.name.clone(),
                limits: limits.map(AdmissionLimit::measure).collect(),
                tokens: self.demand.tokens,
            });
            if let Some(run) = self.demand.run.filter(|_| is_call) {
                self.store.outbox.push(RedisWrite::EndRunCall {
                    keys: self.store.run_keys(&run.key),
                    lease: std::mem::take(&mut self.name),
                    run: run.key.clone(),
                    end: RunCallWrite::Cancelled(run.cost.unwrap_or(0)),
                    may_be_executed: false,
                });
            }
            // An admission that comes after this is refused by the note of the cancellation. Without its note, the reservation
            // is settled by this gateway's clock.
            if let Some(mut reserved) = self.reserved.take() {
                reserved.run = reserved.run.filter(|_| !is_call);
                self.store.settle_money(reserved, 0);
            }
        }
    }
}

/// The keys of the limits that count concurrent requests.
fn leases_among(limits: &[AdmissionLimit], keys: &[String]) -> Vec<String> {
    let held = limits
        .iter()
        .zip(keys)
        .filter(|(limit, _)| limit.measure() == LimitKind::Concurrent);
    held.map(|(_, key)| key.clone()).collect()
}
