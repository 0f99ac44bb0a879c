//! The Lua scripts that Redis runs, each as one atomic step.

use headgate_core::state::admission::{
    AdmissionDecision, AdmissionRequest, AdmissionResult, AdmissionTicket, LimitKind, LimitStatus,
};
use headgate_core::state::clock::ClockReading;
use headgate_core::state::money::MoneyReservation;
use redis::{Cmd, Script};
use std::sync::Arc;
use std::time::Duration;

/// How long Redis remembers that an admission was granted, cancelled or settled; the same as in the scripts.
pub const NOTE: Duration = Duration::from_secs(60);
/// The lifetime of a concurrency lease without renewal.
pub const LEASE: Duration = Duration::from_secs(30);
/// Lua's numbers are doubles, which are exact up to here.
const COUNT_MAX: u64 = 1 << 53;

/// The scripts, loaded once on each connection.
pub struct LuaScripts {
    admit: Script,
    settle: Script,
    settle_money: Script,
    renew: Script,
    pace: Script,
    records: Script,
    claim: Script,
}

impl LuaScripts {
    pub fn new() -> Self {
        let script = |code: &str| Script::new(&format!("{}\n{code}", include_str!("calendar.lua")));
        Self {
            admit: script(include_str!("admit.lua")),
            settle: script(include_str!("settle.lua")),
            settle_money: script(include_str!("settle_money.lua")),
            renew: script(include_str!("renew.lua")),
            pace: script(include_str!("pace.lua")),
            records: script(include_str!("records.lua")),
            claim: script(include_str!("claim.lua")),
        }
    }

    pub fn all(&self) -> [&Script; 7] {
        [
            &self.admit,
            &self.settle,
            &self.settle_money,
            &self.renew,
            &self.pace,
            &self.records,
            &self.claim,
        ]
    }

    /// Charges `demand` to its limits; `keys` are the keys of those limits, that of the admission's note if it charges tokens,
    /// money or a lease, and that of its reservation if it charges money; `lease` is the name of the lease.
    pub fn admit(&self, keys: &[String], lease: &str, demand: &AdmissionRequest<'_>) -> Cmd {
        let mut command = call(&self.admit, keys);
        command
            .arg(lease)
            .arg(LEASE.as_millis() as u64)
            .arg(demand.tokens.min(COUNT_MAX))
            .arg(demand.cost.unwrap_or(0).min(COUNT_MAX));
        for limit in demand.limits {
            command
                .arg(limit.measure().name())
                .arg(limit.most.min(COUNT_MAX));
        }
        command
    }

    /// Settles a ticket; `keys` are the keys of its limits, and that of the admission's note if it corrects tokens; `lease` is
    /// the name of the lease.
    pub fn settle(
        &self,
        keys: &[String],
        lease: &str,
        ticket: &AdmissionTicket,
        tokens_used: u64,
    ) -> Cmd {
        let mut command = call(&self.settle, keys);
        command
            .arg(lease)
            .arg(ticket.taken_at.unix_ms)
            .arg(ticket.tokens.min(COUNT_MAX))
            .arg(tokens_used.min(COUNT_MAX));
        for limit in &ticket.limits {
            command.arg(limit.measure().name());
        }
        command
    }

    /// Corrects what was reserved of budgets in money; `keys` are those of the limits, and that of the reservation.
    pub fn settle_money(&self, keys: &[String], reserved: &MoneyReservation, cost: u64) -> Cmd {
        let mut command = call(&self.settle_money, keys);
        command.arg(reserved.taken_ms).arg(cost.min(COUNT_MAX));
        for counter in &reserved.counters {
            command.arg(counter.measure().name());
        }
        command
    }

    /// Takes back an admission that may never have been granted; `keys` and `lease` are those of the admission.
    pub fn cancel(&self, keys: &[String], lease: &str, limits: &[LimitKind], tokens: u64) -> Cmd {
        let mut command = call(&self.settle, keys);
        // Only the note of the admission has its time.
        command.arg(lease).arg("").arg(tokens.min(COUNT_MAX)).arg(0);
        for limit in limits {
            command.arg(limit.name());
        }
        command
    }

    /// Charges one use to `key`, which allows `per_second` of them in a second.
    pub fn take_per_second(&self, key: &str, per_second: u16) -> Cmd {
        let mut command = call(&self.pace, std::slice::from_ref(&key));
        command.arg(per_second.max(1));
        command
    }

    /// An operation on records, without its arguments; `name` begins the keys of their kind.
    pub fn records(&self, name: &str) -> Cmd {
        call(&self.records, std::slice::from_ref(&name))
    }

    /// Claims the id whose owner is under `key` for `caller`, or refreshes the claim.
    pub fn claim(&self, key: &str, caller: &str, id_ttl: Duration) -> Cmd {
        let mut command = call(&self.claim, std::slice::from_ref(&key));
        command.arg(caller).arg(id_ttl.as_millis() as u64);
        command
    }

    /// Renews the leases under one key.
    pub fn renew(&self, key: &str, leases: &[String]) -> Cmd {
        let mut command = call(&self.renew, std::slice::from_ref(&key));
        command.arg(LEASE.as_millis() as u64).arg(leases);
        command
    }
}

/// Parses the response of the admission script; `None` if it is malformed.
pub fn admission(
    reply: &[i64],
    demand: &AdmissionRequest<'_>,
    lease: u64,
    id: impl FnOnce() -> Arc<str>,
) -> Option<AdmissionResult> {
    let (head, limit_statuses) = reply.split_at_checked(4)?;
    let &[granted, in_the_way, wait, now] = head else {
        return None;
    };
    let count = |count: i64| u64::try_from(count).unwrap_or(0);
    let limit_statuses: Vec<LimitStatus> = limit_statuses
        .chunks_exact(2)
        .map(|pair| LimitStatus {
            remaining: count(pair[0]),
            reset: Duration::from_millis(count(pair[1])),
        })
        .collect();
    let (decision, money) = match granted {
        1 => {
            let taken_at = ClockReading::from_server(count(now));
            let (ticket, money) = AdmissionTicket::granted(demand, taken_at, lease, id);
            (AdmissionDecision::Granted(ticket), money)
        }
        _ => {
            let refused = AdmissionDecision::Refused {
                limit: usize::try_from(in_the_way).ok()?.checked_sub(1)?,
                retry_after: Duration::from_millis(count(wait)),
            };
            (refused, None)
        }
    };
    (limit_statuses.len() == demand.limits.len()).then_some(AdmissionResult {
        limit_statuses,
        decision,
        money,
    })
}

fn call<K: AsRef<str>>(script: &Script, keys: &[K]) -> Cmd {
    let mut command = redis::cmd("EVALSHA");
    command.arg(script.get_hash()).arg(keys.len());
    for key in keys {
        command.arg(key.as_ref());
    }
    command
}
