//! Locking of a mutex whose data a panic of another thread does not invalidate.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`. Poisoning is ignored: every change under these locks leaves valid data at each of its steps.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
