//! The bytes that callers use, as they were summed up lately.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a sum is used before the records are read again: other gateways write, and records expire.
const SUM_AGE_MAX: Duration = Duration::from_secs(30);
/// Sums that are kept at most.
const SUMS_MAX: usize = 10_000;

/// The bytes that callers use, as summed up lately.
#[derive(Default)]
pub(super) struct CallerUsageCache(Mutex<HashMap<Arc<str>, CachedUsageSum>>);

#[derive(Clone, Copy)]
struct CachedUsageSum {
    bytes: u64,
    read: Instant,
}

impl CallerUsageCache {
    /// Adds to the sum of a caller; `None` if it is unknown or too old.
    pub fn add(&self, owner: &Arc<str>, bytes: u64) -> Option<u64> {
        let mut sums = self.lock();
        let known = sums.get_mut(owner)?;
        known.bytes = known.bytes.saturating_add(bytes);
        (known.read.elapsed() < SUM_AGE_MAX).then_some(known.bytes)
    }

    pub fn subtract(&self, owner: &Arc<str>, bytes: u64) {
        if let Some(known) = self.lock().get_mut(owner) {
            known.bytes = known.bytes.saturating_sub(bytes);
        }
    }

    pub fn set(&self, owner: &Arc<str>, bytes: u64) {
        let mut sums = self.lock();
        if sums.len() >= SUMS_MAX {
            sums.clear();
        }
        let read = Instant::now();
        sums.insert(owner.clone(), CachedUsageSum { bytes, read });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, CachedUsageSum>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
