//! Writes behind the back of requests: a bounded queue, and a thread that commits what is in it at once.

use super::file::{BudgetTotal, FileWrite, StateFile, is_broken};
use crate::state::calendar::unix_ms;
use crate::state::health::{StoreCounters, StoreOperation};
use crate::state::limit_counters::LimitCounters;
use crate::state::memory::lock;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

/// Writes that wait at most, a few dozen bytes each: minutes of a disk that takes nothing.
const WAITING_MAX: usize = 100_000;
/// Notes are larger than the rest: they do not wait behind so many.
const WAITING_BEFORE_NOTE_MAX: usize = 5_000;
/// Rows of one transaction, so that a reader never waits long for a lock.
const BATCH_MAX: usize = 2_000;
/// Before a file that takes nothing is tried again.
const RETRY: Duration = Duration::from_secs(1);
/// Between two looks at what is to be pruned.
const PRUNE_EVERY: Duration = Duration::from_secs(3600);
/// Ids that are kept at most; about 200 bytes each.
const IDS_MAX: usize = 2_000_000;

/// What waits to be written.
#[derive(Default)]
pub struct WriteQueue {
    state: Mutex<QueuedWrites>,
    changed: Condvar,
}

#[derive(Default)]
struct QueuedWrites {
    writes: VecDeque<FileWrite>,
    /// Writes that were taken and are not in the file yet.
    taken: usize,
    closed: bool,
}

/// The thread's own things.
pub struct StateFileWriter {
    pub path: PathBuf,
    pub file: StateFile,
    pub keep: Duration,
    pub queue: Arc<WriteQueue>,
    pub counts: Arc<Mutex<LimitCounters>>,
    pub tally: Arc<StoreCounters>,
}

impl WriteQueue {
    /// Hands a write over; it is dropped and counted if too many wait.
    pub fn push(&self, write: FileWrite, tally: &StoreCounters) {
        let mut waiting = lock(&self.state);
        let most = match write {
            FileWrite::PutNote { .. } => WAITING_BEFORE_NOTE_MAX,
            _ => WAITING_MAX,
        };
        if waiting.writes.len() + waiting.taken >= most {
            tally.dropped(operation(&write));
            return;
        }
        waiting.writes.push_back(write);
        drop(waiting);
        self.changed.notify_all();
    }

    /// Waits until everything is written, at most `max_wait`.
    pub fn flush(&self, max_wait: Duration) {
        let is_open = |waiting: &mut QueuedWrites| waiting.taken > 0 || !waiting.writes.is_empty();
        let waited = self
            .changed
            .wait_timeout_while(lock(&self.state), max_wait, is_open);
        drop(waited);
    }

    /// Lets the thread end once everything is written.
    pub fn close(&self) {
        lock(&self.state).closed = true;
        self.changed.notify_all();
    }

    /// Moves what waits to `batch`, or waits for it until `until`; false once there will be none.
    fn take(&self, batch: &mut Vec<FileWrite>, until: Instant) -> bool {
        let mut waiting = lock(&self.state);
        while waiting.writes.is_empty() && !waiting.closed {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            let woken = self.changed.wait_timeout(waiting, left);
            (waiting, _) = woken.unwrap_or_else(PoisonError::into_inner);
        }
        let count = waiting.writes.len().min(BATCH_MAX);
        batch.extend(waiting.writes.drain(..count));
        waiting.taken = batch.len();
        !batch.is_empty()
    }

    fn written(&self) {
        lock(&self.state).taken = 0;
        self.changed.notify_all();
    }

    fn is_closed(&self) -> bool {
        lock(&self.state).closed
    }
}

impl StateFileWriter {
    /// Starts the thread.
    ///
    /// # Errors
    /// There can be no further thread.
    pub fn start(self) -> io::Result<()> {
        thread::Builder::new()
            .name("state-writer".into())
            .spawn(move || self.run())
            .map(drop)
    }

    fn run(mut self) {
        let mut batch = Vec::new();
        let mut prune_at = Instant::now();
        while self.queue.take(&mut batch, prune_at) {
            if !batch.is_empty() && !self.write(&batch) {
                return;
            }
            batch.clear();
            self.queue.written();
            if Instant::now() >= prune_at {
                prune_at = Instant::now() + self.prune();
            }
        }
    }

    /// Writes a batch, however long that takes; false if the process ends before.
    fn write(&mut self, batch: &[FileWrite]) -> bool {
        loop {
            match self.file.write(batch, unix_ms()) {
                Ok(totals) => {
                    self.reconcile(&totals);
                    if self.tally.set_up(true) {
                        tracing::info!(file = %self.path.display(), "writes to the state file succeed again");
                    }
                    return true;
                }
                Err(error) => self.failed(batch, &error),
            }
            if self.queue.is_closed() {
                return false;
            }
            thread::sleep(RETRY);
        }
    }

    /// What other processes have spent counts here, too.
    fn reconcile(&self, totals: &[BudgetTotal]) {
        let mut counts = lock(&self.counts);
        for total in totals {
            counts.written(&total.counter, total.since, total.added, total.tokens);
        }
    }

    fn failed(&mut self, batch: &[FileWrite], error: &rusqlite::Error) {
        if self.tally.set_up(false) {
            for write in batch {
                self.tally.failed(operation(write));
            }
            tracing::error!(
                file = %self.path.display(), %error,
                "cannot write to the state file; state is kept in memory and writes are retried"
            );
        }
        if is_broken(error) {
            match StateFile::open(&self.path) {
                Ok(file) => self.file = file,
                Err(error) => tracing::debug!(%error, "cannot reopen the state file"),
            }
        }
    }

    /// Removes some of what is not to be kept; tells when to go on.
    fn prune(&mut self) -> Duration {
        let now_ms = unix_ms();
        let keep_ms = u64::try_from(self.keep.as_millis()).unwrap_or(u64::MAX);
        let before_ms = now_ms.saturating_sub(keep_ms);
        match self.file.prune(before_ms, IDS_MAX, now_ms) {
            Ok(true) => Duration::from_millis(100),
            Ok(false) => PRUNE_EVERY,
            Err(error) => {
                tracing::warn!(file = %self.path.display(), %error, "cannot remove expired entries from the state file");
                PRUNE_EVERY
            }
        }
    }
}

fn operation(write: &FileWrite) -> StoreOperation {
    match write {
        FileWrite::Remember { .. } => StoreOperation::Remember,
        FileWrite::Touch { .. } => StoreOperation::ChannelOf,
        FileWrite::Forget { .. } => StoreOperation::Forget,
        FileWrite::AddTokens { .. } => StoreOperation::Settle,
        FileWrite::PutNote { .. } => StoreOperation::PutNote,
    }
}
