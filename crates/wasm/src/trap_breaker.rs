//! When a plugin that fails repeatedly gets no more streams, and for how long.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Traps within [`WINDOW`] that disable the plugin.
pub(crate) const TRAPS_MAX: usize = 5;
const WINDOW: Duration = Duration::from_secs(60);
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Disables a plugin after repeated traps, or when an instance cannot be started: first for a second, and for twice as
/// long each time it happens again, up to a minute. A minute without a failure resets the time.
#[derive(Default)]
pub(crate) struct TrapBreaker {
    traps: VecDeque<Instant>,
    pause: Option<Duration>,
    disabled_until: Option<Instant>,
}

impl TrapBreaker {
    /// An instance trapped.
    pub fn trapped(&mut self, now: Instant) {
        self.forget(now);
        self.traps.push_back(now);
        if self.traps.len() > TRAPS_MAX {
            self.traps.pop_front();
        }
        if self.traps.len() == TRAPS_MAX {
            self.disable(now);
        }
    }

    /// An instance did not start.
    pub fn start_failed(&mut self, now: Instant) {
        self.forget(now);
        self.disable(now);
    }

    /// For how long the plugin still gets no streams.
    pub fn disabled_for(&self, now: Instant) -> Option<Duration> {
        let until = self.disabled_until?;
        Some(until.saturating_duration_since(now)).filter(|left| !left.is_zero())
    }

    fn disable(&mut self, now: Instant) {
        // Streams that had begun before may still trap.
        if self.disabled_for(now).is_some() {
            return;
        }
        let pause = self
            .pause
            .map_or(PAUSE_MIN, |pause| (pause * 2).min(PAUSE_MAX));
        self.pause = Some(pause);
        self.disabled_until = Some(now + pause);
    }

    fn forget(&mut self, now: Instant) {
        let is_old = |trap: &Instant| now.saturating_duration_since(*trap) >= WINDOW;
        while self.traps.front().is_some_and(is_old) {
            self.traps.pop_front();
        }
        if self.disabled_until.as_ref().is_some_and(is_old) {
            self.pause = None;
        }
    }
}
