//! Queries the status of a subscribed task, and stores an event if it has changed.

use super::delivery::{Delivery, DeliveryPhase};
use super::records::{CallbackRecords, StoredRecord};
use super::subscription::{StatusFormat, Subscription};
use super::worker::{CallbackContext, CallbackWorker};
use crate::catalog::model::Candidate;
use crate::polls::{CallerStatusPoll, StatusReport};
use crate::state::StoreUnavailable;
use crate::state::calendar::unix_ms;
use crate::state::per_second_limiter::PerSecondDecision;
use crate::subrequest::Subrequest;
use crate::task::family::VideoFamily;
use crate::task::id::TaskId;
use crate::task::state::TaskState;
use bytes::Bytes;
use http::HeaderMap;
use std::sync::Arc;
use std::time::Duration;

/// How long a query waits while its channel is at its limits.
const CHANNEL_MAX_WAIT: Duration = Duration::from_secs(2);
/// How much later a query is due that found no place in the poll budget.
const OVER_BUDGET_MS: u64 = 1_000;
/// How much later a task is due whose caller has too many deliveries, or whose channel is not configured.
const BLOCKED_MS: u64 = 60_000;
/// Larger bodies are not delivered.
const BODY_BYTES_MAX: usize = 96 << 10;

/// A task that can be queried.
struct SubscribedTask {
    id: String,
    task: TaskId,
    candidate: Candidate,
    family: Arc<VideoFamily>,
}

impl CallbackWorker {
    /// Queries the task of a leased subscription; `was_hinted` if its status is expected to have changed.
    pub(super) async fn query(
        &self,
        context: &CallbackContext,
        records: &CallbackRecords,
        leased: StoredRecord<Subscription>,
        was_hinted: bool,
    ) -> Result<(), StoreUnavailable> {
        let Some(subscribed) = SubscribedTask::of(context, &leased) else {
            return self.due_again(records, &leased.key, BLOCKED_MS).await;
        };
        if !was_hinted && !subscribed.takes_poll_budget(context).await {
            return self.due_again(records, &leased.key, OVER_BUDGET_MS).await;
        }
        if was_hinted {
            context.polls.invalidate(&subscribed.task);
        }
        let subrequest = self.subrequests.send(subscribed.subrequest(&leased.key));
        let poll = CallerStatusPoll {
            family: subscribed.family.clone(),
            task: subscribed.task.clone(),
            state: context.state.clone(),
        };
        let polled = context.polls.status(poll, subrequest).await;
        let (state, has_room) = match &polled {
            Ok(polled) => {
                let state = polled.report.state.after(leased.value.state);
                let is_new = state != leased.value.state;
                let has_room = match (is_new, &leased.value.url) {
                    (true, Some(url)) => {
                        let event = subscribed.event(context, &leased, url, state, &polled.report);
                        self.store_event(records, &leased, state, event).await?
                    }
                    _ => true,
                };
                (state, has_room)
            }
            Err(_) => (leased.value.state, true),
        };
        if !has_room {
            return self.due_again(records, &leased.key, BLOCKED_MS).await;
        }
        let answers_hint = was_hinted && polled.is_ok();
        let changed = records.change_subscription(&leased.key, |stored| {
            let now_ms = unix_ms();
            let subscription = &mut stored.value;
            subscription.state = state.after(subscription.state);
            subscription.queried_ms = now_ms;
            subscription.polls = match answers_hint {
                true => 0,
                false => subscription.polls.saturating_add(1),
            };
            stored.due_ms = match was_hinted && !answers_hint {
                true => subscription.retry_hint_ms(now_ms),
                false => subscription.next_query_ms(now_ms),
            };
            true
        });
        let changed = changed.await?;
        self.wake_at(changed.and_then(|changed| changed.due_ms));
        Ok(())
    }

