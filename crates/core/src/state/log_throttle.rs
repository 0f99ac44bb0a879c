//! Keeps failures that repeat, such as those of an unreachable store, from flooding the log.

use super::calendar::unix_ms;
use std::sync::atomic::{AtomicU64, Ordering};

/// Admits one line a second.
#[derive(Debug)]
pub struct LogThrottle {
    /// The Unix second of the last question.
    second: AtomicU64,
}

impl LogThrottle {
    #[allow(clippy::new_without_default, reason = "it is made as a static")]
    pub const fn new() -> Self {
        Self {
            second: AtomicU64::new(0),
        }
    }

    /// Whether a line may be logged: it is the first one of this second.
    pub fn admits(&self) -> bool {
        let second = unix_ms() / 1000;
        self.second.swap(second, Ordering::Relaxed) != second
    }
}
