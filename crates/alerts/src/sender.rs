//! One attempt to deliver an event, and what follows from its outcome.

use crate::event::AlertEvent;
use crate::receiver::AlertReceiver;
use bytes::Bytes;
use headgate_core::outgoing::delivery_client::{DeliveryClient, EventPost};
use headgate_core::outgoing::event_delivery::{event_headers, retry_delay};
use headgate_core::random::random_fraction;
use headgate_core::state::calendar::{unix_ms, whole_ms};
use std::time::Duration;

/// What follows from an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AlertAttemptOutcome {
    /// Nothing: the event was delivered, or is given up.
    Finished,
    /// It is tried again when it says.
    Postponed,
}

/// Sends an event once, and counts the attempt.
pub(crate) async fn attempt(
    event: &mut AlertEvent,
    receiver: &AlertReceiver,
    client: &dyn DeliveryClient,
) -> AlertAttemptOutcome {
    event.attempts = event.attempts.saturating_add(1);
    let (id, name, attempt) = (&*event.id, &*event.receiver, event.attempts);
    let (error, retry_after) = match post(event, receiver, client).await {
        Ok(()) => {
            tracing::info!(event_id = id, receiver = name, attempt, "alert delivered");
            return AlertAttemptOutcome::Finished;
        }
        Err(failed) => failed,
    };
    let Some(delay) = retry_delay(attempt, retry_after, random_fraction()) else {
        tracing::error!(
            event_id = id,
            receiver = name,
            error,
            "alert lost: no attempt succeeded within a day"
        );
        return AlertAttemptOutcome::Finished;
    };
    tracing::warn!(
        event_id = id,
        receiver = name,
        error,
        attempt,
        next_attempt_ms = whole_ms(delay),
        "alert not delivered; trying again"
    );
    event.due_ms = unix_ms() + whole_ms(delay);
    AlertAttemptOutcome::Postponed
}

async fn post(
    event: &AlertEvent,
    receiver: &AlertReceiver,
    client: &dyn DeliveryClient,
) -> Result<(), (String, Option<Duration>)> {
    let body = Bytes::from(event.body.clone());
    let post = EventPost {
        url: &receiver.url,
        headers: event_headers(
            receiver.secret.as_slice(),
            &event.id,
            unix_ms() / 1_000,
            &body,
        ),
        body,
    };
    match client.post(post, &receiver.egress).await {
        Ok(response) if response.status.is_success() => Ok(()),
        Ok(response) => {
            let status = response.status.as_u16();
            Err((
                format!("the receiver responded {status}"),
                response.retry_after,
            ))
        }
        Err(error) => Err((error.to_string(), None)),
    }
}
