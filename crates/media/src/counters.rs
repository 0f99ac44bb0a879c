//! Counts of the media store, for metrics.

use std::sync::atomic::{AtomicU64, Ordering};

/// How a request to store content ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// The content was written.
    Stored,
    /// The same bytes were stored before.
    Reused,
    /// The caller or the store has as much as allowed.
    OverQuota,
    /// The object store or the records failed.
    Failed,
}

/// Why an object was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemovalReason {
    /// It is needed no longer, or its write was not completed.
    Expired,
    /// Its record names another write, it has none, or it was never completed.
    Leftover,
}

/// Counts since the start of the process.
#[derive(Debug, Default)]
pub struct MediaCounters {
    writes: [AtomicU64; WriteOutcome::ALL.len()],
    written_bytes: AtomicU64,
    read_failures: AtomicU64,
    removals: [AtomicU64; RemovalReason::ALL.len()],
    /// Of all gateways that share the records.
    objects: AtomicU64,
    bytes: AtomicU64,
}

/// What is stored, of all gateways that share the records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoredObjectTotals {
    pub objects: u64,
    pub bytes: u64,
}

impl WriteOutcome {
    pub const ALL: [Self; 4] = [Self::Stored, Self::Reused, Self::OverQuota, Self::Failed];

    /// The name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Reused => "reused",
            Self::OverQuota => "over_quota",
            Self::Failed => "failed",
        }
    }
}

impl RemovalReason {
    pub const ALL: [Self; 2] = [Self::Expired, Self::Leftover];

    /// The name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Leftover => "leftover",
        }
    }
}

impl MediaCounters {
    /// How often requests to store content ended so.
    pub fn writes(&self, outcome: WriteOutcome) -> u64 {
        self.writes[outcome as usize].load(Ordering::Relaxed)
    }

    /// The bytes of the objects that this process wrote.
    pub fn written_bytes(&self) -> u64 {
        self.written_bytes.load(Ordering::Relaxed)
    }

    /// How often an object could not be read.
    pub fn read_failures(&self) -> u64 {
        self.read_failures.load(Ordering::Relaxed)
    }

    /// How many objects this process removed for this reason.
    pub fn removals(&self, reason: RemovalReason) -> u64 {
        self.removals[reason as usize].load(Ordering::Relaxed)
    }

    /// What was stored when it was counted last, and what this process changed since.
    pub fn totals(&self) -> StoredObjectTotals {
        StoredObjectTotals {
            objects: self.objects.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
        }
    }

    /// Counts an object that cannot be read.
    pub fn count_read_failure(&self) {
        self.read_failures.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_write(&self, outcome: WriteOutcome, bytes: u64) {
        self.writes[outcome as usize].fetch_add(1, Ordering::Relaxed);
        if outcome == WriteOutcome::Stored {
            self.written_bytes.fetch_add(bytes, Ordering::Relaxed);
            self.objects.fetch_add(1, Ordering::Relaxed);
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    pub(super) fn count_removal(&self, reason: RemovalReason, bytes: u64) {
        self.removals[reason as usize].fetch_add(1, Ordering::Relaxed);
        if reason == RemovalReason::Expired {
            let less = |counter: &AtomicU64, by: u64| {
                let _ = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |known| {
                    Some(known.saturating_sub(by))
                });
            };
            less(&self.objects, 1);
            less(&self.bytes, bytes);
        }
    }

    /// Sets the totals to what was counted since they were `before`. What this process changed meanwhile stays added;
    /// where it is in the count too, the next count corrects it.
    pub(super) fn correct_totals(&self, before: StoredObjectTotals, counted: StoredObjectTotals) {
        let correct = |counter: &AtomicU64, before: u64, counted: u64| {
            let _ = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |now| {
                Some((now + counted).saturating_sub(before))
            });
        };
        correct(&self.objects, before.objects, counted.objects);
        correct(&self.bytes, before.bytes, counted.bytes);
    }
}
