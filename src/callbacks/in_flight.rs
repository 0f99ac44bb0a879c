//! Limits concurrent work by key, so that a slow receiver or channel delays only its own work.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Counts of work in flight: in total, and by key.
pub struct WorkInFlight {
    total_max: usize,
    of_key_max: usize,
    counts: Mutex<HashMap<String, usize>>,
}

/// A place for one piece of work; dropping it frees the place.
pub struct WorkPermit {
    work: Arc<WorkInFlight>,
    key: String,
}

impl WorkInFlight {
    pub fn new(total_max: usize, of_key_max: usize) -> Self {
        Self {
            total_max,
            of_key_max,
            counts: Mutex::default(),
        }
    }

    /// A place for work on `key`; `None` if there is none free.
    pub fn begin(self: &Arc<Self>, key: &str) -> Option<WorkPermit> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let of_key = counts.get(key).copied().unwrap_or(0);
        if of_key >= self.of_key_max || counts.values().sum::<usize>() >= self.total_max {
            return None;
        }
        counts.insert(key.to_owned(), of_key + 1);
        Some(WorkPermit {
            work: self.clone(),
            key: key.to_owned(),
        })
    }
}

impl Drop for WorkPermit {
    fn drop(&mut self) {
        let mut counts = self
            .work
            .counts
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_on_one_key_leaves_places_for_others() {
        let work = Arc::new(WorkInFlight::new(3, 2));
        let held: Vec<_> = (0..2).map(|_| work.begin("a").unwrap()).collect();
        assert!(work.begin("a").is_none());
        let other = work.begin("b").unwrap();
        assert!(work.begin("c").is_none());
        drop((held, other));
        assert!(work.begin("a").is_some());
    }
}
