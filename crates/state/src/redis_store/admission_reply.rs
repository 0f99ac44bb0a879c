//! The response of the admission script.

use headgate_core::state::admission::{
    AdmissionDecision, AdmissionRequest, AdmissionResult, AdmissionTicket, LimitStatus,
};
use headgate_core::state::clock::ClockReading;
use headgate_core::state::run::{RunCap, RunRefusal, RunTicket};
use std::sync::Arc;
use std::time::Duration;

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
    if granted == 2 {
        return run_refused(in_the_way, wait, limit_statuses, demand);
    }
    let count = |count: i64| u64::try_from(count).unwrap_or(0);
    let run = demand.run.map(|run| RunTicket {
        key: run.key.clone(),
        taken_ms: count(now),
        tokens: run.tokens,
        lease,
    });
    let run = run.filter(|_| granted == 1);
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
        run: run.map(Box::new),
    })
}

/// The refusal of a run: the cap from 1, or 0 for a run too many; the wait; and the maximum, what is used and what is needed.
fn run_refused(
    cap: i64,
    wait: i64,
    amounts: &[i64],
    demand: &AdmissionRequest<'_>,
) -> Option<AdmissionResult> {
    let &[most, used, need] = amounts else {
        return None;
    };
    let count = |count: i64| u64::try_from(count).unwrap_or(0);
    let refusal = match usize::try_from(cap).ok()?.checked_sub(1) {
        None => RunRefusal::Live {
            most: count(most),
            retry_after: Duration::from_millis(count(wait)),
        },
        Some(cap) => RunRefusal::Cap {
            cap: *RunCap::ALL.get(cap)?,
            most: count(most),
            used: count(used),
            need: u64::try_from(need).unwrap_or(u64::MAX),
        },
    };
    // The script did not look further at the limits, which have room.
    let limits = demand.limits.iter();
    let limit_statuses = limits.map(|limit| LimitStatus {
        remaining: limit.most,
        reset: Duration::ZERO,
    });
    Some(AdmissionResult {
        limit_statuses: limit_statuses.collect(),
        decision: AdmissionDecision::RunRefused(refusal),
        money: None,
        run: None,
    })
}
