//! One attempt to deliver an event, and what follows from its outcome.

use super::counters::DeliveryOutcome;
use super::delivery::{Delivery, DeliveryLeaseState};
use super::records::{CallbackRecordStore, StoredRecord};
use super::worker::{CallbackWorker, CallbackWorkerContext};
use bytes::Bytes;
use headgate_core::catalog::caller::Caller;
use headgate_core::outgoing::delivery_client::EventPost;
use headgate_core::outgoing::event_delivery::{event_headers, retry_delay};
use headgate_core::state::StoreUnavailable;
use headgate_core::state::calendar::{unix_ms, whole_ms};
use headgate_core::state::records::RecordKind;
use http::StatusCode;
use std::time::Duration;

/// How long an event waits until it is looked at again whether the earlier one is still being sent.
const ORDER_WAIT_MS: u64 = 1_000;

/// The outcome of an attempt.
enum AttemptResult {
    Delivered,
    /// The receiver does not want the event.
    Gone(String),
    Failed(String, Option<Duration>),
}

/// What to do with an event before it is sent.
pub(super) enum SendOrderDecision {
    Send {
        /// Whether an earlier event was removed, which is not sent any more.
        has_overtaken: bool,
    },
    /// A later state is known.
    Overtaken,
    /// An earlier event is being sent, until this Unix millisecond at the latest.
    WaitUntil(u64),
}

impl CallbackWorker {
    /// Sends a leased event.
    pub(super) async fn deliver(
        &self,
        context: &CallbackWorkerContext,
        records: &CallbackRecordStore,
        mut leased: StoredRecord<Delivery>,
        receiver: &str,
    ) -> Result<(), StoreUnavailable> {
        match decide_order(records, &leased).await? {
            SendOrderDecision::Send {
                has_overtaken: true,
            } => {
                self.queue.counters().count(DeliveryOutcome::Overtaken);
            }
            SendOrderDecision::Send {
                has_overtaken: false,
            } => {}
            SendOrderDecision::Overtaken => {
                self.queue.counters().count(DeliveryOutcome::Overtaken);
                return records
                    .remove(RecordKind::Delivery, &leased)
                    .await
                    .map(drop);
            }
            SendOrderDecision::WaitUntil(until_ms) => {
                leased.value.phase = DeliveryLeaseState::Waiting;
                leased.due_ms = Some(until_ms.min(unix_ms() + ORDER_WAIT_MS));
                records.replace(RecordKind::Delivery, &leased).await?;
                self.wake_at(RecordKind::Delivery, leased.due_ms);
                return Ok(());
            }
        }
        leased.value.attempts = leased.value.attempts.saturating_add(1);
        let result = match context.callers.by_name(Some(&leased.owner)) {
            Some(caller) => self.attempt(context, &caller, &leased).await,
            None => AttemptResult::Failed("the caller is not configured".into(), None),
        };
        self.settle(records, leased, receiver, result).await
    }

    async fn attempt(
        &self,
        context: &CallbackWorkerContext,
        caller: &Caller,
        leased: &StoredRecord<Delivery>,
    ) -> AttemptResult {
        if leased.value.signed_only && caller.webhook_secrets.is_empty() {
            let error = "the caller has no webhook secret, and the event must be signed";
            return AttemptResult::Failed(error.into(), None);
        }
        let body = Bytes::from(leased.value.body.clone());
        let event = EventPost {
            url: &leased.value.url,
            headers: event_headers(
                &caller.webhook_secrets,
                &leased.key,
                unix_ms() / 1_000,
                &body,
            ),
            body,
        };
        match self.sender.post(event, &context.egress).await {
            Ok(response) if response.status.is_success() => AttemptResult::Delivered,
            Ok(response) if response.status == StatusCode::GONE => {
                AttemptResult::Gone("the receiver responded 410".into())
            }
            Ok(response) => AttemptResult::Failed(
                format!("the receiver responded {}", response.status.as_u16()),
                response.retry_after,
            ),
            Err(error) => AttemptResult::Failed(error.to_string(), None),
        }
    }

