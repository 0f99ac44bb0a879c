//! Queries the status of a subscribed task, and stores an event if it has changed.

mod event;

use super::counters::DeliveryOutcome;
use super::delivery::Delivery;
use super::records::{CallbackRecordStore, StoredRecord};
use super::subscription::{StatusQueryOutcome, Subscription};
use super::worker::{CallbackWorker, CallbackWorkerContext};
use crate::polls::{CallerStatusPoll, ProviderStatusReport, StatusQueryError};
use crate::status_request::status_request;
use crate::unattended_task::UnattendedTask;
use headgate_core::request_id::RequestId;
use headgate_core::state::StoreUnavailable;
use headgate_core::state::calendar::unix_ms;
use headgate_core::state::records::RecordKind;
use headgate_core::task::state::TaskState;
use http::StatusCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// How long a query may take, all in all: with the wait of a poll for its turn, less than its lease.
const QUERY_WITHIN: Duration = Duration::from_secs(26);
/// How much later a poll is due that did not get its turn.
const OVER_BUDGET_MS: u64 = 1_000;
/// How much later a task is due whose caller has too many deliveries, or which cannot be queried.
const BLOCKED_MS: u64 = 60_000;

/// What a query of a task brought.
enum TaskQueryResult {
    Reported(Arc<ProviderStatusReport>),
    /// The provider has no such task.
    NotFound,
    Failed,
}

impl CallbackWorker {
    /// Queries the task of a leased subscription.
    pub(super) async fn query(
        &self,
        context: &CallbackWorkerContext,
        records: &CallbackRecordStore,
        leased: StoredRecord<Subscription>,
    ) -> Result<(), StoreUnavailable> {
        let id = leased.value.task.as_deref().unwrap_or_default();
        let (tasks, catalog) = (&context.tasks, &context.catalog);
        let subscribed = match UnattendedTask::open(id, tasks, catalog, &context.egress) {
            Ok(subscribed) => subscribed,
            Err(reason) => return self.blocked(records, &leased, &reason.to_string()).await,
        };
        self.blocked_channels.forget(&leased.value.channel);
        let (channel, limit) = (
            &leased.value.channel,
            subscribed.family.query.max_per_second,
        );
        let turns = &self.poll_turns;
        if !leased.value.is_hinted() && !turns.take(&*context.state, channel, limit).await {
            return self.due_again(records, &leased, OVER_BUDGET_MS).await;
        }
        let queried = timeout(QUERY_WITHIN, self.report(context, &subscribed, &leased)).await;
        let queried = queried.unwrap_or(TaskQueryResult::Failed);
        // Another query may have found the same state since.
        let Some(current) = records.subscription(&leased.key).await? else {
            return Ok(());
        };
        let before = current.value.state;
        let outcome = match queried.state(&current.value, unix_ms()) {
            None => StatusQueryOutcome::Failed,
            Some(state) if state.after(before) == before => StatusQueryOutcome::Unchanged,
            Some(state) => {
                let event = subscribed.event(context, &leased, state, &queried);
                if !self.store_event(records, &leased, state, event).await? {
                    let reason = "the caller has too many undelivered events";
                    return self.blocked(records, &leased, reason).await;
                }
                StatusQueryOutcome::Changed(state)
            }
        };
        let changed = records.change_subscription(&leased.key, |stored| {
            let hints = leased.value.hints;
            stored.due_ms = stored.value.queried(outcome, hints, unix_ms());
            true
        });
        let due_ms = changed.await?.and_then(|changed| changed.due_ms);
        self.wake_at(RecordKind::Subscription, due_ms);
        Ok(())
    }

