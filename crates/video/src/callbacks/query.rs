//! Queries the status of a subscribed task, and stores an event if it has changed.

mod event;

use super::counters::DeliveryOutcome;
use super::delivery::Delivery;
use super::records::{CallbackRecordStore, StoredRecord};
use super::subscription::{StatusQueryOutcome, Subscription};
use super::worker::{CallbackWorker, CallbackWorkerContext};
use crate::polls::{CallerStatusPoll, ProviderStatusReport, StatusQueryError};
use crate::status_request::{call_headers, inline_file, status_request};
use headgate_core::catalog::model::Candidate;
use headgate_core::state::StoreUnavailable;
use headgate_core::state::calendar::unix_ms;
use headgate_core::state::records::RecordKind;
use headgate_core::subrequest::{Subrequest, SubrequestHost};
use headgate_core::task::family::{ForbiddenTaskHost, VideoFamily};
use headgate_core::task::id::TaskId;
use headgate_core::task::state::TaskState;
use http::StatusCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// How long a query waits while its channel is at its limits.
const CHANNEL_MAX_WAIT: Duration = Duration::from_secs(2);
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

/// Why a task cannot be queried. The configuration may change, so that it is tried again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum TaskNotQueryable {
    #[error("the key of the task's id is not in `task_keys`")]
    UnknownKey,
    #[error("the channel of the task is not configured; list it as `retired`")]
    UnknownChannel,
    #[error("the channel of the task has no `family`")]
    FamilyUnset,
    #[error(transparent)]
    ForbiddenHost(#[from] ForbiddenTaskHost),
}

/// A task that can be queried.
struct QueryableSubscribedTask {
    id: String,
    task: TaskId,
    candidate: Candidate,
    family: Arc<VideoFamily>,
    /// The host of the task, if it is not the channel's.
    other_host: Option<SubrequestHost>,
}

impl CallbackWorker {
    /// Queries the task of a leased subscription.
    pub(super) async fn query(
        &self,
        context: &CallbackWorkerContext,
        records: &CallbackRecordStore,
        leased: StoredRecord<Subscription>,
    ) -> Result<(), StoreUnavailable> {
        let subscribed = match QueryableSubscribedTask::from_subscription(context, &leased) {
            Ok(subscribed) => subscribed,
            Err(reason) => return self.blocked(records, &leased, &reason.to_string()).await,
        };
        self.blocked_channels.forget(&leased.value.channel);
        if !leased.value.is_hinted() && !self.has_poll_turn(context, &subscribed).await {
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

    /// Waits for a use of the channel's query limit; `false` if there is none in time.
    async fn has_poll_turn(
        &self,
        context: &CallbackWorkerContext,
        subscribed: &QueryableSubscribedTask,
    ) -> bool {
        match subscribed.family.query.max_per_second {
            Some(per_second) => {
                let channel = &subscribed.task.channel;
                let turn = self.poll_turns.take(&*context.state, channel, per_second);
                turn.await
            }
            None => true,
        }
    }

    /// The status of the task. A callback is settled only by a query that began after it.
    async fn report(
        &self,
        context: &CallbackWorkerContext,
        subscribed: &QueryableSubscribedTask,
        leased: &StoredRecord<Subscription>,
    ) -> TaskQueryResult {
        let subrequest = status_request(
            &self.subrequests,
            subscribed.subrequest(&leased.key),
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

impl QueryableSubscribedTask {
    fn from_subscription(
        context: &CallbackWorkerContext,
        leased: &StoredRecord<Subscription>,
    ) -> Result<Self, TaskNotQueryable> {
        let id = leased
            .value
            .task
            .clone()
            .ok_or(TaskNotQueryable::UnknownKey)?;
        let keys = context.tasks.keys.as_ref();
        let task = keys.and_then(|keys| keys.open(&id).ok());
        let task = task.ok_or(TaskNotQueryable::UnknownKey)?;
        let channel = context.catalog.channel(&task.channel);
        let channel = channel.ok_or(TaskNotQueryable::UnknownChannel)?;
        let family = channel
            .family
            .clone()
            .ok_or(TaskNotQueryable::FamilyUnset)?;
        let url = family.other_host(&task)?;
        let other_host = url.map(|url| SubrequestHost::new(url, &context.egress));
        Ok(Self {
            other_host,
            candidate: Candidate::for_task(channel.clone(), &task, None),
            family,
            id,
            task,
        })
    }

    fn subrequest(&self, nonce: &Arc<str>) -> Subrequest {
        let call = &self.family.query.call;
        Subrequest {
            id: nonce.clone(),
            candidate: self.candidate.clone(),
            method: call.method.clone(),
            path: self.family.query_path(&self.task),
            other_host: self.other_host.clone(),
            inline_file: inline_file(&self.family),
            headers: call_headers(call),
            body: call.body(&self.task.upstream).into(),
            upstream_request_id: Arc::default(),
            max_wait: CHANNEL_MAX_WAIT,
        }
    }
}