    async fn settle(
        &self,
        records: &CallbackRecordStore,
        mut sent: StoredRecord<Delivery>,
        receiver: &str,
        result: AttemptResult,
    ) -> Result<(), StoreUnavailable> {
        let now_ms = unix_ms();
        let (error, delay) = match result {
            AttemptResult::Delivered => {
                self.log(&sent, receiver, DeliveryOutcome::Delivered, None, None);
                let removed = records.remove(RecordKind::Delivery, &sent).await;
                return removed.map(drop);
            }
            AttemptResult::Gone(error) => (error, None),
            AttemptResult::Failed(error, retry_after) => {
                let delay = retry_delay(sent.value.attempts, retry_after, (self.random)());
                (error, delay)
            }
        };
        let due_ms = delay.map(|delay| now_ms.saturating_add(whole_ms(delay)));
        sent.value.phase = DeliveryLeaseState::Waiting;
        sent.due_ms = due_ms.filter(|due_ms| *due_ms < sent.expires_ms);
        if sent.due_ms.is_none() {
            self.log(&sent, receiver, DeliveryOutcome::Dead, Some(&error), None);
            sent.value.last_error = Some(error);
            return self.store_dead_letter(records, &sent).await;
        }
        let outcome = DeliveryOutcome::Retried;
        self.log(&sent, receiver, outcome, Some(&error), delay);
        sent.value.last_error = Some(error);
        records.replace(RecordKind::Delivery, &sent).await?;
        self.wake_at(RecordKind::Delivery, sent.due_ms);
        Ok(())
    }

    /// Makes a dead letter of an event that no permit was free for until it is about to expire.
    pub(super) async fn give_up(
        &self,
        records: &CallbackRecordStore,
        mut waiting: StoredRecord<Delivery>,
        receiver: &str,
    ) -> Result<(), StoreUnavailable> {
        let error = "no attempt was possible within a week";
        self.log(&waiting, receiver, DeliveryOutcome::Dead, Some(error), None);
        waiting.value.phase = DeliveryLeaseState::Waiting;
        waiting.value.last_error = Some(error.into());
        self.store_dead_letter(records, &waiting).await
    }

    /// The dead letter is stored before the delivery is removed, so that neither is lost if the process dies in between.
    async fn store_dead_letter(
        &self,
        records: &CallbackRecordStore,
        sent: &StoredRecord<Delivery>,
    ) -> Result<(), StoreUnavailable> {
        let is_kept = records
            .store_dead_letter(&sent.key, &sent.owner, &sent.value)
            .await?;
        if !is_kept {
            self.queue.counters().count(DeliveryOutcome::Lost);
            tracing::error!(
                event_id = &*sent.key,
                caller = &*sent.owner,
                "event lost: the caller has too many dead letters"
            );
        }
        records.remove(RecordKind::Delivery, sent).await.map(drop)
    }

    fn log(
        &self,
        sent: &StoredRecord<Delivery>,
        receiver: &str,
        outcome: DeliveryOutcome,
        error: Option<&str>,
        delay: Option<Duration>,
    ) {
        let counters = self.queue.counters();
        counters.count(outcome);
        match error {
            None => counters.receiver_accepted(receiver),
            Some(error) => counters.receiver_failed(receiver, &sent.owner, error),
        }
        tracing::info!(
            event_id = &*sent.key,
            caller = &*sent.owner,
            receiver,
            task_status = sent.value.state.name(),
            attempt = sent.value.attempts,
            outcome = outcome.name(),
            error,
            next_attempt_ms = delay.map(|delay| delay.as_millis() as u64),
            "callback"
        );
    }
}

/// At most two events are stored for a task: that it runs, and that it has ended. The first is not sent once the
/// subscription has the second's state, and the second not while the first is being sent.
pub(super) async fn decide_order(
    records: &CallbackRecordStore,
    leased: &StoredRecord<Delivery>,
) -> Result<SendOrderDecision, StoreUnavailable> {
    let event = &leased.value;
    let Some(earlier) = &event.earlier else {
        let subscription = records.subscription(&event.subscription).await?;
        // A subscription that has expired leads to no event any more.
        let has_ended = subscription.is_some_and(|stored| stored.value.state.is_terminal());
        return Ok(match has_ended {
            true => SendOrderDecision::Overtaken,
            false => SendOrderDecision::Send {
                has_overtaken: false,
            },
        });
    };
    // The event proves that the task has ended, also if the process died before its subscription changed.
    let ended = records.change_subscription(&event.subscription, |stored| {
        let is_new = !stored.value.state.is_terminal();
        stored.value.state = event.state.after(stored.value.state);
        stored.due_ms = None;
        is_new
    });
    ended.await?;
    // Nor may it be redriven after the end.
    records.remove_dead_letter(earlier).await?;
    let now_ms = unix_ms();
    Ok(match records.delivery(earlier).await? {
        None => SendOrderDecision::Send {
            has_overtaken: false,
        },
        Some(earlier) => match earlier.value.phase {
            DeliveryLeaseState::Leased { until_ms } if until_ms > now_ms => {
                SendOrderDecision::WaitUntil(until_ms)
            }
            _ if records.remove(RecordKind::Delivery, &earlier).await? => SendOrderDecision::Send {
                has_overtaken: true,
            },
            _ => SendOrderDecision::WaitUntil(now_ms),
        },
    })
}
