//! Counts the open client connections of each caller that has a connection limit.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Number of open connections of each caller.
#[derive(Default)]
pub struct CallerConnectionCounts {
    open: Mutex<HashMap<Arc<str>, u32>>,
}

/// The callers that one connection counts for, until this is dropped.
pub struct CallerConnectionGuard {
    connections: Arc<CallerConnectionCounts>,
    callers: Mutex<Vec<Arc<str>>>,
}

impl CallerConnectionGuard {
    pub fn new(connections: Arc<CallerConnectionCounts>) -> Self {
        Self {
            connections,
            callers: Mutex::default(),
        }
    }

    /// Counts this connection for `caller`, who may have `most` connections; `false` above that.
    pub fn admit(&self, caller: &Arc<str>, most: u32) -> bool {
        let mut callers = lock(&self.callers);
        if callers.contains(caller) {
            return true;
        }
        let mut open = lock(&self.connections.open);
        let count = open.entry(caller.clone()).or_default();
        let fits = *count < most;
        if fits {
            *count += 1;
            callers.push(caller.clone());
        }
        fits
    }
}

impl Drop for CallerConnectionGuard {
    fn drop(&mut self) {
        let callers = std::mem::take(
            self.callers
                .get_mut()
                .unwrap_or_else(PoisonError::into_inner),
        );
        if callers.is_empty() {
            return;
        }
        let mut open = lock(&self.connections.open);
        for caller in callers {
            if let Some(count) = open.get_mut(&caller) {
                *count -= 1;
                if *count == 0 {
                    open.remove(&caller);
                }
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_counts_once_for_each_of_its_callers_until_it_ends() {
        let all = Arc::new(CallerConnectionCounts::default());
        let connection = || CallerConnectionGuard::new(all.clone());
        let (ann, bob) = (Arc::from("ann"), Arc::from("bob"));
        let (first, second, third) = (connection(), connection(), connection());
        assert!(first.admit(&ann, 2) && first.admit(&ann, 2) && second.admit(&ann, 2));
        assert!(!third.admit(&ann, 2) && third.admit(&bob, 1) && !first.admit(&bob, 1));
        drop(second);
        assert!(third.admit(&ann, 2));
        drop((first, third));
        assert!(lock(&all.open).is_empty());
    }
}
