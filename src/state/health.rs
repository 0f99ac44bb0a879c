//! How a store is doing: whether it can be asked, and what failed or was dropped.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What a store is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Remember,
    ChannelOf,
    Forget,
    Admit,
    Settle,
    Pace,
    Note,
    Noted,
}

/// How a store is doing, at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// `memory`, `sqlite` or `redis`.
    pub store: &'static str,
    /// Whether it can be asked, and keeps what it is given.
    pub up: bool,
    /// Operations that failed since the process began, by [`Operation::ALL`].
    pub failed: [u64; Operation::ALL.len()],
    /// Operations that were dropped since the process began, by [`Operation::ALL`].
    pub dropped: [u64; Operation::ALL.len()],
}

/// Counts for a [`Health`].
#[derive(Debug)]
pub struct Tally {
    up: AtomicBool,
    failed: [AtomicU64; Operation::ALL.len()],
    dropped: [AtomicU64; Operation::ALL.len()],
}

impl Operation {
    pub const ALL: [Self; 8] = [
        Self::Remember,
        Self::ChannelOf,
        Self::Forget,
        Self::Admit,
        Self::Settle,
        Self::Pace,
        Self::Note,
        Self::Noted,
    ];

    /// The word for logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Remember => "remember",
            Self::ChannelOf => "channel_of",
            Self::Forget => "forget",
            Self::Admit => "admit",
            Self::Settle => "settle",
            Self::Pace => "pace",
            Self::Note => "note",
            Self::Noted => "noted",
        }
    }
}

impl Health {
    /// A store that never fails.
    pub fn up(store: &'static str) -> Self {
        Self {
            store,
            up: true,
            failed: [0; Operation::ALL.len()],
            dropped: [0; Operation::ALL.len()],
        }
    }

    /// A store that cannot be had.
    pub fn away(store: &'static str) -> Self {
        Self {
            up: false,
            ..Self::up(store)
        }
    }
}

impl Tally {
    pub fn new(up: bool) -> Self {
        Self {
            up: AtomicBool::new(up),
            failed: Default::default(),
            dropped: Default::default(),
        }
    }

    pub fn failed(&self, operation: Operation) {
        self.failed[operation as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub fn dropped(&self, operation: Operation) {
        self.dropped[operation as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Says whether the store can be asked; true if that is news.
    pub fn turn(&self, up: bool) -> bool {
        self.up.swap(up, Ordering::Relaxed) != up
    }

    pub fn health(&self, store: &'static str) -> Health {
        let read = |counts: &[AtomicU64; Operation::ALL.len()]| {
            std::array::from_fn(|index| counts[index].load(Ordering::Relaxed))
        };
        Health {
            store,
            up: self.up.load(Ordering::Relaxed),
            failed: read(&self.failed),
            dropped: read(&self.dropped),
        }
    }
}
