//! Settles the cost of a task that has ended.

use super::{TaskCostAccounts, TaskCostReservation};
use crate::polls::EndedTask;
use headgate_core::catalog::price::Cost;
use headgate_core::state::records::RecordKind;
use headgate_core::state::{StateStore, StoreUnavailable};

/// Settles what a task has reserved of its caller's budgets, and counts by how much its cost differs from what its create
/// reserved, unless any gateway has done so.
///
/// # Errors
/// The store is unreachable. It may have removed the reservation; then the task costs what was reserved.
pub async fn settle(
    state: &dyn StateStore,
    accounts: &TaskCostAccounts,
    ended: &EndedTask,
) -> Result<(), StoreUnavailable> {
    let (kind, records) = (RecordKind::TaskCost, state.records());
    let Some(record) = records.get(kind, &ended.key).get().await? else {
        return Ok(());
    };
    let Ok(reservation) = serde_json::from_slice::<TaskCostReservation>(&record.content.value)
    else {
        // A later version of the program may read it.
        return Ok(());
    };
    let cost = reservation.settled(&ended.charge);
    // Before the record goes, and once: a reservation of money is settled by whoever is first.
    let TaskCostReservation {
        money,
        channel_money,
        ..
    } = &reservation;
    for reserved in money.iter().chain(channel_money) {
        state.settle_money(reserved.clone(), cost.0);
    }
    if !records
        .remove(kind, &ended.key, record.version)
        .get()
        .await?
    {
        return Ok(());
    }
    let reserved = Cost(reservation.price.reserved);
    let owner = &record.content.owner;
    accounts.changes.add(owner, &reservation, cost);
    for reserved in money.iter().chain(channel_money) {
        accounts.levels.correct(reserved, cost.0);
    }
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
