//! The two clocks of limits: a monotonic one for seconds and minutes, the system clock for days and months.

use super::calendar::{unix_ms, whole_ms};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

/// One moment on both clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockReading {
    /// Milliseconds of a monotonic clock, since an arbitrary start.
    pub steady_ms: u64,
    /// Unix milliseconds. An operator or a time server may set this clock.
    pub unix_ms: u64,
}

/// The source of a store's time.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> ClockReading + Send + Sync>);

static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

impl ClockReading {
    pub fn now() -> Self {
        Self {
            steady_ms: steady_ms(),
            unix_ms: unix_ms(),
        }
    }

    /// A moment on the only clock of another machine (Redis).
    pub fn from_server(unix_ms: u64) -> Self {
        Self {
            steady_ms: unix_ms,
            unix_ms,
        }
    }
}

impl Clock {
    /// A clock that a test sets.
    pub fn new(read: impl Fn() -> ClockReading + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    pub fn now(&self) -> ClockReading {
        (self.0)()
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new(ClockReading::now)
    }
}

/// Milliseconds of a monotonic clock, since the first call.
pub fn steady_ms() -> u64 {
    whole_ms(BEGAN.elapsed())
}
