//! Admission in Redis: one script for all limits of a request, its settlement, and its cancellation.

use super::RedisStoreInner;
use super::scripts;
use super::write::RedisWrite;
use headgate_core::state::StoreUnavailable;
use headgate_core::state::admission::{
    AdmissionDecision, AdmissionLimit, AdmissionRequest, AdmissionResult, AdmissionTicket,
    CounterKey, LimitKind,
};
use headgate_core::state::calendar::unix_ms;
use headgate_core::state::money::MoneyReservation;

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
        let admission = scripts::admission(&reply, demand, lease, || guard.name.as_str().into());
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

    /// The key under which an admission is noted, if it charges what a cancellation takes back: tokens, money or a lease.
    fn note_key(&self, demand: &AdmissionRequest<'_>, lease: &str) -> Option<String> {
        let is_taken_back = |limit: &&AdmissionLimit| match limit.measure() {
            LimitKind::Concurrent => true,
            measure if measure.counts_money() => demand.cost.is_some_and(|cost| cost > 0),
            measure => measure.counts_tokens() && demand.tokens > 0,
        };
        let limit = demand.limits.iter().find(is_taken_back)?;
        Some(self.keys.admission(limit.counter.caller(), lease))
    }

    /// What the request reserves of budgets in money, if that is something. Redis sets its time.
    fn reservation(&self, demand: &AdmissionRequest<'_>, id: &str) -> Option<MoneyReservation> {
        let amount = demand.cost.filter(|cost| *cost > 0)?;
        let counters = demand.money_limits().map(|limit| limit.counter.clone());
        let counters: Vec<CounterKey> = counters.collect();
        (!counters.is_empty()).then(|| MoneyReservation {
            id: id.into(),
            counters,
            amount,
            taken_ms: unix_ms(),
        })
    }

    fn reservation_key(&self, reserved: &MoneyReservation) -> String {
        let caller = reserved.counters.first().map(CounterKey::caller);
        let caller = caller.map_or("", |caller| caller);
        self.keys.reservation(caller, &reserved.id)
    }

    /// As [`StateStore::settle_money`](headgate_core::state::StateStore::settle_money).
    pub fn settle_money(&self, reserved: MoneyReservation, cost: u64) {
        let counters = reserved.counters.iter();
        let mut keys: Vec<String> = counters.map(|counter| self.keys.limit(counter)).collect();
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
            self.store.outbox.push(RedisWrite::Cancel {
                keys: std::mem::take(&mut self.keys),
                lease: std::mem::take(&mut self.name),
                limits: limits.map(AdmissionLimit::measure).collect(),
                tokens: self.demand.tokens,
            });
            // An admission that comes after this is refused by the note of the cancellation. Without its note, the reservation
            // is settled by this gateway's clock.
            if let Some(reserved) = self.reserved.take() {
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
