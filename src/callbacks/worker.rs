//! The worker of this process: queries tasks that are due, and delivers events that are due.
//!
//! A record that is due is leased: its due time is moved ahead, by compare-and-swap. If the gateway dies meanwhile,
//! another one takes over when the record is due again.

use super::delivery::{Delivery, DeliveryPhase};
use super::in_flight::WorkInFlight;
use super::queue::{CallbackQueue, QueuedWork};
use super::records::{CallbackRecords, StoredRecord};
use super::sender::DeliveryClient;
use super::subscription::Subscription;
use crate::catalog::caller::Callers;
use crate::catalog::egress::EgressPolicy;
use crate::catalog::model::Catalog;
use crate::polls::TaskStatusFetcher;
use crate::state::calendar::unix_ms;
use crate::state::records::RecordKind;
use crate::state::{StateStore, StoreUnavailable};
use crate::subrequest::SubrequestClient;
use crate::task::TaskSettings;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// How long a record is leased: longer than a query or an attempt takes.
pub(super) const LEASE_MS: u64 = 40_000;
/// How often the store is searched for due records while it has any, and otherwise.
const SEARCH_INTERVAL: Duration = Duration::from_secs(1);
const IDLE_INTERVAL: Duration = Duration::from_secs(15);
/// The maximum number of due records that are read at once.
const DUE_MAX: usize = 256;
/// How much later a record is due whose receiver or channel has no free place.
const POSTPONED_MS: u64 = 5_000;
/// How often the totals of deliveries are counted.
const TOTALS_INTERVAL: Duration = Duration::from_secs(10);

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
    queries: Arc<WorkInFlight>,
    attempts: Arc<WorkInFlight>,
    /// The earliest time at which this process knows a record to be due, in Unix milliseconds.
    next_due_ms: AtomicU64,
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
            queries: Arc::new(WorkInFlight::new(64, 16)),
            attempts: Arc::new(WorkInFlight::new(128, 8)),
            next_due_ms: AtomicU64::new(u64::MAX),
        }
    }

    /// Works until the future is dropped; `context` returns the configuration in use.
    pub async fn run(self: Arc<Self>, context: impl Fn() -> CallbackContext) {
        let mut counted: Option<Instant> = None;
        loop {
            let context = Arc::new(context());
            let records = CallbackRecords::new(context.state.clone());
            self.forget_past_due();
            let found = self.search(&context, &records).await;
            if let Err(unavailable) = &found {
                tracing::warn!(%unavailable, "cannot search for due callbacks");
            }
            let is_idle = matches!(found, Ok(false));
            if counted.is_none_or(|at| at.elapsed() >= TOTALS_INTERVAL)
                && let Ok(totals) = records.totals().await
            {
                self.queue.counters().set_totals(totals);
                counted = Some(Instant::now());
            }
            let pause = match is_idle {
                true => IDLE_INTERVAL,
                false => SEARCH_INTERVAL.min(self.until_next_due()),
            };
            let polls = context.polls.clone();
            // A worker that sleeps must not keep an old configuration in memory.
            drop(context);
            tokio::select! {
                () = self.queue.until_woken() => {}
                () = polls.ended_tasks().until_any() => {}
                () = sleep(pause) => {}
            }
        }
    }

    /// Starts the work that is due; returns whether the store has any records of callbacks.
    async fn search(
        self: &Arc<Self>,
        context: &Arc<CallbackContext>,
        records: &CallbackRecords,
    ) -> Result<bool, StoreUnavailable> {
        self.take_queued(context, records).await;
        for task in context.polls.ended_tasks().take() {
            records.ended(&task).await?;
        }
        let mut any = false;
        for stored in records.due(RecordKind::Subscription, DUE_MAX).await? {
            any = true;
            self.start_query(context, records, stored).await?;
        }
        for stored in records.due(RecordKind::Delivery, DUE_MAX).await? {
            any = true;
            self.start_delivery(context, records, stored).await?;
        }
        Ok(any || !records.is_empty().await?)
    }

    /// Does what requests left to this process; what the store cannot take now waits.
    async fn take_queued(&self, context: &CallbackContext, records: &CallbackRecords) {
        for work in self.queue.take() {
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
            }
        }
    }

    async fn start_query(
        self: &Arc<Self>,
        context: &Arc<CallbackContext>,
        records: &CallbackRecords,
        mut stored: StoredRecord<Subscription>,
    ) -> Result<(), StoreUnavailable> {
        let Some(permit) = self.queries.begin(&stored.value.channel) else {
            return self
                .postpone(records, RecordKind::Subscription, stored)
                .await;
        };
        let was_hinted = std::mem::take(&mut stored.value.hinted);
        stored.due_ms = Some(unix_ms() + LEASE_MS);
        let leased = records.replace(RecordKind::Subscription, &stored).await?;
        if let Some(leased) = leased {
            let (worker, context, records) = (self.clone(), context.clone(), records.clone());
            tokio::spawn(async move {
                let queried = worker.query(&context, &records, leased, was_hinted).await;
                report_failure(queried);
                drop(permit);
            });
        }
        Ok(())
    }

    async fn start_delivery(
        self: &Arc<Self>,
        context: &Arc<CallbackContext>,
        records: &CallbackRecords,
        mut stored: StoredRecord<Delivery>,
    ) -> Result<(), StoreUnavailable> {
        let receiver = self.sender.receiver_of(&stored.value.url);
        let Some(permit) = self.attempts.begin(receiver.as_deref().unwrap_or_default()) else {
            return self.postpone(records, RecordKind::Delivery, stored).await;
        };
        let until_ms = unix_ms() + LEASE_MS;
        stored.value.phase = DeliveryPhase::Leased { until_ms };
        stored.due_ms = Some(until_ms);
        let leased = records.replace(RecordKind::Delivery, &stored).await?;
        if let Some(leased) = leased {
            let (worker, context, records) = (self.clone(), context.clone(), records.clone());
            tokio::spawn(async move {
                let receiver = receiver.unwrap_or_default();
                let sent = worker.deliver(&context, &records, leased, &receiver).await;
                report_failure(sent);
                drop(permit);
            });
        }
        Ok(())
    }

    /// Makes room for the due records of others.
    async fn postpone<V: serde::Serialize + serde::de::DeserializeOwned + Clone>(
        &self,
        records: &CallbackRecords,
        kind: RecordKind,
        mut stored: StoredRecord<V>,
    ) -> Result<(), StoreUnavailable> {
        let jitter = (self.random)() * POSTPONED_MS as f64;
        stored.due_ms = Some(unix_ms() + POSTPONED_MS + jitter as u64);
        records.replace(kind, &stored).await.map(drop)
    }

    /// Wakes this process when a record that it has changed is due.
    pub(super) fn wake_at(&self, due_ms: Option<u64>) {
        if let Some(due_ms) = due_ms
            && due_ms < self.next_due_ms.fetch_min(due_ms, Ordering::Relaxed)
        {
            self.queue.wake();
        }
    }

    fn forget_past_due(&self) {
        let next_ms = self.next_due_ms.load(Ordering::Relaxed);
        if next_ms <= unix_ms() {
            // If the time was lowered meanwhile, it stays.
            let _ = self.next_due_ms.compare_exchange(
                next_ms,
                u64::MAX,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
        }
    }

    fn until_next_due(&self) -> Duration {
        let next_ms = self.next_due_ms.load(Ordering::Relaxed);
        Duration::from_millis(next_ms.saturating_sub(unix_ms()))
    }
}

fn report_failure(outcome: Result<(), StoreUnavailable>) {
    if let Err(unavailable) = outcome {
        tracing::warn!(%unavailable, "cannot store the outcome of a callback");
    }
}
