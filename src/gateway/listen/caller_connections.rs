//! Client connections of callers with a cap on them: counted from their first request to their end.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many connections each caller has open.
#[derive(Default)]
pub struct CallerConnections {
    open: Mutex<HashMap<Arc<str>, u32>>,
}

/// What one connection counts as: one for each caller that used it, until this is dropped.
pub struct Places {
    connections: Arc<CallerConnections>,
    held: Mutex<Vec<Arc<str>>>,
}

impl Places {
    pub fn new(connections: Arc<CallerConnections>) -> Self {
        Self {
            connections,
            held: Mutex::default(),
        }
    }

    /// Counts this connection to `caller`, who may have `most` of them; `false` if that is too many.
    pub fn take(&self, caller: &Arc<str>, most: u32) -> bool {
        let mut held = lock(&self.held);
        if held.contains(caller) {
            return true;
        }
        let mut open = lock(&self.connections.open);
        let count = open.entry(caller.clone()).or_default();
        let fits = *count < most;
        if fits {
            *count += 1;
            held.push(caller.clone());
        }
        fits
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        let held = std::mem::take(self.held.get_mut().unwrap_or_else(PoisonError::into_inner));
        if held.is_empty() {
            return;
        }
        let mut open = lock(&self.connections.open);
        for caller in held {
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
        let all = Arc::new(CallerConnections::default());
        let connection = || Places::new(all.clone());
        let (ann, bob) = (Arc::from("ann"), Arc::from("bob"));
        let (first, second, third) = (connection(), connection(), connection());
        assert!(first.take(&ann, 2) && first.take(&ann, 2) && second.take(&ann, 2));
        assert!(!third.take(&ann, 2) && third.take(&bob, 1) && !first.take(&bob, 1));
        drop(second);
        assert!(third.take(&ann, 2));
        drop((first, third));
        assert!(lock(&all.open).is_empty());
    }
}
