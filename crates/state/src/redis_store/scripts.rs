//! The Lua scripts that Redis runs, each as one atomic step.

use super::run_call_write::{RUN_KEYS, RunCallWrite};
use headgate_core::state::admission::{AdmissionRequest, AdmissionTicket, LimitKind};
use headgate_core::state::money::MoneyReservation;
use headgate_core::state::run::{RUN_CALLS_KEPT, RunCap, RunDemand, RunKey};
use redis::{Cmd, Script};
use std::time::Duration;

/// How long Redis remembers that an admission was granted, cancelled or settled; the same as in the scripts.
pub const NOTE: Duration = Duration::from_secs(60);
/// The lifetime of a concurrency lease without renewal.
pub const LEASE: Duration = Duration::from_secs(30);
/// The run in place of the kind of a limit.
const RUN: &str = "run";
/// Lua's numbers are doubles, which are exact up to here.
pub const COUNT_MAX: u64 = 1 << 53;

/// The scripts, loaded once on each connection.
pub struct LuaScripts {
    admit: Script,
    settle: Script,
    settle_money: Script,
    renew: Script,
    pace: Script,
    records: Script,
    claim: Script,
    end_run_call: Script,
    runs: Script,
}

impl LuaScripts {
    pub fn new() -> Self {
        let script = |code: &str| Script::new(&format!("{}\n{code}", include_str!("calendar.lua")));
        let run_script = |code: &str| script(&format!("{}\n{code}", include_str!("run.lua")));
        Self {
            admit: run_script(include_str!("admit.lua")),
            settle: script(include_str!("settle.lua")),
            settle_money: run_script(include_str!("settle_money.lua")),
            renew: script(include_str!("renew.lua")),
            pace: script(include_str!("pace.lua")),
            records: script(include_str!("records.lua")),
            claim: script(include_str!("claim.lua")),
            end_run_call: run_script(include_str!("end_run_call.lua")),
            runs: script(include_str!("runs.lua")),
        }
    }

    pub fn all(&self) -> [&Script; 9] {
        [
            &self.admit,
            &self.settle,
            &self.settle_money,
            &self.renew,
            &self.pace,
            &self.records,
            &self.claim,
            &self.end_run_call,
            &self.runs,
        ]
    }

    /// Charges `demand` to its limits; `keys` are the keys of those limits, that of the admission's note if it charges tokens,
    /// money, a lease or a run, that of its reservation if it charges money, and those of its run; `lease` is the name of the
    /// lease.
    pub fn admit(&self, keys: &[String], lease: &str, demand: &AdmissionRequest<'_>) -> Cmd {
        let mut command = call_script(&self.admit, keys);
        command
            .arg(lease)
            .arg(LEASE.as_millis() as u64)
            .arg(demand.tokens.min(COUNT_MAX))
            .arg(demand.cost.unwrap_or(0).min(COUNT_MAX))
            .arg(demand.limits.len());
        for limit in demand.limits {
            command
                .arg(limit.measure().name())
                .arg(limit.most.min(COUNT_MAX));
        }
        if let Some(run) = demand.run {
            add_run(&mut command, run);
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
        let mut command = call_script(&self.settle, keys);
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

    /// Corrects what was reserved of budgets in money; `keys` are those of the limits, that of the run if there is
    /// one, and that of the reservation.
    pub fn settle_money(&self, keys: &[String], reserved: &MoneyReservation, cost: u64) -> Cmd {
        let mut command = call_script(&self.settle_money, keys);
        command.arg(reserved.taken_ms).arg(cost.min(COUNT_MAX));
        for counter in &reserved.counters {
            command.arg(counter.measure().name());
        }
        if reserved.run.is_some() {
            command.arg(RUN);
        }
        command
    }

    /// Takes back an admission that may never have been granted; `keys` and `lease` are those of the admission.
    pub fn cancel(&self, keys: &[String], lease: &str, limits: &[LimitKind], tokens: u64) -> Cmd {
        let mut command = call_script(&self.settle, keys);
        // Only the note of the admission has its time.
        command.arg(lease).arg("").arg(tokens.min(COUNT_MAX)).arg(0);
        for limit in limits {
            command.arg(limit.name());
        }
        command
    }

    /// Ends a call of a run, whose keys these are; `lease` is the name of its lease, and empty for a call that was refused.
    pub fn end_run_call(
        &self,
        keys: &[String; RUN_KEYS],
        lease: &str,
        run: &RunKey,
        end: &RunCallWrite,
    ) -> Cmd {
        let mut command = call_script(&self.end_run_call, keys);
        command.arg(lease);
        match end {
            RunCallWrite::Ended(call) => {
                command.arg(call.tokens.min(COUNT_MAX)).arg(call.to_text())
            }
            RunCallWrite::Cancelled(cost) => command.arg("").arg((*cost).min(COUNT_MAX)),
        };
        command
            .arg(RUN_CALLS_KEPT)
            .arg(&*run.name)
            .arg(&*run.caller);
        command
    }

    /// The runs of one name, or of all; `index` is the key of the callers with runs, `around` what stands around the name of a
    /// caller in the key of its runs.
    pub fn runs(&self, index: &str, around: &[String; 2], name: Option<&str>, most: usize) -> Cmd {
        let mut command = call_script(&self.runs, std::slice::from_ref(&index));
        command
            .arg(around)
            .arg(name.unwrap_or_default())
            .arg(most)
            .arg(RUN_CALLS_KEPT);
        command
    }

    /// Charges one use to `key`, which allows `per_second` of them in a second.
    pub fn take_per_second(&self, key: &str, per_second: u16) -> Cmd {
        let mut command = call_script(&self.pace, std::slice::from_ref(&key));
        command.arg(per_second.max(1));
        command
    }

    /// An operation on records, without its arguments; `name` begins the keys of their kind.
    pub fn records(&self, name: &str) -> Cmd {
        call_script(&self.records, std::slice::from_ref(&name))
    }

    /// Claims the id whose owner is under `key` for `caller`, or refreshes the claim.
    pub fn claim(&self, key: &str, caller: &str, id_ttl: Duration) -> Cmd {
        let mut command = call_script(&self.claim, std::slice::from_ref(&key));
        command.arg(caller).arg(id_ttl.as_millis() as u64);
        command
    }

    /// Renews the leases under one key.
    pub fn renew(&self, key: &str, leases: &[String]) -> Cmd {
        let mut command = call_script(&self.renew, std::slice::from_ref(&key));
        command.arg(LEASE.as_millis() as u64).arg(leases);
        command
    }
}

/// Adds what run.lua reads.
fn add_run(command: &mut Cmd, run: &RunDemand) {
    let number = |number: Option<u64>| {
        let text = number.map(|number| number.min(COUNT_MAX).to_string());
        text.unwrap_or_default()
    };
    command
        .arg(&*run.key.name)
        .arg(&*run.key.caller)
        .arg(run.calls)
        .arg(run.fingerprint.as_deref().unwrap_or_default())
        .arg(run.tokens.min(COUNT_MAX))
        .arg(number(run.cost))
        .arg(run.idle_ms.min(COUNT_MAX))
        .arg(run.live_max);
    for cap in RunCap::ALL {
        command
            .arg(number(run.caps.get(cap)))
            .arg(number(run.tightened.get(cap)));
    }
}

fn call_script<K: AsRef<str>>(script: &Script, keys: &[K]) -> Cmd {
    let mut command = redis::cmd("EVALSHA");
    command.arg(script.get_hash()).arg(keys.len());
    for key in keys {
        command.arg(key.as_ref());
    }
    command
}