    /// Stores the event before the subscription changes, so that neither is lost if the process dies in between.
    async fn store_event(
        &self,
        records: &CallbackRecords,
        leased: &StoredRecord<Subscription>,
        state: TaskState,
        event: Option<Delivery>,
    ) -> Result<bool, StoreUnavailable> {
        let Some(event) = event else {
            return Ok(true);
        };
        let task = leased.value.task.as_deref().unwrap_or_default();
        let id = Delivery::id(task, state);
        let has_room = records.deliver(&id, &leased.owner, &event).await?;
        match has_room {
            true => self.queue.wake(),
            false => tracing::warn!(
                caller = &*leased.owner,
                "event not stored: the caller has too many undelivered events"
            ),
        }
        Ok(has_room)
    }

    async fn due_again(
        &self,
        records: &CallbackRecords,
        nonce: &str,
        later_ms: u64,
    ) -> Result<(), StoreUnavailable> {
        let changed = records.change_subscription(nonce, |stored| {
            if !stored.value.hinted {
                stored.due_ms = Some(unix_ms() + later_ms);
            }
            true
        });
        changed.await.map(drop)
    }
}

impl SubscribedTask {
    /// `None` if the task's key or channel is not configured.
    fn of(context: &CallbackContext, leased: &StoredRecord<Subscription>) -> Option<Self> {
        let id = leased.value.task.clone()?;
        let keys = context.tasks.keys.as_ref()?;
        let task = keys.open(&id).ok()?;
        let channel = context.catalog.channel(&task.channel)?;
        Some(Self {
            candidate: Candidate::of_task(channel.clone(), &task),
            family: channel.family.clone()?,
            id,
            task,
        })
    }

    /// Takes a place in the half of the channel's query budget that polls may use.
    async fn takes_poll_budget(&self, context: &CallbackContext) -> bool {
        let Some(per_second) = self.family.query.max_per_second else {
            return true;
        };
        let key = format!("callbacks:{}", self.task.channel);
        let half = (per_second / 2).max(1);
        let taken = context.state.take_per_second(&key, half).get().await;
        !matches!(taken, Ok(PerSecondDecision::RetryAfter(_)))
    }

    fn subrequest(&self, nonce: &Arc<str>) -> Subrequest {
        let call = &self.family.query.call;
        Subrequest {
            id: nonce.clone(),
            candidate: self.candidate.clone(),
            method: call.method.clone(),
            path: call.path(&self.task.upstream),
            headers: call.headers.iter().cloned().collect::<HeaderMap>(),
            body: Bytes::new(),
            upstream_request_id: Arc::default(),
            max_wait: CHANNEL_MAX_WAIT,
        }
    }

    /// The event that the task has reached a state; `None` if its status cannot be delivered.
    fn event(
        &self,
        context: &CallbackContext,
        leased: &StoredRecord<Subscription>,
        url: &str,
        state: TaskState,
        report: &StatusReport,
    ) -> Option<Delivery> {
        let body = self.status_body(context, leased.value.format, report)?;
        let running = || Delivery::id(&self.id, TaskState::Running);
        Some(Delivery {
            subscription: leased.key.to_string(),
            earlier: state.is_terminal().then(running),
            url: url.to_owned(),
            state,
            body,
            created_ms: unix_ms(),
            attempts: 0,
            phase: DeliveryPhase::Waiting,
            last_error: None,
        })
    }

    fn status_body(
        &self,
        context: &CallbackContext,
        format: StatusFormat,
        report: &StatusReport,
    ) -> Option<String> {
        let status = self
            .family
            .status(&report.response, &self.task, report.reported_ms)
            .ok()?;
        let body = match format {
            StatusFormat::Generic => status.render(&self.id, &self.task),
            StatusFormat::Native => {
                let keys = context.tasks.keys.as_ref()?;
                let edits = self.family.native(
                    &report.response,
                    &self.id,
                    &self.task,
                    Some(&status),
                    &|upstream| keys.seal_sibling(&self.task, upstream),
                );
                edits.apply(report.response.body()).to_bytes()
            }
        };
        if body.len() > BODY_BYTES_MAX {
            tracing::warn!(
                channel = self.task.channel,
                bytes = body.len(),
                "event not delivered: the task's status is too large"
            );
            return None;
        }
        String::from_utf8(body.into()).ok()
    }
}
