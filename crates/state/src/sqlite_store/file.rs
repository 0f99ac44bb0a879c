//! The SQLite file: its tables, and how they are written and read.

use super::money_table::{self, MONEY_TABLES};
use super::new_file::{create, rename_corrupt_file};
use super::run_table::{self, RUN_TABLES};
use bytes::Bytes;
use headgate_core::state::admission::{CounterKey, LimitKind};
use headgate_core::state::calendar::{DAY_MS, period, whole_ms};
use headgate_core::state::money::MoneyReservation;
use headgate_core::state::note_cache::NOTE_KEPT;
use headgate_core::state::run::{RunCallEnd, RunTicket};
use rusqlite::{
    Connection, ErrorCode, OptionalExtension, Transaction, TransactionBehavior, params,
};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The value of the file's `user_version`; a file with a higher one was written by a newer Headgate.
const VERSION: i64 = 1;
/// How long a write waits for another process, such as the old one of an upgrade, which locks the file only briefly.
const BUSY_WAIT: Duration = Duration::from_secs(5);
/// The maximum number of rows that one pruning step removes, so that writes do not wait long for it.
const PRUNED_AT_ONCE: usize = 1000;
/// How long budgets of past months are kept: a request that began last month may still be settled.
const BUDGET_KEPT_MS: u64 = 70 * DAY_MS;

/// The maximum number of notes, of a few KiB each.
const NOTES_MAX: i64 = 100_000;

