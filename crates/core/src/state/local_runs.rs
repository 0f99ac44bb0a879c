//! The runs of all callers, in memory.

use super::money::MoneyReservation;
use super::run::{RUN_CALLS_KEPT, RunCall, RunCallEnd, RunDemand, RunKey, RunRefusal, RunTicket};
use super::run_usage::{RunStatus, RunUsage};
use foldhash::fast::RandomState;
use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// Callers without a live run are looked for and removed only above this number of callers.
const CALLERS_KEPT: usize = 256;

/// Runs by caller and name.
#[derive(Debug, Default)]
pub struct LocalRuns {
    by_caller: HashMap<Arc<str>, CallerRuns, RandomState>,
    /// The number of callers at which those without a live run are removed.
    prune_at: usize,
}

type CallerRuns = HashMap<Arc<str>, LocalRun, RandomState>;

#[derive(Debug)]
struct LocalRun {
    usage: RunUsage,
    /// The newest first.
    calls: VecDeque<RunCall>,
}

impl LocalRuns {
    /// The refusal of a call; charges nothing, but the run exists then.
    pub fn refuse(&mut self, demand: &RunDemand, now_ms: u64) -> Option<RunRefusal> {
        self.prune(now_ms);
        let runs = self.by_caller.entry(demand.key.caller.clone()).or_default();
        let known = runs.get(&demand.key.name);
        if known.is_none_or(|run| run.usage.is_expired(now_ms)) {
            runs.retain(|_, run| !run.usage.is_expired(now_ms));
            let most = usize::try_from(demand.live_max).unwrap_or(usize::MAX);
            if runs.len() >= most {
                let first = runs.values().map(|run| run.usage.expires_ms).min();
                let wait_ms = first.unwrap_or(now_ms).saturating_sub(now_ms);
                return Some(RunRefusal::Live {
                    most: demand.live_max,
                    retry_after: Duration::from_millis(wait_ms),
                });
            }
            let run = LocalRun {
                usage: RunUsage::new(now_ms),
                calls: VecDeque::new(),
            };
            runs.insert(demand.key.name.clone(), run);
        }
        let run = runs.get_mut(&demand.key.name)?;
        run.usage.refuse(demand, now_ms)
    }

    /// Charges a call that was not refused.
    pub fn charge(&mut self, demand: &RunDemand, now_ms: u64) -> RunTicket {
        if let Some(run) = self.run(&demand.key) {
            run.usage.charge(demand);
        }
        RunTicket {
            key: demand.key.clone(),
            taken_ms: now_ms,
            tokens: demand.tokens,
            lease: 0,
        }
    }

    /// Ends a call.
    pub fn end_call(&mut self, end: RunCallEnd, now_ms: u64) {
        let Some(run) = self.run(&end.key) else {
            return;
        };
        if run.usage.is_expired(now_ms) {
            return;
        }
        if let Some(ticket) = &end.ticket
            && ticket.taken_ms >= run.usage.started_ms
        {
            run.usage.settle_tokens(ticket.tokens, end.call.tokens);
            run.usage.touch(now_ms);
        }
        run.calls.push_front(end.call);
        run.calls.truncate(RUN_CALLS_KEPT);
    }

    /// Corrects what a call has reserved of money to its cost.
    pub fn settle_cost(&mut self, key: &RunKey, reserved: &MoneyReservation, cost: u64) {
        if let Some(run) = self.run(key) {
            let taken_ms = reserved.taken_ms;
            run.usage.settle_cost(taken_ms, reserved.amount, cost);
        }
    }

    /// The live runs of all callers that were in use last, without their calls.
    pub fn list(&self, most: usize, now_ms: u64) -> Vec<RunStatus> {
        let mut all: Vec<RunStatus> = self
            .live(now_ms)
            .map(|(key, run)| status(key, run, Vec::new()))
            .collect();
        all.sort_by_key(|status| Reverse(status.usage.used_ms));
        all.truncate(most);
        all
    }

    /// The live runs of this name, of all callers, with their calls.
    pub fn find(&self, name: &str, most: usize, now_ms: u64) -> Vec<RunStatus> {
        let callers = self.by_caller.iter();
        let named = callers.filter_map(|(caller, runs)| {
            let (name, run) = runs.get_key_value(name)?;
            (!run.usage.is_expired(now_ms)).then_some(((caller, name), run))
        });
        let named = named.map(|(key, run)| status(key, run, run.calls.iter().cloned().collect()));
        let mut named: Vec<RunStatus> = named.collect();
        named.sort_by_key(|status| Reverse(status.usage.used_ms));
        named.truncate(most);
        named
    }

    fn live(&self, now_ms: u64) -> impl Iterator<Item = ((&Arc<str>, &Arc<str>), &LocalRun)> {
        let callers = self.by_caller.iter();
        let all = callers
            .flat_map(|(caller, runs)| runs.iter().map(move |(name, run)| ((caller, name), run)));
        all.filter(move |(_, run)| !run.usage.is_expired(now_ms))
    }

    fn run(&mut self, key: &RunKey) -> Option<&mut LocalRun> {
        self.by_caller.get_mut(&key.caller)?.get_mut(&key.name)
    }

    /// Removes callers without a live run once there are many callers.
    fn prune(&mut self, now_ms: u64) {
        if self.by_caller.len() >= self.prune_at.max(CALLERS_KEPT) {
            let is_live = |run: &LocalRun| !run.usage.is_expired(now_ms);
            self.by_caller.retain(|_, runs| runs.values().any(is_live));
            self.prune_at = 2 * self.by_caller.len();
        }
    }
}

fn status(
    (caller, name): (&Arc<str>, &Arc<str>),
    run: &LocalRun,
    calls: Vec<RunCall>,
) -> RunStatus {
    RunStatus {
        key: RunKey {
            caller: caller.clone(),
            name: name.clone(),
        },
        usage: run.usage.clone(),
        calls,
    }
}
