//! The worker of this process: queries tasks that are due, and delivers events that are due.
//!
//! A record that is due is leased: its due time is moved ahead, by compare-and-swap. If the gateway dies meanwhile,
//! another one takes over when the record is due again. Queries and deliveries are searched for independently.

use super::next_due::EarliestDueTime;
use super::queue::CallbackWorkerQueue;
use super::queued_work::{do_queued_work, note_ended_tasks};
use super::records::CallbackRecordStore;
use crate::costs::TaskCostAccounts;
use crate::polls::TaskStatusFetcher;
use crate::work::{ChannelPollTurns, InFlightWorkLimits, LoggedBlockedChannels, WorkLimiter};
use headgate_core::catalog::Catalog;
use headgate_core::catalog::caller::Callers;
use headgate_core::catalog::egress::EgressPolicy;
use headgate_core::outgoing::delivery_client::DeliveryClient;
use headgate_core::state::records::RecordKind;
use headgate_core::state::{StateStore, StoreUnavailable};
use headgate_core::subrequest::SubrequestClient;
use headgate_core::task::TaskSettings;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

/// How long a record is leased: longer than a query or an attempt takes.
pub(super) const LEASE_MS: u64 = 40_000;
/// How often the store is searched for due records while it has any, and otherwise.
const SEARCH_INTERVAL: Duration = Duration::from_secs(1);
const IDLE_INTERVAL: Duration = Duration::from_secs(15);
/// How often the deliveries in the store are counted.
const TOTALS_INTERVAL: Duration = Duration::from_secs(15);
/// How often it is looked whether the work has ended, when the process ends.
const FINISH_INTERVAL: Duration = Duration::from_millis(50);

/// Limits of attempts: keys are receivers, owners are callers.
const ATTEMPTS: InFlightWorkLimits = InFlightWorkLimits {
    total: 128,
    reserved: 128,
    of_key: 16,
    of_owner: 64,
    of_owner_on_key: 8,
};
/// Limits of queries for callbacks and for ends of tasks: keys are channels, owners are callers.
const QUERIES: InFlightWorkLimits = InFlightWorkLimits {
    total: 128,
    reserved: 128,
    of_key: 24,
    of_owner: 96,
    of_owner_on_key: 16,
};
/// Limits of polls, likewise. Few of a channel, so that each gets its turn before [`ChannelPollTurns`] gives up.
const POLLS: InFlightWorkLimits = InFlightWorkLimits {
    total: 128,
    reserved: 128,
    of_key: 12,
    of_owner: 96,
    of_owner_on_key: 8,
};

/// What the worker uses of the configuration, loaded anew for each search.
#[derive(Clone)]
pub struct CallbackWorkerContext {
    pub callers: Arc<Callers>,
    pub catalog: Arc<Catalog>,
    pub tasks: Arc<TaskSettings>,
    pub egress: Arc<EgressPolicy>,
    pub state: Arc<dyn StateStore>,
    pub polls: Arc<TaskStatusFetcher>,
    pub costs: TaskCostAccounts,
}

/// The worker of this process.
pub struct CallbackWorker {
    pub(super) subrequests: SubrequestClient,
    pub(super) sender: Arc<dyn DeliveryClient>,
    pub(super) queue: Arc<CallbackWorkerQueue>,
    /// Random numbers from 0 to 1.
    pub(super) random: fn() -> f64,
    pub(super) queries: Arc<WorkLimiter>,
    pub(super) polls: Arc<WorkLimiter>,
    pub(super) poll_turns: ChannelPollTurns,
    pub(super) blocked_channels: LoggedBlockedChannels,
    pub(super) attempts: Arc<WorkLimiter>,
    pub(super) next_query: EarliestDueTime,
    pub(super) next_attempt: EarliestDueTime,
}

/// What a search found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DueSearchResult {
    /// There may be more due records.
    More,
    /// All due records; others may become due.
    All,
    /// The store has no record of this kind.
    Nothing,
}

impl CallbackWorker {
    pub fn new(
        subrequests: SubrequestClient,
        sender: Arc<dyn DeliveryClient>,
        queue: Arc<CallbackWorkerQueue>,
        random: fn() -> f64,
    ) -> Self {
        Self {
            subrequests,
            sender,
            queue,
            random,
            queries: Arc::new(WorkLimiter::new(QUERIES)),
            polls: Arc::new(WorkLimiter::new(POLLS)),
            poll_turns: ChannelPollTurns::default(),
            blocked_channels: LoggedBlockedChannels::default(),
            attempts: Arc::new(WorkLimiter::new(ATTEMPTS)),
            next_query: EarliestDueTime::default(),
            next_attempt: EarliestDueTime::default(),
        }
    }

    /// Works until the future is dropped; `context` returns the configuration in use.
    pub async fn run(self: Arc<Self>, context: impl Fn() -> CallbackWorkerContext + Sync) {
        tokio::join!(
            self.run_queue(&context),
            self.run_queries(&context),
            self.run_deliveries(&context),
            self.run_totals(&context),
        );
    }