/// Ids are looked up by caller, and pruned by their last use.
const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS made (
        caller TEXT NOT NULL, id TEXT NOT NULL, channel TEXT NOT NULL, used_ms INTEGER NOT NULL,
        PRIMARY KEY (caller, id)
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS made_by_use ON made (used_ms);
    CREATE TABLE IF NOT EXISTS spent (
        caller TEXT NOT NULL, model TEXT NOT NULL, measure TEXT NOT NULL, since_ms INTEGER NOT NULL,
        tokens INTEGER NOT NULL,
        PRIMARY KEY (caller, model, measure, since_ms)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS noted (key TEXT PRIMARY KEY, text BLOB NOT NULL, noted_ms INTEGER NOT NULL);
    CREATE INDEX IF NOT EXISTS noted_by_time ON noted (noted_ms);";
/// Whether an id of a channel belongs to another caller is looked up by the id.
const ID_INDEX: &str = "CREATE INDEX IF NOT EXISTS made_by_id ON made (id)";

/// An open state file.
pub struct StateDatabase {
    connection: Connection,
}

/// A write to the state file.
#[derive(Clone, Debug)]
pub enum StateFileWrite {
    /// `channel` created `id` for `caller`.
    Remember {
        caller: Arc<str>,
        id: Box<str>,
        channel: Arc<str>,
    },
    /// `caller` used `id`.
    Touch { caller: Arc<str>, id: Box<str> },
    /// `caller` deleted `id`.
    Forget { caller: Arc<str>, id: Box<str> },
    /// Adds tokens to a budget, in the period that began at `since`, or takes some back.
    AddTokens {
        counter: CounterKey,
        since: u64,
        tokens: i64,
    },
    /// Corrects what was reserved of budgets in money, unless it is settled.
    SettleMoney {
        reserved: MoneyReservation,
        cost: u64,
    },
    /// Takes back what may have been reserved of budgets in money, and what may still be: nobody awaited it.
    CancelMoney { reserved: MoneyReservation },
    /// Ends a call of a run.
    EndRunCall { end: Box<RunCallEnd> },
    /// Takes back a call of a run that was charged, and not sent.
    CancelRunCall { ticket: RunTicket },
    /// Stores a text under a key.
    PutNote { key: Box<str>, text: Bytes },
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateFileError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Sqlite(#[from] rusqlite::Error),
    #[error("the file was written by a newer version of headgate")]
    Newer,
}

/// What a batch of writes has led to.
#[derive(Default)]
pub struct WriteResult {
    /// The new totals of the budgets that were written.
    pub totals: Vec<BudgetTotalAfterWrite>,
    /// The indices of ids that were not recorded, as they belong to another caller.
    pub refused: Vec<usize>,
}

/// The total of a budget in the file, from all processes that write to it.
pub struct BudgetTotalAfterWrite {
    pub counter: CounterKey,
    pub since: u64,
    pub tokens: u64,
    /// The tokens that this write added.
    pub added: i64,
}

impl StateDatabase {
    /// Opens the file, and creates it if it does not exist. A file that is not a valid database is renamed first.
    ///
    /// # Errors
    /// The file cannot be created or used.
    pub fn open(path: &Path) -> Result<Self, StateFileError> {
        create(path)?;
        match Self::open_sound(path) {
            Err(StateFileError::Sqlite(error)) if is_broken(&error) => {
                let renamed = rename_corrupt_file(path)?;
                tracing::error!(
                    file = %path.display(), renamed_to = %renamed.display(), %error,
                    "corrupt state file renamed; started a new one"
                );
                create(path)?;
                Self::open_sound(path)
            }
            opened => opened,
        }
    }

    /// # Errors
    /// The file is not a valid database, or cannot be written.
    pub fn check(path: &Path) -> Result<(), StateFileError> {
        Self::open_sound(path).map(drop)
    }

    /// Writes all of `writes` in one transaction.
    ///
    /// # Errors
    /// The disk is full, the file is corrupt, or another process locks it for too long.
    pub fn write(
        &mut self,
        writes: &[StateFileWrite],
        now_ms: u64,
    ) -> rusqlite::Result<WriteResult> {
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let result = write_all(&transaction, writes, now_ms)?;
        transaction.commit()?;
        Ok(result)
    }

    /// The channel that created `id` for `caller`.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn find_channel(&self, caller: &str, id: &str) -> rusqlite::Result<Option<Arc<str>>> {
        let mut statement = self
            .connection
            .prepare("SELECT channel FROM made WHERE caller = ?1 AND id = ?2")?;
        let channel = statement.query_row(params![caller, id], |row| row.get::<_, String>(0));
        Ok(channel.optional()?.map(Arc::from))
    }

    /// Whether `id`, of `channel` or of any, belongs to another caller than `caller`.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn find_other_owner(
        &self,
        caller: &str,
        id: &str,
        channel: Option<&str>,
    ) -> rusqlite::Result<Option<()>> {
        let mut statement = self.connection.prepare(
            "SELECT 1 FROM made WHERE id = ?2 AND coalesce(channel = ?3, 1) AND caller <> ?1 LIMIT 1",
        )?;
        let other = statement.query_row(params![caller, id, channel], |_| Ok(()));
        other.optional()
    }

    /// The last text that was stored under `key`.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn get_note(&self, key: &str) -> rusqlite::Result<Option<Bytes>> {
        let mut statement = self
            .connection
            .prepare("SELECT text FROM noted WHERE key = ?1")?;
        let text = statement.query_row(params![key], |row| row.get::<_, Vec<u8>>(0));
        Ok(text.optional()?.map(Bytes::from))
    }

    /// The tokens used of the budgets of this day and this month.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn budgets(&self, now_ms: u64) -> rusqlite::Result<Vec<(CounterKey, u64, u64)>> {
        let mut found = Vec::new();
        for measure in LimitKind::ALL
            .into_iter()
            .filter(|measure| measure.is_budget())
        {
            let since = period(measure, now_ms).0;
            let mut statement = self.connection.prepare(
                "SELECT caller, model, tokens FROM spent WHERE measure = ?1 AND since_ms = ?2",
            )?;
            let rows =
                statement.query_map(params![measure.name(), since.cast_signed()], |row| {
                    let model: String = row.get(1)?;
                    let caller = row.get::<_, String>(0)?.into();
                    let model = (!model.is_empty()).then(|| model.into());
                    let counter = CounterKey::new(caller, model, measure);
                    Ok((counter, since, row.get::<_, i64>(2)?.cast_unsigned()))
                })?;
            for row in rows {
                found.push(row?);
            }
        }
        Ok(found)
    }

    /// Removes one step's worth of ids that were not used since `before_ms`, and of the least recently used ids if
    /// there are more than `most`. Returns true if there may be more to remove.
    ///
    /// # Errors
    /// The same as for [`StateDatabase::write`].
    pub fn prune(&mut self, before_ms: u64, most: usize, now_ms: u64) -> rusqlite::Result<bool> {
        let count: i64 = self
            .connection
            .query_row("SELECT count(*) FROM made", [], |row| row.get(0))?;
        let surplus = usize::try_from(count).unwrap_or(0).saturating_sub(most);
        let oldest = "DELETE FROM made WHERE (caller, id) IN
            (SELECT caller, id FROM made WHERE used_ms < ?1 ORDER BY used_ms LIMIT ?2)";
        let limit = PRUNED_AT_ONCE.cast_signed();
        let expired = self
            .connection
            .execute(oldest, params![before_ms.cast_signed(), limit])?;
        let crowded = match surplus.saturating_sub(expired).min(PRUNED_AT_ONCE) {
            0 => 0,
            surplus => self
                .connection
                .execute(oldest, params![i64::MAX, surplus.cast_signed()])?,
        };
        self.connection.execute(
            "DELETE FROM spent WHERE since_ms < ?1",
            params![now_ms.saturating_sub(BUDGET_KEPT_MS).cast_signed()],
        )?;
        money_table::prune(&self.connection, now_ms)?;
        let runs = run_table::prune(&self.connection, now_ms, PRUNED_AT_ONCE)?;
        let noted = self.prune_notes(now_ms)?;
        Ok([expired, crowded, noted, runs].contains(&PRUNED_AT_ONCE))
    }

    /// Removes one step's worth of notes that are too old or too many; returns how many.
    fn prune_notes(&mut self, now_ms: u64) -> rusqlite::Result<usize> {
        let kept_ms = whole_ms(NOTE_KEPT);
        let newest = "SELECT noted_ms FROM noted ORDER BY noted_ms DESC LIMIT 1 OFFSET ?1";
        let crowd = self
            .connection
            .query_row(newest, params![NOTES_MAX], |row| row.get::<_, i64>(0));
        let crowd = crowd.optional()?.unwrap_or(i64::MIN);
        let before_ms = now_ms.saturating_sub(kept_ms).cast_signed().max(crowd);
        self.connection.execute(
            "DELETE FROM noted WHERE rowid IN (SELECT rowid FROM noted WHERE noted_ms < ?1 LIMIT ?2)",
            params![before_ms, PRUNED_AT_ONCE.cast_signed()],
        )
    }

    fn open_sound(path: &Path) -> Result<Self, StateFileError> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(BUSY_WAIT)?;
        // With WAL a commit is in the file when it returns; only a crash of the machine can lose the last commits.
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "normal")?;
        let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        if version > VERSION {
            return Err(StateFileError::Newer);
        }
        // Nothing is written to a file of this version, so that commands can read it on a full disk.
        let set_version = match version < VERSION {
            true => format!("PRAGMA user_version = {VERSION};"),
            false => String::new(),
        };
        connection.execute_batch(&format!("BEGIN IMMEDIATE; {TABLES} {set_version} COMMIT;"))?;
        // Without the index, which an earlier version did not create and a full disk does not hold, lookups are only slower.
        let _ = connection.execute_batch(ID_INDEX);
        // Without these tables no money can be spent.
        let _ = connection.execute_batch(MONEY_TABLES);
        // Nor can a request belong to a run without these.
        let _ = connection.execute_batch(RUN_TABLES);
        Ok(Self { connection })
    }
}

