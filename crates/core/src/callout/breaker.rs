//! A circuit breaker: after failures in a row, calls fail at once for a while; then one call tries.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// When a circuit breaker opens, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BreakerSettings {
    /// Failures in a row that open it; 0 for never.
    pub failures: u32,
    pub cool_down: Duration,
}

/// Decides whether a service is called.
pub(super) struct CircuitBreaker {
    settings: BreakerSettings,
    state: Mutex<BreakerState>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BreakerState {
    Closed {
        failures: u32,
    },
    /// The first call from this time on tries.
    Open {
        until: Instant,
    },
    /// One call is trying.
    HalfOpen,
}

/// Permission for a call, which reports how the call ended. One that is dropped reports nothing.
pub(super) struct BreakerPermit<'b> {
    breaker: &'b CircuitBreaker,
    /// Whether this is the call that tries.
    is_trial: bool,
}

/// What a call changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BreakerChange {
    None,
    Opened,
    Closed,
}

impl CircuitBreaker {
    pub fn new(settings: BreakerSettings) -> Self {
        Self {
            settings,
            state: Mutex::new(BreakerState::Closed { failures: 0 }),
        }
    }

    /// Permission for a call at this time; `None` while the breaker is open.
    pub fn admit(&self, now: Instant) -> Option<BreakerPermit<'_>> {
        let mut state = self.lock();
        let is_trial = match *state {
            BreakerState::Closed { .. } => false,
            BreakerState::Open { until } if now >= until => true,
            BreakerState::Open { .. } | BreakerState::HalfOpen => return None,
        };
        if is_trial {
            *state = BreakerState::HalfOpen;
        }
        Some(BreakerPermit {
            breaker: self,
            is_trial,
        })
    }

    pub fn is_open(&self) -> bool {
        !matches!(*self.lock(), BreakerState::Closed { .. })
    }

    fn lock(&self) -> MutexGuard<'_, BreakerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BreakerPermit<'_> {
    pub fn succeed(mut self) -> BreakerChange {
        let mut state = self.breaker.lock();
        let closes = std::mem::take(&mut self.is_trial);
        match *state {
            BreakerState::Closed { .. } => {}
            _ if closes => {}
            // A call from before the breaker opened.
            _ => return BreakerChange::None,
        }
        *state = BreakerState::Closed { failures: 0 };
        match closes {
            true => BreakerChange::Closed,
            false => BreakerChange::None,
        }
    }

    pub fn fail(mut self, now: Instant) -> BreakerChange {
        let BreakerSettings {
            failures: failures_max,
            cool_down,
        } = self.breaker.settings;
        let mut state = self.breaker.lock();
        let is_trial = std::mem::take(&mut self.is_trial);
        let failures = match *state {
            BreakerState::Closed { failures } => failures.saturating_add(1),
            _ if is_trial => failures_max,
            _ => return BreakerChange::None,
        };
        if failures_max == 0 || failures < failures_max {
            *state = BreakerState::Closed { failures };
            return BreakerChange::None;
        }
        *state = BreakerState::Open {
            until: now + cool_down,
        };
        match is_trial {
            true => BreakerChange::None,
            false => BreakerChange::Opened,
        }
    }
}

impl Drop for BreakerPermit<'_> {
    /// The next call tries in place of one that reported nothing.
    fn drop(&mut self) {
        if self.is_trial {
            *self.breaker.lock() = BreakerState::Open {
                until: Instant::now(),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COOL_DOWN: Duration = Duration::from_secs(10);

    fn breaker(failures: u32) -> CircuitBreaker {
        CircuitBreaker::new(BreakerSettings {
            failures,
            cool_down: COOL_DOWN,
        })
    }

    #[test]
    fn failures_in_a_row_open_it_and_one_trial_closes_it() {
        let (breaker, start) = (breaker(2), Instant::now());
        let call = |at| breaker.admit(at);
        assert_eq!(call(start).unwrap().fail(start), BreakerChange::None);
        assert_eq!(call(start).unwrap().succeed(), BreakerChange::None);
        assert_eq!(call(start).unwrap().fail(start), BreakerChange::None);
        assert_eq!(call(start).unwrap().fail(start), BreakerChange::Opened);
        assert!(call(start).is_none() && breaker.is_open());
        let later = start + COOL_DOWN;
        let trial = call(later).unwrap();
        assert!(call(later).is_none(), "one trial at a time");
        assert_eq!(trial.fail(later), BreakerChange::None);
        assert!(call(later).is_none());
        let last = later + COOL_DOWN;
        assert_eq!(call(last).unwrap().succeed(), BreakerChange::Closed);
        assert!(!breaker.is_open() && call(last).is_some());
    }

    #[test]
    fn a_trial_that_is_cancelled_leaves_the_next_call_to_try() {
        let (breaker, start) = (breaker(1), Instant::now());
        breaker.admit(start).unwrap().fail(start);
        let later = start + COOL_DOWN;
        drop(breaker.admit(later).unwrap());
        assert!(breaker.admit(Instant::now() + COOL_DOWN).is_some());
    }

    #[test]
    fn a_late_success_closes_nothing_and_no_failures_never_open_it() {
        let (one, start) = (breaker(1), Instant::now());
        let slow = one.admit(start).unwrap();
        one.admit(start).unwrap().fail(start);
        assert_eq!(slow.succeed(), BreakerChange::None);
        assert!(one.is_open());
        let never = breaker(0);
        for _ in 0..100 {
            never.admit(start).unwrap().fail(start);
        }
        assert!(!never.is_open());
    }
}
