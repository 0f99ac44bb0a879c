//! The time by which a process counts: minutes on a clock that never jumps, days and months on the calendar's.

use super::calendar::unix_ms;
use std::sync::{Arc, LazyLock};
use std::time::Instant;

/// One moment on both clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamp {
    /// Milliseconds of a clock that never jumps, since any begin.
    pub steady_ms: u64,
    /// Unix milliseconds. An operator or a time server may set this clock.
    pub unix_ms: u64,
}

/// Where a store reads the time.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

impl Timestamp {
    pub fn now() -> Self {
        Self {
            steady_ms: steady_ms(),
            unix_ms: unix_ms(),
        }
    }

    /// A moment on the one clock of another machine.
    pub fn of_server(unix_ms: u64) -> Self {
        Self {
            steady_ms: unix_ms,
            unix_ms,
        }
    }
}

impl Clock {
    /// One that a test sets.
    pub fn new(read: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new(Timestamp::now)
    }
}

/// Milliseconds of a clock that never jumps.
pub fn steady_ms() -> u64 {
    u64::try_from(BEGAN.elapsed().as_millis()).unwrap_or(u64::MAX)
}