/// Whether the file is not a valid database.
pub fn is_broken(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    )
}

fn write_all(
    transaction: &Transaction<'_>,
    writes: &[StateFileWrite],
    now_ms: u64,
) -> rusqlite::Result<WriteResult> {
    let now_ms = now_ms.cast_signed();
    let mut made = transaction.prepare(
        "INSERT INTO made (caller, id, channel, used_ms) SELECT ?1, ?2, ?3, ?4
         WHERE NOT EXISTS (SELECT 1 FROM made WHERE id = ?2 AND channel = ?3 AND caller <> ?1)
         ON CONFLICT DO UPDATE SET channel = excluded.channel, used_ms = excluded.used_ms",
    )?;
    let mut used =
        transaction.prepare("UPDATE made SET used_ms = ?3 WHERE caller = ?1 AND id = ?2")?;
    let mut forgotten = transaction.prepare("DELETE FROM made WHERE caller = ?1 AND id = ?2")?;
    let mut spent = transaction.prepare(
        "INSERT INTO spent (caller, model, measure, since_ms, tokens) VALUES (?1, ?2, ?3, ?4, MAX(0, ?5))
         ON CONFLICT DO UPDATE SET tokens = MAX(0, tokens + ?5) RETURNING tokens",
    )?;
    let mut noted = transaction.prepare(
        "INSERT INTO noted (key, text, noted_ms) VALUES (?1, ?2, ?3)
         ON CONFLICT DO UPDATE SET text = excluded.text, noted_ms = excluded.noted_ms",
    )?;
    let mut result = WriteResult::default();
    for (index, write) in writes.iter().enumerate() {
        match write {
            StateFileWrite::Remember {
                caller,
                id,
                channel,
            } => {
                if made.execute(params![caller, id, channel, now_ms])? == 0 {
                    result.refused.push(index);
                }
            }
            StateFileWrite::Touch { caller, id } => {
                used.execute(params![caller, id, now_ms])?;
            }
            StateFileWrite::Forget { caller, id } => {
                forgotten.execute(params![caller, id])?;
            }
            StateFileWrite::PutNote { key, text } => {
                noted.execute(params![key, &text[..], now_ms])?;
            }
            StateFileWrite::SettleMoney { reserved, cost } => {
                money_table::settle(transaction, reserved, *cost)?;
            }
            StateFileWrite::CancelMoney { reserved } => {
                money_table::cancel(transaction, reserved)?;
            }
            StateFileWrite::EndRunCall { end } => {
                run_table::end_call(transaction, end, now_ms.cast_unsigned())?;
            }
            StateFileWrite::CancelRunCall { ticket } => {
                run_table::cancel(transaction, &ticket.key, ticket.taken_ms, ticket.tokens)?;
            }
            StateFileWrite::AddTokens {
                counter,
                since,
                tokens,
            } => {
                let model = counter.model().map_or("", |model| model);
                let total: i64 = spent.query_row(
                    params![
                        &**counter.caller(),
                        model,
                        counter.measure().name(),
                        since.cast_signed(),
                        tokens
                    ],
                    |row| row.get(0),
                )?;
                result.totals.push(BudgetTotalAfterWrite {
                    counter: counter.clone(),
                    since: *since,
                    tokens: total.cast_unsigned(),
                    added: *tokens,
                });
            }
        }
    }
    Ok(result)
}
