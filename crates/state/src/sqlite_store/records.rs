//! Records in the state file: a thread runs the operations that wait in one transaction, and responds once it is on disk.

use super::file::{StateFileError, is_broken};
use super::record_table::{SqlRecordTable, TABLE};
use headgate_core::state::clock::Clock;
use headgate_core::state::health::{StoreHealthCounters, StoreOperation};
use headgate_core::state::records::{
    InsertResult, OPERATION_TIMEOUT, Record, RecordContent, RecordCount, RecordKind, RecordStore,
};
use headgate_core::state::{StoreFuture, StoreUnavailable};
use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// The maximum number of waiting operations.
const WAITING_MAX: usize = 10_000;
/// The maximum number of operations in one transaction.
const BATCH_MAX: usize = 256;
/// How often expired records are removed.
const PRUNE_EVERY: Duration = Duration::from_secs(60);
/// The wait between two removals while there are more expired records than one removes.
const PRUNE_AGAIN: Duration = Duration::from_secs(1);
/// The maximum number of records that one pruning step removes.
const PRUNED_AT_ONCE: usize = 1000;
/// How long a transaction waits for another process that locks the file.
const BUSY_WAIT: Duration = Duration::from_secs(4);

/// Records in the state file.
pub struct SqliteRecordStore {
    operations: SyncSender<Box<dyn QueuedRecordOperation>>,
    tally: Arc<StoreHealthCounters>,
}

/// An operation that waits for the thread.
trait QueuedRecordOperation: Send {
    /// Whether nobody waits for the result any more; the operation is then skipped.
    fn is_abandoned(&self) -> bool;

    /// Runs within a transaction, and keeps the result.
    fn run(&mut self, table: &SqlRecordTable<'_>) -> rusqlite::Result<()>;

    /// Sends the result after the transaction was committed, or its error.
    fn respond(self: Box<Self>, committed: Result<(), &str>);
}

/// An operation with the result `T`.
struct RecordOperation<T, F, U: FnOnce(T)> {
    work: F,
    /// What undoes it if nobody gets its result.
    undo: U,
    result: Option<T>,
    responder: oneshot::Sender<Result<CommittedResult<T, U>, StoreUnavailable>>,
}

/// A result that was committed. Dropped before it is taken, it is undone.
struct CommittedResult<T, U: FnOnce(T)>(Option<(T, U)>);

impl<T, U: FnOnce(T)> Drop for CommittedResult<T, U> {
    fn drop(&mut self) {
        if let Some((result, undo)) = self.0.take() {
            undo(result);
        }
    }
}

impl SqliteRecordStore {
    /// Opens the file a further time, and starts the thread, which ends when the store is dropped.
    ///
    /// # Errors
    /// The file cannot be used, or no thread can be started.
    pub fn open(
        path: &Path,
        clock: Clock,
        tally: Arc<StoreHealthCounters>,
    ) -> Result<Self, StateFileError> {
        let connection = connect(path)?;
        let (operations, waiting) = sync_channel(WAITING_MAX);
        let path = path.to_path_buf();
        thread::Builder::new()
            .name("state-records".into())
            .spawn(move || serve(connection, &path, &waiting, &clock))?;
        Ok(Self { operations, tally })
    }

    /// Runs an operation in a transaction of the thread.
    pub fn run<'a, T: Send + 'static>(
        &'a self,
        work: impl FnMut(&SqlRecordTable<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> StoreFuture<'a, T> {
        self.run_or_undo(work, drop)
    }

    /// As [`Self::run`]; `undo` gets the result of an operation that was committed although nobody awaits it any more.
    pub fn run_or_undo<'a, T: Send + 'static>(
        &'a self,
        work: impl FnMut(&SqlRecordTable<'_>) -> rusqlite::Result<T> + Send + 'static,
        undo: impl FnOnce(T) + Send + 'static,
    ) -> StoreFuture<'a, T> {
        let (responder, response) = oneshot::channel();
        let operation = Box::new(RecordOperation {
            work,
            undo,
            result: None,
            responder,
        });
        StoreFuture::Later(Box::pin(async move {
            let done = match self.operations.try_send(operation) {
                Ok(()) => tokio::time::timeout(OPERATION_TIMEOUT, response).await,
                Err(_) => return Err(self.failed("too many operations wait for the state file")),
            };
            match done {
                Ok(Ok(Ok(mut committed))) => match committed.0.take() {
                    Some((result, _)) => Ok(result),
                    None => Err(self.failed("the operation has no result")),
                },
                Ok(Ok(Err(StoreUnavailable(reason)))) => Err(self.failed(&reason)),
                Ok(Err(_)) => Err(self.failed("the records thread of the state file has stopped")),
                Err(_) => Err(self.failed("timeout of the state file")),
            }
        }))
    }

    fn failed(&self, reason: &str) -> StoreUnavailable {
        self.tally.failed(StoreOperation::Record);
        StoreUnavailable(reason.into())
    }
}

impl RecordStore for SqliteRecordStore {
    fn is_durable(&self) -> bool {
        true
    }

    fn insert<'a>(
        &'a self,
        kind: RecordKind,
        key: &'a str,
        content: RecordContent,
        owner_max: u32,
    ) -> StoreFuture<'a, InsertResult> {
        let key = key.to_string();
        self.run(move |table| table.insert(kind, &key, &content, owner_max))
    }

