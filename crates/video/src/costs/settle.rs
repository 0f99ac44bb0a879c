//! Settles the cost of a task that has ended.

use super::{TaskCostChanges, TaskCostReservation};
use crate::polls::EndedTask;
use headgate_core::catalog::price::Cost;
use headgate_core::state::StoreUnavailable;
use headgate_core::state::records::{RecordKind, RecordStore};

/// Counts by how much the cost of a task differs from what its create reserved, unless any gateway has done so.
///
/// # Errors
/// The store is unreachable. It may have removed the reservation; then the task costs what was reserved.
pub async fn settle(
    records: &dyn RecordStore,
    changes: &TaskCostChanges,
    ended: &EndedTask,
) -> Result<(), StoreUnavailable> {
    let kind = RecordKind::TaskCost;
    let Some(record) = records.get(kind, &ended.key).get().await? else {
        return Ok(());
    };
    let Ok(reservation) = serde_json::from_slice::<TaskCostReservation>(&record.content.value)
    else {
        // A later version of the program may read it.
        return Ok(());
    };
    if !records
        .remove(kind, &ended.key, record.version)
        .get()
        .await?
    {
        return Ok(());
    }
    let reserved = Cost(reservation.price.reserved);
    let cost = reservation.settled(&ended.charge);
    changes.add(&record.content.owner, &reservation, cost);
    let TaskCostReservation {
        task_id,
        channel,
        model,
        currency,
        ..
    } = &reservation;
    tracing::info!(
        task_id,
        caller = &*record.content.owner,
        channel,
        model,
        task_status = ended.charge.state.name(),
        %cost,
        %reserved,
        currency,
        "cost of a task settled"
    );
    Ok(())
}
