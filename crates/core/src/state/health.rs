//! Health of a state store: whether it is reachable, and counts of failed and dropped operations.

use super::lock::lock;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::SystemTime;

/// The operations of a state store, as labels for logs and metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreOperation {
    Remember,
    ChannelOf,
    Forget,
    Admit,
    Settle,
    TakePerSecond,
    PutNote,
    GetNote,
    Record,
}

/// A snapshot of a store's health.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreHealthReport {
    /// `memory`, `sqlite` or `redis`.
    pub store: &'static str,
    /// Whether the store is reachable and persists what it is given.
    pub up: bool,
    /// When the store became reachable or unreachable; none for one that never changes.
    pub since: Option<SystemTime>,
    /// The last operation that failed.
    pub last_error: Option<FailedStoreOperation>,
    /// Failed operations since the process started, indexed as [`StoreOperation::ALL`].
    pub failed: [u64; StoreOperation::ALL.len()],
    /// Dropped operations since the process started, indexed as [`StoreOperation::ALL`].
    pub dropped: [u64; StoreOperation::ALL.len()],
}

/// A failed operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedStoreOperation {
    pub at: SystemTime,
    pub operation: StoreOperation,
}

/// The live counters behind a [`StoreHealthReport`].
#[derive(Debug)]
pub struct StoreHealthCounters {
    up: AtomicBool,
    since: Mutex<SystemTime>,
    last_error: Mutex<Option<FailedStoreOperation>>,
    failed: [AtomicU64; StoreOperation::ALL.len()],
    dropped: [AtomicU64; StoreOperation::ALL.len()],
}

impl StoreOperation {
    pub const ALL: [Self; 9] = [
        Self::Remember,
        Self::ChannelOf,
        Self::Forget,
        Self::Admit,
        Self::Settle,
        Self::TakePerSecond,
        Self::PutNote,
        Self::GetNote,
        Self::Record,
    ];

    /// The name in logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Remember => "set_owner",
            Self::ChannelOf => "get_owner",
            Self::Forget => "delete_owner",
            Self::Admit => "admit",
            Self::Settle => "settle",
            Self::TakePerSecond => "admit_query",
            Self::PutNote => "set_final_status",
            Self::GetNote => "get_final_status",
            Self::Record => "record",
        }
    }
}

impl StoreHealthReport {
    /// The health of a store that never fails.
    pub fn up(store: &'static str) -> Self {
        Self {
            store,
            up: true,
            since: None,
            last_error: None,
            failed: [0; StoreOperation::ALL.len()],
            dropped: [0; StoreOperation::ALL.len()],
        }
    }

    /// The health of a store that could not be opened.
    pub fn down(store: &'static str) -> Self {
        Self {
            up: false,
            ..Self::up(store)
        }
    }
}

impl StoreHealthCounters {
    pub fn new(up: bool) -> Self {
        Self {
            up: AtomicBool::new(up),
            since: Mutex::new(SystemTime::now()),
            last_error: Mutex::default(),
            failed: Default::default(),
            dropped: Default::default(),
        }
    }

    pub fn failed(&self, operation: StoreOperation) {
        self.failed[operation as usize].fetch_add(1, Ordering::Relaxed);
        *lock(&self.last_error) = Some(FailedStoreOperation {
            at: SystemTime::now(),
            operation,
        });
    }

    pub fn dropped(&self, operation: StoreOperation) {
        self.dropped[operation as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Records whether the store is reachable; returns true if that changed.
    pub fn set_up(&self, up: bool) -> bool {
        let is_changed = self.up.swap(up, Ordering::Relaxed) != up;
        if is_changed {
            *lock(&self.since) = SystemTime::now();
        }
        is_changed
    }

    pub fn health(&self, store: &'static str) -> StoreHealthReport {
        let read = |counts: &[AtomicU64; StoreOperation::ALL.len()]| {
            std::array::from_fn(|index| counts[index].load(Ordering::Relaxed))
        };
        StoreHealthReport {
            store,
            up: self.up.load(Ordering::Relaxed),
            since: Some(*lock(&self.since)),
            last_error: *lock(&self.last_error),
            failed: read(&self.failed),
            dropped: read(&self.dropped),
        }
    }
}
