//! Request bodies that could not be written to the spool folder.

use headgate_core::feature::metrics::registered;
use prometheus::{IntCounter, Registry};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Counts spool failures, and knows the last one as long as it may still happen again.
pub struct SpoolMetrics {
    failures: IntCounter,
    /// Whether there is a last failure, so that most bodies need no lock.
    is_failing: AtomicBool,
    last: Mutex<Option<SpoolFailure>>,
}

/// A body that could not be written.
#[derive(Clone, Debug)]
pub struct SpoolFailure {
    pub at: Instant,
    pub folder: Arc<Path>,
    /// The error of the system, as text.
    pub error: Arc<str>,
    /// Size of the body, as far as it was known.
    bytes: u64,
}

impl SpoolMetrics {
    pub(super) fn new(registry: &Registry) -> Self {
        let failures = IntCounter::new(
            "headgate_spool_failures_total",
            "Requests refused because their body could not be written to the spool folder.",
        );
        Self {
            failures: registered(registry, failures),
            is_failing: AtomicBool::new(false),
            last: Mutex::default(),
        }
    }

    /// Counts a body of at least `bytes` that could not be written to `folder`.
    pub fn count_failure(&self, folder: &Arc<Path>, bytes: u64, error: &io::Error) {
        self.failures.inc();
        *self.lock() = Some(SpoolFailure {
            at: Instant::now(),
            folder: folder.clone(),
            error: error.to_string().into(),
            bytes,
        });
        self.is_failing.store(true, Ordering::Relaxed);
    }

    /// A body of this size was written: a failure of a body that was not larger is over.
    pub fn record_success(&self, bytes: u64) {
        if !self.is_failing.load(Ordering::Relaxed) {
            return;
        }
        let mut last = self.lock();
        if last.as_ref().is_some_and(|last| last.bytes <= bytes) {
            *last = None;
            self.is_failing.store(false, Ordering::Relaxed);
        }
    }

    /// The last failure, unless a body of the same size was written since.
    pub fn last_failure(&self) -> Option<SpoolFailure> {
        self.lock().clone()
    }

    /// Number of failures since the start.
    pub fn failures(&self) -> u64 {
        self.failures.get()
    }

    fn lock(&self) -> MutexGuard<'_, Option<SpoolFailure>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_over_once_a_body_of_its_size_was_written() {
        let metrics = SpoolMetrics::new(&Registry::new());
        let folder: Arc<Path> = Path::new("/spool").into();
        let full = io::Error::from(io::ErrorKind::StorageFull);
        metrics.record_success(10);
        assert!(metrics.last_failure().is_none());
        metrics.count_failure(&folder, 1_000, &full);
        metrics.record_success(999);
        let last = metrics.last_failure().expect("the disk is still full");
        assert_eq!(&*last.folder, &*folder);
        assert_eq!(&*last.error, full.to_string());
        metrics.record_success(1_000);
        assert!(metrics.last_failure().is_none());
        assert_eq!(metrics.failures(), 1);
    }
}
