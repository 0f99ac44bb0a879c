//! Budgets in money in the state file: what is used and reserved of each, and which reservations are not settled.

use super::run_table;
use headgate_core::state::admission::{AdmissionLimit, CounterKey};
use headgate_core::state::calendar::{DAY_MS, period};
use headgate_core::state::money::{MoneyReservation, RESERVATION_KEPT_MS};
use headgate_core::state::run::{RunDemand, RunRefusal};
use rusqlite::{Connection, OptionalExtension, params};
use std::sync::Arc;

/// `money_used` has amounts with what is reserved of them. A negative amount in `money_reserved` is that of an admission that
/// was cancelled before it was recorded.
pub const MONEY_TABLES: &str = "
    CREATE TABLE IF NOT EXISTS money_used (
        caller TEXT NOT NULL, model TEXT NOT NULL, measure TEXT NOT NULL, since_ms INTEGER NOT NULL,
        nanos INTEGER NOT NULL,
        PRIMARY KEY (caller, model, measure, since_ms)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS money_reserved (
        id TEXT NOT NULL PRIMARY KEY, nanos INTEGER NOT NULL, taken_ms INTEGER NOT NULL
    ) WITHOUT ROWID;";
/// How long budgets of past days and months are kept.
const USED_KEPT_MS: u64 = 70 * DAY_MS;
const CANCELLED: i64 = -1;

/// What a request needs of budgets in money, and of its run.
pub struct MoneyDemand {
    pub limits: Vec<AdmissionLimit>,
    pub id: Arc<str>,
    pub cost: u64,
    pub run: Option<RunDemand>,
    pub now_ms: u64,
}

/// What the file has decided.
pub struct MoneyDecision {
    /// What is used of each limit after the decision, in the order of the demand.
    pub used: Vec<u64>,
    /// The index of the limit that refuses, and the time until it resets, in milliseconds; nothing is then reserved.
    pub refused: Option<(usize, u64)>,
    /// The refusal of the run; nothing is then reserved.
    pub run_refused: Option<RunRefusal>,
}

impl MoneyDecision {
    /// Whether the request was charged.
    pub fn is_granted(&self) -> bool {
        self.refused.is_none() && self.run_refused.is_none()
    }

    fn refusal(used: Vec<u64>, refused: Option<(usize, u64)>) -> Self {
        Self {
            used,
            refused,
            run_refused: None,
        }
    }
}

/// Reserves what `demand` needs of all its limits and of its run, or nothing.
pub fn admit(file: &Connection, demand: &MoneyDemand) -> rusqlite::Result<MoneyDecision> {
    let mut used = Vec::with_capacity(demand.limits.len());
    let mut refused: Option<(usize, u64)> = None;
    for (index, limit) in demand.limits.iter().enumerate() {
        let (since, next) = period(limit.measure(), demand.now_ms);
        let amount = find_used(file, &limit.counter, since)?;
        let wait = next.saturating_sub(demand.now_ms);
        let is_longest = refused.is_none_or(|(_, longest)| wait > longest);
        // What costs nothing is admitted also when a budget is used up.
        let is_over = demand.cost > 0 && amount.saturating_add(demand.cost) > limit.most;
        if is_over && is_longest {
            refused = Some((index, wait));
        }
        used.push(amount);
    }
    if refused.is_some() {
        return Ok(MoneyDecision::refusal(used, refused));
    }
    let mut run_usage = None;
    if let Some(run) = &demand.run {
        match run_table::refuse(file, run, demand.now_ms)? {
            Ok(usage) => run_usage = Some(usage),
            Err(refusal) => {
                return Ok(MoneyDecision {
                    run_refused: Some(refusal),
                    ..MoneyDecision::refusal(used, None)
                });
            }
        }
    }
    if demand.cost > 0 && !reserve(file, demand, &mut used)? {
        // Its cancellation was recorded first.
        return Ok(MoneyDecision::refusal(used, Some((0, 0))));
    }
    if let (Some(run), Some(usage)) = (&demand.run, run_usage) {
        run_table::charge(file, run, usage)?;
    }
    Ok(MoneyDecision::refusal(used, None))
}

/// Reserves money of all limits; `false` if the reservation was cancelled before.
fn reserve(file: &Connection, demand: &MoneyDemand, used: &mut [u64]) -> rusqlite::Result<bool> {
    let mut reserve = file.prepare(
        "INSERT OR IGNORE INTO money_reserved (id, nanos, taken_ms) VALUES (?1, ?2, ?3)",
    )?;
    let cost = demand.cost.cast_signed();
    if reserve.execute(params![&*demand.id, cost, demand.now_ms.cast_signed()])? == 0 {
        return Ok(false);
    }
    for (limit, used) in demand.limits.iter().zip(used) {
        let (since, _) = period(limit.measure(), demand.now_ms);
        add(file, &limit.counter, since, cost)?;
        *used = used.saturating_add(demand.cost);
    }
    Ok(true)
}

/// Corrects what was reserved to `cost`; changes nothing if it was settled before.
pub fn settle(file: &Connection, reserved: &MoneyReservation, cost: u64) -> rusqlite::Result<bool> {
    let mut remove =
        file.prepare("DELETE FROM money_reserved WHERE id = ?1 AND nanos >= 0 RETURNING nanos")?;
    let amount = remove.query_row([&*reserved.id], |row| row.get::<_, i64>(0));
    let Some(amount) = amount.optional()? else {
        return Ok(false);
    };
    for counter in &reserved.counters {
        let (since, _) = period(counter.measure(), reserved.taken_ms);
        add(file, counter, since, cost.cast_signed() - amount)?;
    }
    if let Some(run) = &reserved.run {
        let amounts = (amount.cast_unsigned(), cost);
        run_table::settle_cost(file, run, reserved.taken_ms, amounts)?;
    }
    Ok(true)
}

/// Takes back a reservation, or refuses it if it comes later.
pub fn cancel(file: &Connection, reserved: &MoneyReservation) -> rusqlite::Result<()> {
    if !settle(file, reserved, 0)? {
        let taken_ms = reserved.taken_ms.cast_signed();
        file.execute(
            "INSERT OR IGNORE INTO money_reserved (id, nanos, taken_ms) VALUES (?1, ?2, ?3)",
            params![&*reserved.id, CANCELLED, taken_ms],
        )?;
    }
    Ok(())
}

/// Removes what is not needed any more: budgets of past periods, and old reservations, which count as they were reserved.
pub fn prune(file: &Connection, now_ms: u64) -> rusqlite::Result<()> {
    file.execute(
        "DELETE FROM money_used WHERE since_ms > 0 AND since_ms < ?1",
        [now_ms.saturating_sub(USED_KEPT_MS).cast_signed()],
    )?;
    file.execute(
        "DELETE FROM money_reserved WHERE taken_ms < ?1",
        [now_ms.saturating_sub(RESERVATION_KEPT_MS).cast_signed()],
    )?;
    Ok(())
}

/// What is used and reserved of a budget in the period that began at `since`.
pub fn find_used(file: &Connection, counter: &CounterKey, since: u64) -> rusqlite::Result<u64> {
    let mut find = file.prepare(
        "SELECT nanos FROM money_used WHERE caller = ?1 AND model = ?2 AND measure = ?3 AND since_ms = ?4",
    )?;
    let key = params![
        &**counter.caller(),
        counter.model().map_or("", |model| model),
        counter.measure().name(),
        since.cast_signed()
    ];
    let used = find.query_row(key, |row| row.get::<_, i64>(0)).optional()?;
    Ok(used.unwrap_or(0).max(0).cast_unsigned())
}

fn add(file: &Connection, counter: &CounterKey, since: u64, nanos: i64) -> rusqlite::Result<()> {
    let mut add = file.prepare(
        "INSERT INTO money_used (caller, model, measure, since_ms, nanos) VALUES (?1, ?2, ?3, ?4, MAX(0, ?5))
         ON CONFLICT DO UPDATE SET nanos = MAX(0, nanos + ?5)",
    )?;
    add.execute(params![
        &**counter.caller(),
        counter.model().map_or("", |model| model),
        counter.measure().name(),
        since.cast_signed(),
        nanos
    ])?;
    Ok(())
}
