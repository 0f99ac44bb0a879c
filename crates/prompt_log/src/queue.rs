//! The queue of a sink: records that wait, with a limit in bytes, and what became of all of them.

use crate::record::PromptRecord;
use crate::sink::PromptSink;
use headgate_core::state::lock::lock;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;
use tokio::time::Instant;

/// The queues of the process, by the names of their sinks. They outlive snapshots; a name is never forgotten, since its
/// counters must not fall.
#[derive(Default)]
pub(crate) struct PromptQueues {
    by_name: Mutex<BTreeMap<Arc<str>, Arc<PromptQueue>>>,
    pub idle: Arc<IdleQueues>,
}

/// Queues whose records nobody writes yet.
#[derive(Default)]
pub(crate) struct IdleQueues {
    list: Mutex<Vec<Arc<PromptQueue>>>,
    pub wake: Notify,
}

/// The records of one sink.
pub(crate) struct PromptQueue {
    pub name: Arc<str>,
    waiting: Mutex<WaitingRecords>,
    /// The task that writes has something to look at.
    pub wake: Notify,
    idle: Arc<IdleQueues>,
    counts: [AtomicU64; PromptRecordOutcome::ALL.len()],
    failed_writes: AtomicU64,
}

#[derive(Default)]
struct WaitingRecords {
    list: VecDeque<PromptRecord>,
    /// Of the list, and of the records that are being written.
    bytes: usize,
    in_write: u64,
    /// When the first of the list came.
    since: Option<Instant>,
    /// The sink as configured; the last one, if the configuration in use has none of this name.
    sink: Option<Arc<PromptSink>>,
    is_configured: bool,
    is_served: bool,
}

/// What became of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PromptRecordOutcome {
    Stored,
    /// The queue was full.
    Dropped,
    /// The sink does not take it, or did not until the process ended.
    Failed,
}

/// What waits in a queue.
pub(crate) struct QueueLevel {
    pub bytes: usize,
    pub since: Option<Instant>,
    pub is_configured: bool,
}

impl PromptQueues {
    /// The queue of a sink.
    pub fn queue(&self, name: &str) -> Arc<PromptQueue> {
        let mut queues = lock(&self.by_name);
        if let Some(known) = queues.get(name) {
            return known.clone();
        }
        let queue = Arc::new(PromptQueue {
            name: name.into(),
            waiting: Mutex::default(),
            wake: Notify::new(),
            idle: self.idle.clone(),
            counts: Default::default(),
            failed_writes: AtomicU64::new(0),
        });
        queues.insert(queue.name.clone(), queue.clone());
        queue
    }

    pub fn all(&self) -> Vec<Arc<PromptQueue>> {
        lock(&self.by_name).values().cloned().collect()
    }

    /// Has the queues write to these sinks from now on. Those of others write what they have, and no more.
    pub fn adopt(&self, sinks: &BTreeMap<String, Arc<PromptSink>>) {
        sinks.keys().for_each(|name| drop(self.queue(name)));
        for queue in self.all() {
            let sink = sinks.get(&*queue.name).cloned();
            let mut waiting = lock(&queue.waiting);
            waiting.is_configured = sink.is_some();
            waiting.sink = sink.or(waiting.sink.take());
            drop(waiting);
            queue.wake.notify_one();
        }
    }
}

impl IdleQueues {
    pub fn take(&self) -> Vec<Arc<PromptQueue>> {
        std::mem::take(&mut lock(&self.list))
    }
}

impl PromptQueue {
    /// Adds a record; drops it if there is no room for it. Never waits.
    pub fn push(self: &Arc<Self>, record: PromptRecord, bytes_max: usize) {
        let size = record.size();
        let mut waiting = lock(&self.waiting);
        if waiting.bytes + size > bytes_max {
            drop(waiting);
            return self.count(PromptRecordOutcome::Dropped, 1);
        }
        waiting.bytes += size;
        waiting.since.get_or_insert_with(Instant::now);
        waiting.list.push_back(record);
        let is_served = std::mem::replace(&mut waiting.is_served, true);
        drop(waiting);
        if is_served {
            self.wake.notify_one();
        } else {
            lock(&self.idle.list).push(self.clone());
            self.idle.wake.notify_one();
        }
    }

    pub fn level(&self) -> QueueLevel {
        let waiting = lock(&self.waiting);
        QueueLevel {
            bytes: waiting.bytes,
            since: waiting.since,
            is_configured: waiting.is_configured,
        }
    }

    /// The sink to write to.
    pub fn sink(&self) -> Option<Arc<PromptSink>> {
        lock(&self.waiting).sink.clone()
    }

    /// Whether nothing waits, so that the task that writes ends. The next record has another one begin.
    pub fn end_if_empty(&self) -> bool {
        let mut waiting = lock(&self.waiting);
        let is_empty = waiting.list.is_empty();
        waiting.is_served = !is_empty;
        is_empty
    }

    /// Takes the oldest records, `bytes` of them at most, but at least one. They count until [`Self::settle`].
    pub fn take(&self, bytes: usize) -> Vec<PromptRecord> {
        let mut waiting = lock(&self.waiting);
        let mut taken_bytes = 0;
        let fits = |record: &&PromptRecord| {
            let is_first = taken_bytes == 0;
            taken_bytes += record.size();
            is_first || taken_bytes <= bytes
        };
        let count = waiting.list.iter().take_while(fits).count();
        let taken: Vec<PromptRecord> = waiting.list.drain(..count).collect();
        waiting.in_write += count as u64;
        if waiting.list.is_empty() {
            waiting.since = None;
        }
        taken
    }

    /// Ends the write of records that were taken.
    pub fn settle(&self, records: &[PromptRecord], outcome: PromptRecordOutcome) {
        let bytes: usize = records.iter().map(PromptRecord::size).sum();
        let mut waiting = lock(&self.waiting);
        waiting.bytes -= bytes;
        waiting.in_write -= records.len() as u64;
        drop(waiting);
        self.count(outcome, records.len() as u64);
    }

    /// Gives up all that is not written; returns how many records that are.
    pub fn give_up(&self) -> u64 {
        let left = std::mem::take(&mut *lock(&self.waiting));
        let records = left.list.len() as u64 + left.in_write;
        self.count(PromptRecordOutcome::Failed, records);
        records
    }

    pub fn total(&self, outcome: PromptRecordOutcome) -> u64 {
        self.counts[outcome as usize].load(Ordering::Relaxed)
    }

    pub fn failed_writes(&self) -> u64 {
        self.failed_writes.load(Ordering::Relaxed)
    }

    pub fn count_failed_write(&self) {
        self.failed_writes.fetch_add(1, Ordering::Relaxed);
    }

    fn count(&self, outcome: PromptRecordOutcome, records: u64) {
        self.counts[outcome as usize].fetch_add(records, Ordering::Relaxed);
    }
}

impl PromptRecordOutcome {
    pub const ALL: [Self; 3] = [Self::Stored, Self::Dropped, Self::Failed];

    /// The value in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Dropped => "dropped",
            Self::Failed => "failed",
        }
    }
}
