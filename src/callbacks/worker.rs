//! The worker of this process: queries tasks that are due, and delivers events that are due.
//!
//! A record that is due is leased: its due time is moved ahead, by compare-and-swap. If the gateway dies meanwhile,
//! another one takes over when the record is due again. Queries and deliveries are searched for independently.

use super::in_flight::{WorkInFlight, WorkLimits};
use super::next_due::NextDue;
use super::queue::{CallbackQueue, QueuedWork};
use super::records::CallbackRecords;
use super::sender::DeliveryClient;
use crate::catalog::caller::Callers;
use crate::catalog::egress::EgressPolicy;
use crate::catalog::model::Catalog;
use crate::polls::TaskStatusFetcher;
use crate::state::records::RecordKind;
use crate::state::{StateStore, StoreUnavailable};
use crate::subrequest::SubrequestClient;
use crate::task::TaskSettings;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// How long a record is leased: longer than a query or an attempt takes.
pub(super) const LEASE_MS: u64 = 40_000;
/// How often the store is searched for due records while it has any, and otherwise.
const SEARCH_INTERVAL: Duration = Duration::from_secs(1);
const IDLE_INTERVAL: Duration = Duration::from_secs(15);
/// How often the deliveries in the store are counted.
const TOTALS_INTERVAL: Duration = Duration::from_secs(15);
/// How often it is looked whether the work in flight has ended, when the process ends.
const FINISH_INTERVAL: Duration = Duration::from_millis(50);

/// By receiver and caller.
const ATTEMPTS: WorkLimits = WorkLimits {
    total: 128,
    reserved: 128,
    of_key: 16,
    of_owner: 64,
    of_owner_on_key: 8,
};
/// By channel and caller.
const QUERIES: WorkLimits = WorkLimits {
    total: 128,
    reserved: 128,
    of_key: 24,
    of_owner: 96,
    of_owner_on_key: 16,
};

/// What the worker uses of the configuration, loaded anew for each search.
#[derive(Clone)]
pub struct CallbackContext {
    pub callers: Arc<Callers>,
    pub catalog: Arc<Catalog>,
    pub tasks: Arc<TaskSettings>,
    pub egress: Arc<EgressPolicy>,
    pub state: Arc<dyn StateStore>,
    pub polls: Arc<TaskStatusFetcher>,
}

/// The worker of this process.
pub struct CallbackWorker {
    pub(super) subrequests: SubrequestClient,
    pub(super) sender: Arc<dyn DeliveryClient>,
    pub(super) queue: Arc<CallbackQueue>,
    /// Random numbers from 0 to 1.
    pub(super) random: fn() -> f64,
    pub(super) queries: Arc<WorkInFlight>,
    pub(super) attempts: Arc<WorkInFlight>,
    pub(super) next_query: NextDue,
    pub(super) next_attempt: NextDue,
}

