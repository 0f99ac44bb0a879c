//! Admission of requests that may cost money, or belong to a run: the file decides about these, and the memory about all other
//! limits.

use super::file::StateFileWrite;
use super::money_table::{self, MoneyDecision, MoneyDemand};
use super::records::SqliteRecordStore;
use super::writer::WriteQueue;
use headgate_core::state::StoreUnavailable;
use headgate_core::state::admission::{
    AdmissionDecision, AdmissionLimit, AdmissionRequest, AdmissionResult, LimitStatus,
};
use headgate_core::state::calendar::period;
use headgate_core::state::clock::ClockReading;
use headgate_core::state::health::StoreHealthCounters;
use headgate_core::state::local_limits::LocalLimiter;
use headgate_core::state::money::{self, MoneyReservation};
use headgate_core::state::run::{RunDemand, RunTicket};
use std::sync::Arc;
use std::time::Duration;

/// What an admission works on.
pub struct MoneyAdmission<'s> {
    pub limits: &'s LocalLimiter,
    pub records: &'s SqliteRecordStore,
    pub queue: &'s Arc<WriteQueue>,
    pub tally: &'s Arc<StoreHealthCounters>,
}

impl MoneyAdmission<'_> {
    /// Charges a request to all of its limits and its run, or to none. What it reserves of them in the file is there when this
    /// returns.
    ///
    /// # Errors
    /// The file cannot be written.
    pub async fn admit(
        &self,
        demand: &AdmissionRequest<'_>,
        cost: u64,
    ) -> Result<AdmissionResult, StoreUnavailable> {
        let is_of_money = |limit: &AdmissionLimit| limit.measure().counts_money();
        let all = demand.limits.iter().cloned();
        let (of_money, others): (Vec<_>, Vec<_>) = all.partition(is_of_money);
        let others = AdmissionRequest {
            limits: &others,
            tokens: demand.tokens,
            cost: None,
            run: None,
        };
        let now = self.limits.now();
        // A request above another limit costs no write.
        if let Some(refused) = self.limits.refuse(&others) {
            return Ok(merged(demand, refused, &[], now));
        }
        let mut guard = MoneyCancelGuard {
            admission: self,
            reserved: Some(MoneyReservation {
                id: money::new_id(),
                counters: of_money.iter().map(|limit| limit.counter.clone()).collect(),
                amount: cost,
                taken_ms: now.unix_ms,
                run: demand.run.map(|run| run.key.clone()),
            }),
        };
        let id = guard.reserved.as_ref().map(|reserved| reserved.id.clone());
        let money_demand = MoneyDemand {
            limits: of_money,
            id: id.unwrap_or_else(money::new_id),
            cost,
            run: demand.run.cloned(),
            now_ms: now.unix_ms,
        };
        // A model that stands in is no call of its own.
        let call = demand.run.filter(|run| run.calls > 0);
        let call = call.map(|run| run_ticket(run, now));
        let (queue, tally, charged) = (self.queue.clone(), self.tally.clone(), call.clone());
        let decided = self.records.run_or_undo(
            move |table| money_table::admit(table.connection, &money_demand),
            move |decision| {
                if let (true, Some(ticket)) = (decision.is_granted(), charged) {
                    queue.push(StateFileWrite::CancelRunCall { ticket }, &tally);
                }
            },
        );
        let decision = decided.get().await?;
        let MoneyDecision {
            used,
            refused,
            run_refused,
        } = decision;
        if let Some(refusal) = run_refused {
            guard.reserved = None;
            return Ok(AdmissionResult {
                limit_statuses: statuses(demand, &[], &used, now),
                decision: AdmissionDecision::RunRefused(refusal),
                money: None,
                run: None,
            });
        }
        if let Some((index, wait_ms)) = refused {
            guard.reserved = None;
            let positions = demand.limits.iter().enumerate();
            let mut positions = positions.filter(|(_, limit)| is_of_money(limit));
            let limit = positions.nth(index).map_or(0, |(position, _)| position);
            return Ok(AdmissionResult {
                limit_statuses: statuses(demand, &[], &used, now),
                decision: AdmissionDecision::Refused {
                    limit,
                    retry_after: Duration::from_millis(wait_ms),
                },
                money: None,
                run: None,
            });
        }
        let admitted = self.limits.admit(&others).get().await?;
        let mut admitted = merged(demand, admitted, &used, now);
        match &admitted.decision {
            AdmissionDecision::Granted(_) => {
                let reserved = guard.reserved.take().filter(|_| cost > 0);
                admitted.money = reserved.map(Box::new);
                admitted.run = demand.run.map(|run| Box::new(run_ticket(run, now)));
            }
            // Another request took the last place meanwhile.
            AdmissionDecision::Refused { .. } | AdmissionDecision::RunRefused(_) => {
                if let Some(ticket) = call {
                    let cancel = StateFileWrite::CancelRunCall { ticket };
                    self.queue.push(cancel, self.tally);
                }
            }
        }
        Ok(admitted)
    }
}

/// The ticket of a call that was admitted.
fn run_ticket(run: &RunDemand, now: ClockReading) -> RunTicket {
    RunTicket {
        key: run.key.clone(),
        taken_ms: now.unix_ms,
        tokens: run.tokens,
        lease: 0,
    }
}

/// Takes back a reservation that nobody gets.
struct MoneyCancelGuard<'a, 's> {
    admission: &'a MoneyAdmission<'s>,
    reserved: Option<MoneyReservation>,
}

impl Drop for MoneyCancelGuard<'_, '_> {
    fn drop(&mut self) {
        if let Some(reserved) = self.reserved.take()
            && reserved.amount > 0
        {
            let cancel = StateFileWrite::CancelMoney { reserved };
            self.admission.queue.push(cancel, self.admission.tally);
        }
    }
}

/// What the memory decided, for all limits of `demand`.
fn merged(
    demand: &AdmissionRequest<'_>,
    others: AdmissionResult,
    used: &[u64],
    now: ClockReading,
) -> AdmissionResult {
    let decision = match others.decision {
        AdmissionDecision::Refused { limit, retry_after } => {
            let positions = demand.limits.iter().enumerate();
            let mut positions = positions.filter(|(_, it)| !it.measure().counts_money());
            let limit = positions.nth(limit).map_or(0, |(position, _)| position);
            AdmissionDecision::Refused { limit, retry_after }
        }
        granted => granted,
    };
    AdmissionResult {
        limit_statuses: statuses(demand, &others.limit_statuses, used, now),
        decision,
        money: None,
        run: None,
    }
}

/// The state of each limit: those of money by what is used of them, the others as the memory has it.
fn statuses(
    demand: &AdmissionRequest<'_>,
    others: &[LimitStatus],
    used: &[u64],
    now: ClockReading,
) -> Vec<LimitStatus> {
    let (mut others, mut used) = (others.iter(), used.iter());
    let limits = demand.limits.iter();
    limits
        .map(|limit| match limit.measure().counts_money() {
            true => {
                let (_, next) = period(limit.measure(), now.unix_ms);
                let used = used.next().copied().unwrap_or(0);
                LimitStatus {
                    remaining: limit.most.saturating_sub(used),
                    reset: Duration::from_millis(next.saturating_sub(now.unix_ms)),
                }
            }
            false => others.next().copied().unwrap_or(LimitStatus {
                remaining: limit.most,
                reset: Duration::ZERO,
            }),
        })
        .collect()
}
