//! Writes to the file in the background: a bounded queue, and a thread that commits it in batches.

use super::file::{StateDatabase, StateFileWrite, WriteResult, is_broken};
use headgate_core::state::affinity::IdChannelCache;
use headgate_core::state::calendar::whole_ms;
use headgate_core::state::clock::Clock;
use headgate_core::state::health::{StoreHealthCounters, StoreOperation};
use headgate_core::state::limit_counters::LocalLimitCounters;
use headgate_core::state::lock::lock;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

/// The maximum number of queued writes, of a few dozen bytes each: minutes of writes while the disk fails.
const WAITING_MAX: usize = 100_000;
/// Notes are larger than other writes, so they are dropped at a shorter queue.
const WAITING_BEFORE_NOTE_MAX: usize = 5_000;
/// The maximum number of rows in one transaction, so that a reader does not wait long for a lock.
const BATCH_MAX: usize = 2_000;
/// The wait before a failed write is retried.
const RETRY: Duration = Duration::from_secs(1);
/// The interval of pruning.
const PRUNE_EVERY: Duration = Duration::from_secs(3600);
/// The maximum number of ids, of about 200 bytes each.
const IDS_MAX: usize = 2_000_000;

/// The queue of writes.
#[derive(Default)]
pub struct WriteQueue {
    state: Mutex<WriteQueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct WriteQueueState {
    writes: VecDeque<StateFileWrite>,
    /// Writes that the thread has taken and that are not yet in the file.
    taken: usize,
    closed: bool,
}

/// The state of the writer thread.
pub struct StateFileWriter {
    pub path: PathBuf,
    pub file: StateDatabase,
    pub id_ttl: Duration,
    pub queue: Arc<WriteQueue>,
    pub affinity: Arc<Mutex<IdChannelCache>>,
    pub counts: Arc<Mutex<LocalLimitCounters>>,
    /// The clock of the counters: by another one, pruning would remove budgets that they still charge.
    pub clock: Clock,
    pub tally: Arc<StoreHealthCounters>,
}

impl WriteQueue {
    /// Queues a write; drops and counts it if the queue is full.
    pub fn push(&self, write: StateFileWrite, tally: &StoreHealthCounters) {
        let mut waiting = lock(&self.state);
        let most = match write {
            StateFileWrite::PutNote { .. } => WAITING_BEFORE_NOTE_MAX,
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

    /// Blocks until everything is written, at most for `max_wait`.
    pub fn flush(&self, max_wait: Duration) {
        let is_open =
            |waiting: &mut WriteQueueState| waiting.taken > 0 || !waiting.writes.is_empty();
        let waited = self
            .changed
            .wait_timeout_while(lock(&self.state), max_wait, is_open);
        drop(waited);
    }

    /// Ends the thread once everything is written.
    pub fn close(&self) {
        lock(&self.state).closed = true;
        self.changed.notify_all();
    }

    /// Moves queued writes to `batch`; waits for writes until `until`. Returns false once the queue is closed and
    /// empty.
    fn take(&self, batch: &mut Vec<StateFileWrite>, until: Instant) -> bool {
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
    /// No thread can be started.
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

    /// Writes a batch and retries until it succeeds; returns false if the process ends first.
    fn write(&mut self, batch: &[StateFileWrite]) -> bool {
        loop {
            match self.file.write(batch, self.clock.now().unix_ms) {
                Ok(result) => {
                    self.reconcile(batch, &result);
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

    /// Adopts what is in the file, with what other processes have written: the owners of ids, and the totals of budgets.
    fn reconcile(&self, batch: &[StateFileWrite], result: &WriteResult) {
        for (index, write) in batch.iter().enumerate() {
            if let StateFileWrite::Remember {
                caller,
                id,
                channel,
            } = write
            {
                let is_granted = result.refused.binary_search(&index).is_err();
                lock(&self.affinity).settle_claim(caller, id, channel, is_granted);
            }
        }
        let mut counts = lock(&self.counts);
        for total in &result.totals {
            counts.written(&total.counter, total.since, total.added, total.tokens);
        }
    }

    fn failed(&mut self, batch: &[StateFileWrite], error: &rusqlite::Error) {
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
            match StateDatabase::open(&self.path) {
                Ok(file) => self.file = file,
                Err(error) => tracing::debug!(%error, "cannot reopen the state file"),
            }
        }
    }

    /// Removes one step's worth of old rows; returns the time until the next step.
    fn prune(&mut self) -> Duration {
        let now_ms = self.clock.now().unix_ms;
        let id_ttl_ms = whole_ms(self.id_ttl);
        let before_ms = now_ms.saturating_sub(id_ttl_ms);
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

fn operation(write: &StateFileWrite) -> StoreOperation {
    match write {
        StateFileWrite::Remember { .. } => StoreOperation::Remember,
        StateFileWrite::Touch { .. } => StoreOperation::ChannelOf,
        StateFileWrite::Forget { .. } => StoreOperation::Forget,
        StateFileWrite::AddTokens { .. }
        | StateFileWrite::SettleMoney { .. }
        | StateFileWrite::CancelMoney { .. }
        | StateFileWrite::EndRunCall { .. }
        | StateFileWrite::CancelRunCall { .. } => StoreOperation::Settle,
        StateFileWrite::PutNote { .. } => StoreOperation::PutNote,
    }
}
