//! How a store is doing: whether it can be asked, and what failed or was dropped.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What a store is asked to do.
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
}

/// How a store is doing, at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreHealth {
    /// `memory`, `sqlite` or `redis`.
    pub store: &'static str,
    /// Whether it can be asked, and keeps what it is given.
    pub up: bool,
    /// Operations that failed since the process began, by [`StoreOperation::ALL`].
    pub failed: [u64; StoreOperation::ALL.len()],
    /// Operations that were dropped since the process began, by [`StoreOperation::ALL`].
    pub dropped: [u64; StoreOperation::ALL.len()],
}

/// Counts for a [`StoreHealth`].
#[derive(Debug)]
pub struct StoreCounters {
    up: AtomicBool,
    failed: [AtomicU64; StoreOperation::ALL.len()],
    dropped: [AtomicU64; StoreOperation::ALL.len()],
}

impl StoreOperation {
    pub const ALL: [Self; 8] = [
        Self::Remember,
        Self::ChannelOf,
        Self::Forget,
        Self::Admit,
        Self::Settle,
        Self::TakePerSecond,
        Self::PutNote,
        Self::GetNote,
    ];

    /// The word for logs and metrics.
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
        }
    }
}

impl StoreHealth {
    /// A store that never fails.
    pub fn up(store: &'static str) -> Self {
        Self {
            store,
            up: true,
            failed: [0; StoreOperation::ALL.len()],
            dropped: [0; StoreOperation::ALL.len()],
        }
    }

    /// A store that cannot be had.
    pub fn down(store: &'static str) -> Self {
        Self {
            up: false,
            ..Self::up(store)
        }
    }
}

impl StoreCounters {
    pub fn new(up: bool) -> Self {
        Self {
            up: AtomicBool::new(up),
            failed: Default::default(),
            dropped: Default::default(),
        }
    }

    pub fn failed(&self, operation: StoreOperation) {
        self.failed[operation as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub fn dropped(&self, operation: StoreOperation) {
        self.dropped[operation as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Says whether the store can be asked; true if that is news.
    pub fn set_up(&self, up: bool) -> bool {
        self.up.swap(up, Ordering::Relaxed) != up
    }

    pub fn health(&self, store: &'static str) -> StoreHealth {
        let read = |counts: &[AtomicU64; StoreOperation::ALL.len()]| {
            std::array::from_fn(|index| counts[index].load(Ordering::Relaxed))
        };
        StoreHealth {
            store,
            up: self.up.load(Ordering::Relaxed),
            failed: read(&self.failed),
            dropped: read(&self.dropped),
        }
    }
}
