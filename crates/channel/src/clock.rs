//! The monotonic clock of channel state: milliseconds since the process started.

use headgate_core::state::calendar::whole_ms;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// A moment in milliseconds since the process started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct MonotonicTime(pub u64);

impl MonotonicTime {
    pub fn now() -> Self {
        Self(whole_ms(BEGAN.elapsed()))
    }

    pub fn at(instant: Instant) -> Self {
        Self(whole_ms(instant.saturating_duration_since(*BEGAN)))
    }

    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(whole_ms(span)))
    }

    /// The duration from `self` to `then`; zero if `then` has passed.
    pub fn until(self, then: Self) -> Duration {
        Duration::from_millis(then.0.saturating_sub(self.0))
    }
}