    /// Ends the work: binds tasks whose subscriptions are not bound yet, and waits for what is in flight and for settlements
    /// that have begun, all no longer than `within`. Others continue the rest.
    pub async fn finish(&self, context: &CallbackWorkerContext, within: Duration) {
        let records = CallbackRecordStore::new(context.state.clone());
        let finished = timeout(within, async {
            tokio::join!(self.finish_queue(context, &records), self.until_idle());
            context.costs.changes.until_settled().await;
        });
        let is_finished = finished.await.is_ok();
        let unbound = self.queue.end();
        if let Some(first) = unbound.first() {
            tracing::error!(
                unbound = unbound.len(),
                task_id = first,
                is_finished,
                "events lost: the process ends, and the state store is unreachable to bind tasks to their callbacks"
            );
        }
    }

    async fn finish_queue(&self, context: &CallbackWorkerContext, records: &CallbackRecordStore) {
        while !do_queued_work(&self.queue, records).await {
            sleep(FINISH_INTERVAL).await;
        }
        let ended = context.polls.ended_tasks();
        while !note_ended_tasks(ended, &self.queue, records, &context.costs).await {
            sleep(FINISH_INTERVAL).await;
        }
    }

    async fn until_idle(&self) {
        while !(self.queries.is_idle() && self.polls.is_idle() && self.attempts.is_idle()) {
            sleep(FINISH_INTERVAL).await;
        }
    }

    /// Does what requests could not wait for, apart from the searches, which must not wait for it.
    async fn run_queue(&self, context: &(impl Fn() -> CallbackWorkerContext + Sync)) {
        loop {
            let current = context();
            let records = CallbackRecordStore::new(current.state.clone());
            let (polls, costs) = (current.polls.clone(), current.costs.clone());
            drop(current);
            let (is_queue_done, are_ended_noted) = tokio::join!(
                do_queued_work(&self.queue, &records),
                note_ended_tasks(polls.ended_tasks(), &self.queue, &records, &costs),
            );
            drop(records);
            match is_queue_done && are_ended_noted {
                true => tokio::select! {
                    () = self.queue.until_work() => {}
                    () = polls.ended_tasks().until_any() => {}
                },
                false => sleep(SEARCH_INTERVAL).await,
            }
        }
    }

    async fn run_queries(self: &Arc<Self>, context: &(impl Fn() -> CallbackWorkerContext + Sync)) {
        let mut is_reachable = true;
        loop {
            let current = Arc::new(context());
            let records = CallbackRecordStore::new(current.state.clone());
            self.next_query.forget_past();
            let found = self.start_due_queries(&current, &records).await;
            let pause = pause_after(found, &self.next_query, &mut is_reachable);
            // A worker that sleeps must not keep an old configuration in memory.
            drop((current, records));
            tokio::select! {
                () = self.queue.until_query() => {}
                () = sleep(pause) => {}
            }
        }
    }

    async fn run_deliveries(
        self: &Arc<Self>,
        context: &(impl Fn() -> CallbackWorkerContext + Sync),
    ) {
        let mut is_reachable = true;
        loop {
            let current = Arc::new(context());
            let records = CallbackRecordStore::new(current.state.clone());
            self.next_attempt.forget_past();
            let found = self.start_due_deliveries(&current, &records).await;
            let pause = pause_after(found, &self.next_attempt, &mut is_reachable);
            drop((current, records));
            tokio::select! {
                () = self.queue.until_delivery() => {}
                () = sleep(pause) => {}
            }
        }
    }

    async fn run_totals(&self, context: &(impl Fn() -> CallbackWorkerContext + Sync)) {
        loop {
            let began = Instant::now();
            let records = CallbackRecordStore::new(context().state);
            if let Ok(totals) = records.totals().await {
                self.queue.counters().set_totals(totals);
            }
            drop(records);
            // A count that takes long is made less often.
            sleep(TOTALS_INTERVAL.max(began.elapsed() * 20)).await;
        }
    }

    /// Wakes the search for a kind of record when one that this process has changed is due.
    pub(super) fn wake_at(&self, kind: RecordKind, due_ms: Option<u64>) {
        let Some(due_ms) = due_ms else {
            return;
        };
        match kind {
            RecordKind::Delivery if self.next_attempt.lower(due_ms) => self.queue.wake_deliveries(),
            RecordKind::Subscription if self.next_query.lower(due_ms) => self.queue.wake(),
            _ => {}
        }
    }
}

/// The pause before the next search; an outage of the store is logged once.
fn pause_after(
    found: Result<DueSearchResult, StoreUnavailable>,
    next: &EarliestDueTime,
    is_reachable: &mut bool,
) -> Duration {
    let was_reachable = std::mem::replace(is_reachable, found.is_ok());
    match found {
        Ok(DueSearchResult::More) => Duration::ZERO,
        Ok(DueSearchResult::All) => SEARCH_INTERVAL.min(next.wait()),
        Ok(DueSearchResult::Nothing) => IDLE_INTERVAL.min(next.wait()),
        Err(unavailable) => {
            if was_reachable {
                tracing::warn!(%unavailable, "cannot search for due callbacks");
            }
            SEARCH_INTERVAL
        }
    }
}

pub(super) fn report_failure(outcome: Result<(), StoreUnavailable>) {
    if let Err(unavailable) = outcome {
        tracing::warn!(%unavailable, "cannot store the outcome of a callback");
    }
}