/// What a search found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SearchResult {
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
        queue: Arc<CallbackQueue>,
        random: fn() -> f64,
    ) -> Self {
        Self {
            subrequests,
            sender,
            queue,
            random,
            queries: Arc::new(WorkInFlight::new(QUERIES)),
            attempts: Arc::new(WorkInFlight::new(ATTEMPTS)),
            next_query: NextDue::default(),
            next_attempt: NextDue::default(),
        }
    }

    /// Works until the future is dropped; `context` returns the configuration in use.
    pub async fn run(self: Arc<Self>, context: impl Fn() -> CallbackContext + Sync) {
        tokio::join!(
            self.run_queries(&context),
            self.run_deliveries(&context),
            self.run_totals(&context),
        );
    }

    /// Ends the work: binds tasks whose subscriptions are not bound yet, and waits for what is in flight, both no longer
    /// than `within`. Others continue the rest.
    pub async fn finish(&self, context: &CallbackContext, within: Duration) {
        let records = CallbackRecords::new(context.state.clone());
        let finished = tokio::time::timeout(within, async {
            self.take_queued(context, &records).await;
            while !(self.queries.is_idle() && self.attempts.is_idle()) {
                sleep(FINISH_INTERVAL).await;
            }
        });
        let is_finished = finished.await.is_ok();
        let unbound = self.queue.take().len();
        if unbound > 0 {
            tracing::error!(
                unbound,
                is_finished,
                "callbacks not bound to their tasks: the state store is unreachable and the process ends"
            );
        }
    }

    async fn run_queries(self: &Arc<Self>, context: &(impl Fn() -> CallbackContext + Sync)) {
        let mut is_reachable = true;
        loop {
            let current = Arc::new(context());
            let records = CallbackRecords::new(current.state.clone());
            self.next_query.forget_past();
            self.take_queued(&current, &records).await;
            let found = match self.take_ended(&current, &records).await {
                Ok(()) => self.start_due_queries(&current, &records).await,
                Err(unavailable) => Err(unavailable),
            };
            let pause = pause_after(found, &self.next_query, &mut is_reachable);
            let polls = current.polls.clone();
            // A worker that sleeps must not keep an old configuration in memory.
            drop((current, records));
            tokio::select! {
                () = self.queue.until_query() => {}
                () = polls.ended_tasks().until_any() => {}
                () = sleep(pause) => {}
            }
        }
    }

    async fn run_deliveries(self: &Arc<Self>, context: &(impl Fn() -> CallbackContext + Sync)) {
        let mut is_reachable = true;
        loop {
            let current = Arc::new(context());
            let records = CallbackRecords::new(current.state.clone());
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

    async fn run_totals(&self, context: &(impl Fn() -> CallbackContext + Sync)) {
        loop {
            let began = Instant::now();
            let records = CallbackRecords::new(context().state);
            if let Ok(totals) = records.totals().await {
                self.queue.counters().set_totals(totals);
            }
            drop(records);
            // A count that takes long is made less often.
            sleep(TOTALS_INTERVAL.max(began.elapsed() * 20)).await;
        }
    }

    /// Does what requests could not wait for; what fails is tried again in the next search.
    async fn take_queued(&self, context: &CallbackContext, records: &CallbackRecords) {
        let mut waiting = self.queue.take().into_iter();
        while let Some(work) = waiting.next() {
            let done = match &work {
                QueuedWork::Remove { nonce } => records.unsubscribe(nonce).await,
                QueuedWork::Bind { nonce, task } => {
                    let keys = context.tasks.keys.as_ref();
                    match keys.and_then(|keys| keys.open(task).ok()) {
                        Some(opened) => records.bind(nonce, task, &opened).await.map(drop),
                        None => Ok(()),
                    }
                }
            };
            if done.is_err() {
                self.queue.put_back(work);
                waiting.for_each(|work| self.queue.put_back(work));
                return;
            }
        }
    }

    /// Makes the subscriptions due whose tasks are known to have ended.
    async fn take_ended(
        &self,
        context: &CallbackContext,
        records: &CallbackRecords,
    ) -> Result<(), StoreUnavailable> {
        let ended = context.polls.ended_tasks();
        let mut keys = ended.take().into_iter();
        while let Some(key) = keys.next() {
            if let Err(unavailable) = records.ended(&key).await {
                ended.put_back(std::iter::once(key).chain(keys));
                return Err(unavailable);
            }
        }
        Ok(())
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
    found: Result<SearchResult, StoreUnavailable>,
    next: &NextDue,
    is_reachable: &mut bool,
) -> Duration {
    let was_reachable = std::mem::replace(is_reachable, found.is_ok());
    match found {
        Ok(SearchResult::More) => Duration::ZERO,
        Ok(SearchResult::All) => SEARCH_INTERVAL.min(next.wait()),
        Ok(SearchResult::Nothing) => IDLE_INTERVAL.min(next.wait()),
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
