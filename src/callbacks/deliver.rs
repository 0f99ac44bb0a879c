//! One attempt to deliver an event, and what follows from its outcome.

use super::counters::DeliveryOutcome;
use super::delivery::{Delivery, DeliveryPhase};
use super::records::{CallbackRecords, StoredRecord};
use super::sender::EventPost;
use super::worker::{CallbackContext, CallbackWorker};
use crate::catalog::caller::Caller;
use crate::state::StoreUnavailable;
use crate::state::calendar::{unix_ms, whole_ms};
use crate::state::records::RecordKind;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use std::sync::Arc;
use std::time::Duration;

const WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");
const WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const WEBHOOK_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");
/// How often an event waits for the attempt to deliver an earlier one.
const ORDER_WAIT_MS: u64 = 250;

/// The outcome of an attempt.
enum AttemptResult {
    Delivered,
    /// The receiver does not want the event.
    Gone(String),
    Failed(String, Option<Duration>),
}

/// What to do with an event before it is sent.
enum OrderDecision {
    Send,
    /// A later state is known.
    Overtaken,
    /// An earlier event is being sent.
    Wait,
}

impl CallbackWorker {
    /// Sends a leased event.
    pub(super) async fn deliver(
        &self,
        context: &CallbackContext,
        records: &CallbackRecords,
        mut leased: StoredRecord<Delivery>,
        receiver: &str,
    ) -> Result<(), StoreUnavailable> {
        match order_of(records, &leased).await? {
            OrderDecision::Send => {}
            OrderDecision::Overtaken => {
                self.queue.counters().count(DeliveryOutcome::Overtaken);
                return records
                    .remove(RecordKind::Delivery, &leased)
                    .await
                    .map(drop);
            }
            OrderDecision::Wait => {
                leased.value.phase = DeliveryPhase::Waiting;
                leased.due_ms = Some(unix_ms() + ORDER_WAIT_MS);
                records.replace(RecordKind::Delivery, &leased).await?;
                self.wake_at(leased.due_ms);
                return Ok(());
            }
        }
        leased.value.attempts = leased.value.attempts.saturating_add(1);
        let result = match context.callers.by_name(Some(&leased.owner)) {
            Some(caller) => self.attempt(context, caller, &leased).await,
            None => AttemptResult::Gone("the caller is not configured".into()),
        };
        self.settle(records, leased, receiver, result).await
    }

    async fn attempt(
        &self,
        context: &CallbackContext,
        caller: &Caller,
        leased: &StoredRecord<Delivery>,
    ) -> AttemptResult {
        let body = Bytes::from(leased.value.body.clone());
        let event = EventPost {
            url: &leased.value.url,
            headers: headers(caller, &leased.key, unix_ms() / 1_000, &body),
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
        records: &CallbackRecords,
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
                let delay = sent.value.retry_delay(retry_after, (self.random)());
                (error, delay)
            }
        };
        let delay_ms = delay.map(whole_ms);
        sent.due_ms = delay_ms.map(|delay_ms| now_ms.saturating_add(delay_ms));
        let (phase, outcome) = match delay {
            Some(_) => (DeliveryPhase::Waiting, DeliveryOutcome::Retried),
            None => (DeliveryPhase::Dead, DeliveryOutcome::Dead),
        };
        sent.value.phase = phase;
        self.log(&sent, receiver, outcome, Some(&error), delay);
        sent.value.last_error = Some(error);
        records.replace(RecordKind::Delivery, &sent).await?;
        self.wake_at(sent.due_ms);
        Ok(())
    }

    fn log(
        &self,
        sent: &StoredRecord<Delivery>,
        receiver: &str,
        outcome: DeliveryOutcome,
        error: Option<&str>,
        delay: Option<Duration>,
    ) {
        self.queue.counters().count(outcome);
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
/// subscription has the second's state, and the second not before that, nor while the first is being sent.
async fn order_of(
    records: &CallbackRecords,
    leased: &StoredRecord<Delivery>,
) -> Result<OrderDecision, StoreUnavailable> {
    let event = &leased.value;
    let subscription = records.subscription(&event.subscription).await?;
    let has_ended = subscription.is_none_or(|stored| stored.value.state.is_terminal());
    let Some(earlier) = &event.earlier else {
        return Ok(match has_ended {
            true => OrderDecision::Overtaken,
            false => OrderDecision::Send,
        });
    };
    let earlier = records.delivery(earlier).await?;
    let is_free = match earlier {
        None => true,
        Some(earlier) => match earlier.value.phase {
            DeliveryPhase::Leased { until_ms } => until_ms <= unix_ms(),
            DeliveryPhase::Waiting => records.remove(RecordKind::Delivery, &earlier).await?,
            DeliveryPhase::Dead => true,
        },
    };
    Ok(match has_ended && is_free {
        true => OrderDecision::Send,
        false => OrderDecision::Wait,
    })
}

/// The headers of an attempt. A caller without secrets gets no signature.
fn headers(caller: &Caller, id: &Arc<str>, timestamp: u64, body: &[u8]) -> HeaderMap {
    let signatures: Vec<String> = caller
        .webhook_secrets
        .iter()
        .map(|secret| secret.sign(id, timestamp, body))
        .collect();
    let mut headers = HeaderMap::new();
    let json = HeaderValue::from_static("application/json");
    headers.insert(header::CONTENT_TYPE, json);
    headers.insert(WEBHOOK_TIMESTAMP, HeaderValue::from(timestamp));
    for (name, value) in [
        (WEBHOOK_ID, id.to_string()),
        (WEBHOOK_SIGNATURE, signatures.join(" ")),
    ] {
        if let Ok(value) = HeaderValue::from_str(&value)
            && !value.is_empty()
        {
            headers.insert(name, value);
        }
    }
    headers
}