    fn replace<'a>(
        &'a self,
        kind: RecordKind,
        key: &'a str,
        version: u64,
        content: RecordContent,
    ) -> StoreFuture<'a, Option<u64>> {
        let key = key.to_string();
        self.run(move |table| table.replace(kind, &key, version, &content))
    }

    fn remove<'a>(&'a self, kind: RecordKind, key: &'a str, version: u64) -> StoreFuture<'a, bool> {
        let key = key.to_string();
        self.run(move |table| table.remove(kind, &key, version))
    }

    fn get<'a>(&'a self, kind: RecordKind, key: &'a str) -> StoreFuture<'a, Option<Record>> {
        let key = key.to_string();
        self.run(move |table| table.get(kind, &key))
    }

    fn due(&self, kind: RecordKind, now_ms: u64, limit: usize) -> StoreFuture<'_, Vec<Record>> {
        self.run(move |table| table.due(kind, now_ms, limit))
    }

    fn count(&self, kind: RecordKind) -> StoreFuture<'_, RecordCount> {
        self.run(move |table| table.count(kind))
    }

    fn list<'a>(
        &'a self,
        kind: RecordKind,
        after: &'a str,
        limit: usize,
    ) -> StoreFuture<'a, Vec<Record>> {
        let after = after.to_string();
        self.run(move |table| table.list(kind, &after, limit))
    }
}

impl<T, F, U> QueuedRecordOperation for RecordOperation<T, F, U>
where
    T: Send,
    U: FnOnce(T) + Send,
    F: FnMut(&SqlRecordTable<'_>) -> rusqlite::Result<T> + Send,
{
    fn is_abandoned(&self) -> bool {
        self.responder.is_closed()
    }

    fn run(&mut self, table: &SqlRecordTable<'_>) -> rusqlite::Result<()> {
        self.result = Some((self.work)(table)?);
        Ok(())
    }

    fn respond(self: Box<Self>, committed: Result<(), &str>) {
        let result = match (committed, self.result) {
            (Ok(()), Some(result)) => Ok(CommittedResult(Some((result, self.undo)))),
            (Err(reason), _) => Err(StoreUnavailable(reason.into())),
            (Ok(()), None) => Err(StoreUnavailable("the operation did not run".into())),
        };
        // The receiver may have gone; its result is then dropped, and undone.
        let _ = self.responder.send(result);
    }
}

/// A connection whose commits survive a crash of the machine, unlike those of the other state.
fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_WAIT)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.execute_batch(&format!("BEGIN IMMEDIATE; {TABLE} COMMIT;"))?;
    Ok(connection)
}

fn serve(
    mut connection: Connection,
    path: &Path,
    waiting: &Receiver<Box<dyn QueuedRecordOperation>>,
    clock: &Clock,
) {
    let mut is_usable = true;
    let mut next_prune = Instant::now() + PRUNE_EVERY;
    loop {
        let until_prune = next_prune.saturating_duration_since(Instant::now());
        let first = match waiting.recv_timeout(until_prune) {
            Ok(operation) => Some(operation),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let mut batch: Vec<_> = first
            .into_iter()
            .chain(waiting.try_iter())
            .take(BATCH_MAX)
            .collect();
        batch.retain(|operation| !operation.is_abandoned());
        let prunes = next_prune <= Instant::now();
        let done = run_batch(&mut connection, &mut batch, prunes, clock);
        if prunes {
            let has_more = matches!(done, Ok(PRUNED_AT_ONCE));
            next_prune = Instant::now() + if has_more { PRUNE_AGAIN } else { PRUNE_EVERY };
        }
        if let Err(error) = &done {
            if is_usable {
                tracing::error!(file = %path.display(), %error, "cannot use the records of the state file");
            }
            if is_broken(error)
                && let Ok(reopened) = connect(path)
            {
                connection = reopened;
            }
        }
        is_usable = done.is_ok();
        match done {
            Err(error) if !concerns_all(&error) && (prunes || batch.len() > 1) => {
                run_each(&mut connection, batch, clock);
            }
            done => {
                let reason = done.err().map(|error| error.to_string());
                for operation in batch {
                    operation.respond(reason.as_deref().map_or(Ok(()), Err));
                }
            }
        }
    }
}

/// Whether an error of one operation is that of all others, too. Reads succeed on a full disk.
fn concerns_all(error: &rusqlite::Error) -> bool {
    let is_locked = matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    );
    is_locked || is_broken(error)
}

/// Runs the operations of a failed transaction in one each, so that only those fail that cannot be done.
fn run_each(
    connection: &mut Connection,
    batch: Vec<Box<dyn QueuedRecordOperation>>,
    clock: &Clock,
) {
    for mut operation in batch {
        if operation.is_abandoned() {
            continue;
        }
        let done = run_batch(
            connection,
            std::slice::from_mut(&mut operation),
            false,
            clock,
        );
        let reason = done.err().map(|error| error.to_string());
        operation.respond(reason.as_deref().map_or(Ok(()), Err));
    }
}

/// Runs all operations in one transaction, after the removal of expired records if `prunes`; returns how many of these
/// were removed.
fn run_batch(
    connection: &mut Connection,
    batch: &mut [Box<dyn QueuedRecordOperation>],
    prunes: bool,
    clock: &Clock,
) -> rusqlite::Result<usize> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let table = SqlRecordTable {
        connection: &transaction,
        now_ms: clock.now().unix_ms.cast_signed(),
    };
    let pruned = match prunes {
        true => table.prune(PRUNED_AT_ONCE)?,
        false => 0,
    };
    for operation in batch {
        operation.run(&table)?;
    }
    transaction.commit()?;
    Ok(pruned)
}
