//! Runs of agents in the state file: what each has used, and its last calls.

use headgate_core::state::run::{
    RUN_CALLS_KEPT, RunCall, RunCallEnd, RunDemand, RunKey, RunRefusal,
};
use headgate_core::state::run_usage::{RunStatus, RunUsage};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::sync::Arc;
use std::time::Duration;

pub const RUN_TABLES: &str = "
    CREATE TABLE IF NOT EXISTS runs (
        caller TEXT NOT NULL, name TEXT NOT NULL, used_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL,
        usage TEXT NOT NULL,
        PRIMARY KEY (caller, name)
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS runs_by_name ON runs (name);
    CREATE INDEX IF NOT EXISTS runs_by_use ON runs (used_ms);
    CREATE TABLE IF NOT EXISTS run_calls (
        number INTEGER PRIMARY KEY AUTOINCREMENT, caller TEXT NOT NULL, name TEXT NOT NULL, call TEXT NOT NULL
    );
    CREATE INDEX IF NOT EXISTS run_calls_by_run ON run_calls (caller, name, number);";
/// How often the use of a run that refuses is written: an agent that loops costs few writes.
const REFUSAL_NOTED_MS: u64 = 1_000;

/// What the run has used, if it does not refuse the call.
pub fn refuse(
    file: &Connection,
    demand: &RunDemand,
    now_ms: u64,
) -> rusqlite::Result<Result<RunUsage, RunRefusal>> {
    let known = find(file, &demand.key)?.filter(|usage| !usage.is_expired(now_ms));
    let before = known.clone();
    let mut usage = match known {
        Some(usage) => usage,
        None => {
            if let Some(refusal) = refuse_live(file, demand, now_ms)? {
                return Ok(Err(refusal));
            }
            remove_calls(file, &demand.key)?;
            RunUsage::new(now_ms)
        }
    };
    let Some(refusal) = usage.refuse(demand, now_ms) else {
        return Ok(Ok(usage));
    };
    let is_noted = before.is_some_and(|before| {
        before.tightened == usage.tightened
            && usage.used_ms.saturating_sub(before.used_ms) < REFUSAL_NOTED_MS
    });
    if !is_noted {
        write(file, &demand.key, &usage)?;
    }
    Ok(Err(refusal))
}

/// Charges a call that was not refused to what `refuse` returned.
pub fn charge(file: &Connection, demand: &RunDemand, mut usage: RunUsage) -> rusqlite::Result<()> {
    usage.charge(demand);
    write(file, &demand.key, &usage)
}

/// Takes back a call that was charged at `taken_ms`, and not sent.
pub fn cancel(file: &Connection, key: &RunKey, taken_ms: u64, tokens: u64) -> rusqlite::Result<()> {
    change(file, key, |usage| {
        if taken_ms >= usage.started_ms {
            usage.cancel(tokens);
        }
    })
}

/// Corrects what a call has reserved of money to its cost.
pub fn settle_cost(
    file: &Connection,
    key: &RunKey,
    taken_ms: u64,
    (reserved, cost): (u64, u64),
) -> rusqlite::Result<()> {
    change(file, key, |usage| {
        usage.settle_cost(taken_ms, reserved, cost)
    })
}

/// Ends a call.
pub fn end_call(file: &Connection, end: &RunCallEnd, now_ms: u64) -> rusqlite::Result<()> {
    let RunKey { caller, name } = &end.key;
    let Some(mut usage) = find(file, &end.key)?.filter(|usage| !usage.is_expired(now_ms)) else {
        return Ok(());
    };
    if let Some(ticket) = &end.ticket
        && ticket.taken_ms >= usage.started_ms
    {
        usage.settle_tokens(ticket.tokens, end.call.tokens);
        usage.touch(now_ms);
        write(file, &end.key, &usage)?;
    }
    let call = end.call.to_text();
    file.prepare("INSERT INTO run_calls (caller, name, call) VALUES (?1, ?2, ?3)")?
        .execute(params![&**caller, &**name, call])?;
    let oldest = "SELECT number FROM run_calls WHERE caller = ?1 AND name = ?2
        ORDER BY number DESC LIMIT 1 OFFSET ?3";
    file.prepare(&format!(
        "DELETE FROM run_calls WHERE caller = ?1 AND name = ?2 AND number <= ({oldest})"
    ))?
    .execute(params![&**caller, &**name, RUN_CALLS_KEPT.cast_signed()])?;
    Ok(())
}

/// Live runs, the last used first: of this name and with their calls, or all of them without their calls.
pub fn list(
    file: &Connection,
    name: Option<&str>,
    most: usize,
    now_ms: u64,
) -> rusqlite::Result<Vec<RunStatus>> {
    let condition = match name {
        Some(_) => "name = ?1",
        None => "?1 IS NULL",
    };
    let mut select = file.prepare(&format!(
        "SELECT caller, name, usage FROM runs WHERE {condition} AND expires_ms > ?2 ORDER BY used_ms DESC LIMIT ?3"
    ))?;
    let rows = select.query_map(
        params![name, now_ms.cast_signed(), most.cast_signed()],
        |row| Ok((row_key(row)?, row.get::<_, String>(2)?)),
    )?;
    let mut found = Vec::new();
    for row in rows {
        let (key, usage) = row?;
        let Some(usage) = RunUsage::from_text(&usage) else {
            continue;
        };
        let calls = match name {
            Some(_) => calls(file, &key)?,
            None => Vec::new(),
        };
        found.push(RunStatus { key, usage, calls });
    }
    Ok(found)
}

/// Removes one step's worth of forgotten runs; returns how many.
pub fn prune(file: &Connection, now_ms: u64, most: usize) -> rusqlite::Result<usize> {
    let mut select =
        file.prepare("SELECT caller, name FROM runs WHERE expires_ms <= ?1 LIMIT ?2")?;
    let expired = select.query_map(params![now_ms.cast_signed(), most.cast_signed()], row_key)?;
    let mut removed = 0;
    for key in expired.collect::<Result<Vec<_>, _>>()? {
        remove_calls(file, &key)?;
        let RunKey { caller, name } = &key;
        // It may have been used again meanwhile.
        removed += file.execute(
            "DELETE FROM runs WHERE caller = ?1 AND name = ?2 AND expires_ms <= ?3",
            params![&**caller, &**name, now_ms.cast_signed()],
        )?;
    }
    Ok(removed)
}

/// The refusal of a further run, if the caller has as many as it may have.
fn refuse_live(
    file: &Connection,
    demand: &RunDemand,
    now_ms: u64,
) -> rusqlite::Result<Option<RunRefusal>> {
    let mut count = file.prepare(
        "SELECT count(*), min(expires_ms) FROM runs WHERE caller = ?1 AND expires_ms > ?2",
    )?;
    let key = params![&*demand.key.caller, now_ms.cast_signed()];
    let (live, first): (i64, Option<i64>) =
        count.query_row(key, |row| Ok((row.get(0)?, row.get(1)?)))?;
    let first = first.map_or(now_ms, i64::cast_unsigned);
    Ok(
        (live.cast_unsigned() >= demand.live_max).then(|| RunRefusal::Live {
            most: demand.live_max,
            retry_after: Duration::from_millis(first.saturating_sub(now_ms)),
        }),
    )
}

fn find(file: &Connection, key: &RunKey) -> rusqlite::Result<Option<RunUsage>> {
    let mut find = file.prepare("SELECT usage FROM runs WHERE caller = ?1 AND name = ?2")?;
    let usage = find.query_row(params![&*key.caller, &*key.name], |row| {
        row.get::<_, String>(0)
    });
    Ok(usage
        .optional()?
        .and_then(|text| RunUsage::from_text(&text)))
}

fn change(
    file: &Connection,
    key: &RunKey,
    change: impl FnOnce(&mut RunUsage),
) -> rusqlite::Result<()> {
    let Some(mut usage) = find(file, key)? else {
        return Ok(());
    };
    change(&mut usage);
    write(file, key, &usage)
}

fn write(file: &Connection, key: &RunKey, usage: &RunUsage) -> rusqlite::Result<()> {
    let mut write = file.prepare(
        "INSERT OR REPLACE INTO runs (caller, name, used_ms, expires_ms, usage) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    write.execute(params![
        &*key.caller,
        &*key.name,
        usage.used_ms.cast_signed(),
        usage.expires_ms.cast_signed(),
        usage.to_text()
    ])?;
    Ok(())
}

fn remove_calls(file: &Connection, key: &RunKey) -> rusqlite::Result<()> {
    file.prepare("DELETE FROM run_calls WHERE caller = ?1 AND name = ?2")?
        .execute(params![&*key.caller, &*key.name])?;
    Ok(())
}

fn calls(file: &Connection, key: &RunKey) -> rusqlite::Result<Vec<RunCall>> {
    let mut select = file.prepare(
        "SELECT call FROM run_calls WHERE caller = ?1 AND name = ?2 ORDER BY number DESC",
    )?;
    let rows = select.query_map(params![&*key.caller, &*key.name], |row| {
        row.get::<_, String>(0)
    })?;
    let texts = rows.collect::<Result<Vec<String>, _>>()?;
    Ok(texts
        .iter()
        .filter_map(|text| RunCall::from_text(text))
        .collect())
}

fn row_key(row: &Row<'_>) -> rusqlite::Result<RunKey> {
    let text = |index| row.get::<_, String>(index).map(Arc::from);
    Ok(RunKey {
        caller: text(0)?,
        name: text(1)?,
    })
}
