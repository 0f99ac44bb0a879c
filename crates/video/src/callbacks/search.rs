//! Searches for due records, and starts the work on them.

use super::counters::DeliveryOutcome;
use super::delivery::{Delivery, DeliveryLeaseState};
use super::records::{CallbackRecordStore, DueQueriesAndDeliveries, StoredRecord};
use super::subscription::Subscription;
use super::worker::{
    CallbackWorker, CallbackWorkerContext, DueSearchResult, LEASE_MS, report_failure,
};
use crate::work::{WorkLimiter, WorkPermit};
use headgate_core::state::StoreUnavailable;
use headgate_core::state::calendar::unix_ms;
use headgate_core::state::records::RecordKind;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use tokio::task::JoinSet;

/// The maximum number of due records that are read at once.
const DUE_MAX: usize = 128;
/// An event that gets no permit is given up this time before it expires: longer than a postponement.
const GIVEN_UP_MS: u64 = 60 * 60 * 1_000;

impl CallbackWorker {
    pub(super) async fn start_due_queries(
        self: &Arc<Self>,
        context: &Arc<CallbackWorkerContext>,
        records: &CallbackRecordStore,
    ) -> Result<DueSearchResult, StoreUnavailable> {
        let kind = RecordKind::Subscription;
        let DueQueriesAndDeliveries { found, is_full } =
            records.due::<Subscription>(kind, DUE_MAX).await?;
        let is_empty = found.is_empty();
        let mut leases = JoinSet::new();
        for stored in found {
            let (worker, context, records) = (self.clone(), context.clone(), records.clone());
            // Polls wait for their turns, and must not delay queries for callbacks.
            let work = match stored.value.is_hinted() {
                true => self.queries.clone(),
                false => self.polls.clone(),
            };
            let permit = work.begin(&stored.value.channel, &stored.owner);
            leases.spawn(async move {
                match permit {
                    Some(permit) => worker.start_query(context, records, stored, permit).await,
                    None => {
                        let channel = stored.value.channel.clone();
                        let owner = stored.owner.clone();
                        let until_ms = worker.postponed_until(&work, &channel, &owner);
                        postpone(&records, kind, stored, until_ms).await
                    }
                }
            });
        }
        search_result(leases, is_empty, is_full, records, kind).await
    }

    pub(super) async fn start_due_deliveries(
        self: &Arc<Self>,
        context: &Arc<CallbackWorkerContext>,
        records: &CallbackRecordStore,
    ) -> Result<DueSearchResult, StoreUnavailable> {
        let kind = RecordKind::Delivery;
        let DueQueriesAndDeliveries { found, is_full } =
            records.due::<Delivery>(kind, DUE_MAX).await?;
        let is_empty = found.is_empty();
        let mut leases = JoinSet::new();
        for stored in found {
            let (worker, context, records) = (self.clone(), context.clone(), records.clone());
            let receiver = self.sender.receiver_authority(&stored.value.url);
            let receiver = receiver.unwrap_or_default();
            let permit = self.attempts.begin(&receiver, &stored.owner);
            leases.spawn(async move {
                match permit {
                    Some(permit) => {
                        let started =
                            worker.start_delivery(context, records, stored, receiver, permit);
                        started.await
                    }
                    None if stored.expires_ms < unix_ms() + GIVEN_UP_MS => {
                        worker.give_up(&records, stored, &receiver).await
                    }
                    None => {
                        let owner = stored.owner.clone();
                        let until_ms = worker.postponed_until(&worker.attempts, &receiver, &owner);
                        postpone(&records, kind, stored, until_ms).await
                    }
                }
            });
        }
        search_result(leases, is_empty, is_full, records, kind).await
    }

    async fn start_query(
        self: Arc<Self>,
        context: Arc<CallbackWorkerContext>,
        records: CallbackRecordStore,
        mut stored: StoredRecord<Subscription>,
        permit: WorkPermit,
    ) -> Result<(), StoreUnavailable> {
        if stored.value.task.is_none() {
            return self.expire_unbound(&records, &stored).await;
        }
        let now_ms = unix_ms();
        stored.value.query_begins(now_ms);
        stored.due_ms = Some(now_ms + LEASE_MS);
        if let Some(leased) = records.replace(RecordKind::Subscription, &stored).await? {
            tokio::spawn(async move {
                report_failure(self.query(&context, &records, leased).await);
                drop(permit);
            });
        }
        Ok(())
    }

    async fn start_delivery(
        self: Arc<Self>,
        context: Arc<CallbackWorkerContext>,
        records: CallbackRecordStore,
        mut stored: StoredRecord<Delivery>,
        receiver: String,
        permit: WorkPermit,
    ) -> Result<(), StoreUnavailable> {
        let until_ms = unix_ms() + LEASE_MS;
        stored.value.phase = DeliveryLeaseState::Leased { until_ms };
        stored.due_ms = Some(until_ms);
        if let Some(leased) = records.replace(RecordKind::Delivery, &stored).await? {
            tokio::spawn(async move {
                let sent = self.deliver(&context, &records, leased, &receiver).await;
                report_failure(sent);
                drop(permit);
            });
        }
        Ok(())
    }

    /// Removes a subscription that no task was bound to in time. If its provider called back, there is a task.
    async fn expire_unbound(
        &self,
        records: &CallbackRecordStore,
        stored: &StoredRecord<Subscription>,
    ) -> Result<(), StoreUnavailable> {
        let is_removed = records.remove(RecordKind::Subscription, stored).await?;
        if is_removed && stored.value.is_hinted() {
            self.queue.counters().count(DeliveryOutcome::Lost);
            tracing::error!(
                caller = &*stored.owner,
                channel = stored.value.channel,
                "events lost: a provider called back about a task whose create has no known outcome"
            );
        }
        Ok(())
    }

    fn postponed_until(&self, work: &WorkLimiter, key: &str, owner: &Arc<str>) -> u64 {
        work.postponed_until(key, owner, unix_ms(), (self.random)())
    }
}

/// Makes room for the due records of others.
async fn postpone<V: Serialize + DeserializeOwned + Clone>(
    records: &CallbackRecordStore,
    kind: RecordKind,
    mut stored: StoredRecord<V>,
    until_ms: u64,
) -> Result<(), StoreUnavailable> {
    stored.due_ms = Some(until_ms);
    records.replace(kind, &stored).await.map(drop)
}

/// Waits for the leases, which the store writes together.
async fn search_result(
    mut leases: JoinSet<Result<(), StoreUnavailable>>,
    is_empty: bool,
    is_full: bool,
    records: &CallbackRecordStore,
    kind: RecordKind,
) -> Result<DueSearchResult, StoreUnavailable> {
    let mut result = Ok(());
    while let Some(leased) = leases.join_next().await {
        if let Ok(failed @ Err(_)) = leased {
            result = failed;
        }
    }
    result?;
    Ok(match (is_full, is_empty) {
        (true, _) => DueSearchResult::More,
        (false, false) => DueSearchResult::All,
        (false, true) if records.has_any(kind).await? => DueSearchResult::All,
        (false, true) => DueSearchResult::Nothing,
    })
}
