//! One attempt to deliver an event, and what follows from its outcome.

use crate::receiver::AlertReceiver;
use crate::records::LeasedAlert;
use bytes::Bytes;
use headgate_core::outgoing::delivery_client::{DeliveryClient, EventPost};
use headgate_core::outgoing::event_delivery::{event_headers, retry_delay};
use headgate_core::random::random_fraction;
use headgate_core::state::calendar::{unix_ms, whole_ms};
use headgate_core::state::{StateStore, StoreUnavailable};
use std::sync::Arc;
use std::time::Duration;

/// Sends an event, and removes it or has it tried again.
pub(crate) async fn deliver(
    mut leased: LeasedAlert,
    receiver: Option<Arc<AlertReceiver>>,
    client: Arc<dyn DeliveryClient>,
    state: Arc<dyn StateStore>,
) -> Option<u64> {
    let Some(receiver) = receiver else {
        tracing::info!(
            receiver = leased.receiver,
            "alert dropped: its receiver is not configured"
        );
        log_failure(leased.remove(state.records()).await);
        return None;
    };
    leased.alert.attempts = leased.alert.attempts.saturating_add(1);
    let (id, name) = (leased.id.clone(), leased.receiver.clone());
    let (error, retry_after) = match attempt(&leased, &receiver, &*client).await {
        Ok(()) => {
            tracing::info!(
                event_id = id,
                receiver = name,
                attempt = leased.alert.attempts,
                "alert delivered"
            );
            log_failure(leased.remove(state.records()).await);
            return None;
        }
        Err(failed) => failed,
    };
    let Some(delay) = retry_delay(leased.alert.attempts, retry_after, random_fraction()) else {
        tracing::error!(
            event_id = id,
            receiver = name,
            error,
            "alert lost: no attempt succeeded within a day"
        );
        log_failure(leased.remove(state.records()).await);
        return None;
    };
    tracing::warn!(
        event_id = id,
        receiver = name,
        error,
        attempt = leased.alert.attempts,
        next_attempt_ms = whole_ms(delay),
        "alert not delivered; trying again"
    );
    let due_ms = unix_ms() + whole_ms(delay);
    log_failure(leased.postpone(state.records(), due_ms).await);
    Some(due_ms)
}

async fn attempt(
    leased: &LeasedAlert,
    receiver: &AlertReceiver,
    client: &dyn DeliveryClient,
) -> Result<(), (String, Option<Duration>)> {
    let body = Bytes::from(leased.alert.body.clone());
    let event = EventPost {
        url: &receiver.url,
        headers: event_headers(
            receiver.secret.as_slice(),
            &leased.id,
            unix_ms() / 1_000,
            &body,
        ),
        body,
    };
    match client.post(event, &receiver.egress).await {
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

fn log_failure(stored: Result<(), StoreUnavailable>) {
    if let Err(error) = stored {
        tracing::warn!(%error, "cannot store the outcome of an alert");
    }
}