    /// The status of the task. A callback is settled only by a query that began after it.
    async fn report(
        &self,
        context: &CallbackWorkerContext,
        subscribed: &UnattendedTask,
        leased: &StoredRecord<Subscription>,
    ) -> TaskQueryResult {
        let subrequest = status_request(
            &self.subrequests,
            subscribed.subrequest(RequestId::from(&*leased.key)),
            &subscribed.family,
            &subscribed.task,
        );
        let poll = CallerStatusPoll {
            family: subscribed.family.clone(),
            task: subscribed.task.clone(),
            state: context.state.clone(),
        };
        let reported = match leased.value.is_hinted() {
            true => context.polls.status_now(&poll, subrequest, 1).await,
            false => {
                let polled = context.polls.status(poll, subrequest).await;
                polled.map(|polled| polled.report)
            }
        };
        match reported {
            Ok(report) => TaskQueryResult::Reported(report),
            Err(error) => match &*error {
                StatusQueryError::Refused(response) if response.status == StatusCode::NOT_FOUND => {
                    TaskQueryResult::NotFound
                }
                StatusQueryError::Refused(_) | StatusQueryError::Failed(_) => {
                    TaskQueryResult::Failed
                }
            },
        }
    }

    /// Stores the event before the subscription changes, so that neither is lost if the process dies in between. Returns
    /// whether there was room for it.
    async fn store_event(
        &self,
        records: &CallbackRecordStore,
        leased: &StoredRecord<Subscription>,
        state: TaskState,
        event: Option<Delivery>,
    ) -> Result<bool, StoreUnavailable> {
        let Some(event) = event else {
            return Ok(true);
        };
        let task = leased.value.task.as_deref().unwrap_or_default();
        let id = Delivery::id(task, state);
        if let Some(error) = &event.last_error {
            tracing::error!(
                event_id = id,
                caller = &*leased.owner,
                channel = leased.value.channel,
                error,
                "event is a dead letter: it cannot be sent"
            );
            self.queue.counters().count(DeliveryOutcome::Dead);
            records
                .store_dead_letter(&id, &leased.owner, &event)
                .await?;
            return Ok(true);
        }
        let has_room = records.store_event(&id, &leased.owner, &event).await?;
        match has_room {
            true => self.queue.wake_deliveries(),
            false => tracing::error!(
                event_id = id,
                caller = &*leased.owner,
                "event not stored, trying again: the caller has too many undelivered events"
            ),
        }
        Ok(has_room)
    }

    /// Makes a subscription due later that leads to no event now. One that expires before is counted as lost.
    async fn blocked(
        &self,
        records: &CallbackRecordStore,
        leased: &StoredRecord<Subscription>,
        reason: &str,
    ) -> Result<(), StoreUnavailable> {
        let (channel, task_id) = (&leased.value.channel, &leased.value.task);
        if leased.value.url.is_none() {
            return self.due_again(records, leased, BLOCKED_MS).await;
        }
        if leased.expires_ms < unix_ms() + 2 * BLOCKED_MS {
            if records.remove(RecordKind::Subscription, leased).await? {
                self.queue.counters().count(DeliveryOutcome::Lost);
                tracing::error!(
                    task_id,
                    caller = &*leased.owner,
                    channel,
                    reason,
                    "events lost: no event could be stored until the subscription expired"
                );
            }
            return Ok(());
        }
        if self.blocked_channels.note(channel) {
            tracing::warn!(task_id, channel, reason, "events of tasks wait");
        }
        self.due_again(records, leased, BLOCKED_MS).await
    }

    /// Makes the subscription due later, unless its provider has called back meanwhile.
    async fn due_again(
        &self,
        records: &CallbackRecordStore,
        leased: &StoredRecord<Subscription>,
        later_ms: u64,
    ) -> Result<(), StoreUnavailable> {
        let changed = records.change_subscription(&leased.key, |stored| {
            let is_same = stored.value.hints == leased.value.hints;
            if is_same && !stored.value.state.is_terminal() {
                stored.due_ms = Some(unix_ms() + later_ms);
            }
            is_same
        });
        changed.await.map(drop)
    }
}

impl TaskQueryResult {
    /// The state of the task; `None` if it is unknown.
    fn state(&self, subscription: &Subscription, now_ms: u64) -> Option<TaskState> {
        match self {
            Self::Reported(report) => Some(report.state),
            Self::NotFound if subscription.is_forgotten_if_not_found(now_ms) => {
                Some(TaskState::Expired)
            }
            Self::NotFound | Self::Failed => None,
        }
    }
}
