//! Stores what a create has reserved.

use super::TaskCostReservation;
use super::poll_times::{KEPT_MS, first_poll_ms};
use headgate_core::state::StateStore;
use headgate_core::state::calendar::unix_ms;
use headgate_core::state::records::{InsertResult, RecordContent, RecordKind};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// The maximum number of a caller's reservations.
const RESERVATIONS_MAX: u32 = 100_000;
/// How long the response to a create waits for the store.
const STORE_WITHIN: Duration = Duration::from_millis(500);

/// Stores a reservation under the key of its task. If that fails, the task costs what is reserved, whatever its provider
/// reports later.
pub async fn reserve(
    state: &dyn StateStore,
    task_key: &str,
    caller: &Arc<str>,
    reservation: &TaskCostReservation,
) {
    let now_ms = unix_ms();
    let value = serde_json::to_vec(reservation).expect("texts and numbers always serialise");
    let content = RecordContent {
        value: value.into(),
        owner: caller.clone(),
        expires_ms: now_ms + KEPT_MS,
        due_ms: Some(first_poll_ms(now_ms)),
    };
    let kind = RecordKind::TaskCost;
    let inserted = state
        .records()
        .insert(kind, task_key, content, RESERVATIONS_MAX);
    let error = match timeout(STORE_WITHIN, inserted.get()).await {
        Ok(Ok(InsertResult::Inserted { .. } | InsertResult::Exists(_))) => return,
        Ok(Ok(InsertResult::OwnerFull)) => "the caller has too many unfinished tasks".to_owned(),
        Ok(Err(unavailable)) => unavailable.to_string(),
        Err(_) => "the state store did not respond in time".to_owned(),
    };
    let task_id = &*reservation.task_id;
    tracing::warn!(
        task_id,
        error,
        "the cost of a task stays as its create reserved it"
    );
}
