//! Settles the cost of a task that has ended.

use super::{TaskCostAccounts, TaskCostReservation};
use crate::polls::EndedTask;
use headgate_core::catalog::price::Cost;
use headgate_core::state::records::{Record, RecordKind};
use headgate_core::state::{StateStore, StoreUnavailable};
use std::sync::Arc;

/// Settles what a task has reserved of its caller's budgets, and counts by how much its cost differs from what its create
/// reserved, unless any gateway has done so. If the future is dropped after the record was read, the settlement continues;
/// [`TaskCostChanges::until_settled`](super::TaskCostChanges::until_settled) waits for it.
///
/// # Errors
/// The store is unreachable. It may have removed the reservation; then the task costs what was reserved.
pub async fn settle(
    state: &Arc<dyn StateStore>,
    accounts: &TaskCostAccounts,
    ended: &EndedTask,
) -> Result<(), StoreUnavailable> {
    let found = state.records().get(RecordKind::TaskCost, &ended.key);
    let Some(record) = found.get().await? else {
        return Ok(());
    };
    let Ok(reservation) = serde_json::from_slice::<TaskCostReservation>(&record.content.value)
    else {
        // A later version of the program may read it.
        return Ok(());
    };
    let running = accounts.changes.begin_settlement().await;
    let (state, accounts, ended) = (state.clone(), accounts.clone(), ended.clone());
    // Once the record is removed, nobody else counts the difference.
    let settling = tokio::spawn(async move {
        let _running = running;
        remove_and_count(&*state, &accounts, &ended, &record, &reservation).await
    });
    let settled = settling.await;
    settled.unwrap_or_else(|_| Err(StoreUnavailable("the settlement was aborted".into())))
}

async fn remove_and_count(
    state: &dyn StateStore,
    accounts: &TaskCostAccounts,
    ended: &EndedTask,
    record: &Record,
    reservation: &TaskCostReservation,
) -> Result<(), StoreUnavailable> {
    let cost = reservation.settled(&ended.charge);
    // Before the record goes, and once: a reservation of money is settled by whoever is first.
    let TaskCostReservation {
        money,
        channel_money,
        ..
    } = reservation;
    for reserved in money.iter().chain(channel_money) {
        state.settle_money(reserved.clone(), cost.0);
    }
    let records = state.records();
    let removed = records.remove(RecordKind::TaskCost, &ended.key, record.version);
    if !removed.get().await? {
        return Ok(());
    }
    let reserved = Cost(reservation.price.reserved);
    let owner = &record.content.owner;
    accounts.changes.add(owner, reservation, cost);
    for reserved in money.iter().chain(channel_money) {
        accounts.levels.correct(reserved, cost.0);
    }
    let TaskCostReservation {
        task_id,
        channel,
        model,
        currency,
        ..
    } = reservation;
    tracing::info!(
        task_id,
        caller = &**owner,
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
