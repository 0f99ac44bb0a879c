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
        /// Whether the service was not reached in each of them.
        is_unreachable: bool,
    },
    /// The first call from this time on tries.
    Open {
        until: Instant,
        is_unreachable: bool,
    },
    /// One call is trying.
    HalfOpen { is_unreachable: bool },
}

/// A call that an open breaker does not permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OpenBreaker {
    /// Whether the failures that opened it were all of a service that was not reached: what callers send does not cause these.
    pub is_unreachable: bool,
}

/// Permission for a call, which reports how the call ended. One that is dropped reports nothing.
pub(super) struct BreakerPermit<'b> {
    breaker: &'b CircuitBreaker,
    /// Whether this is the call that tries.
    is_trial: bool,
    /// Of the breaker that it tries to close.
    is_unreachable: bool,
}

/// What a call changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BreakerChange {
    None,
    Opened,
    Closed,
}

impl BreakerState {
    const CLOSED: Self = Self::Closed {
        failures: 0,
        is_unreachable: true,
    };
}

impl CircuitBreaker {
    pub fn new(settings: BreakerSettings) -> Self {
        Self {
            settings,
            state: Mutex::new(BreakerState::CLOSED),
        }
    }

    /// Permission for a call at this time.
    ///
    /// # Errors
    /// The breaker is open.
    pub fn admit(&self, now: Instant) -> Result<BreakerPermit<'_>, OpenBreaker> {
        let mut state = self.lock();
        let (is_trial, is_unreachable) = match *state {
            BreakerState::Closed { .. } => (false, true),
            BreakerState::Open {
                until,
                is_unreachable,
            } if now >= until => (true, is_unreachable),
            BreakerState::Open { is_unreachable, .. }
            | BreakerState::HalfOpen { is_unreachable } => {
                return Err(OpenBreaker { is_unreachable });
            }
        };
        if is_trial {
            *state = BreakerState::HalfOpen { is_unreachable };
        }
        Ok(BreakerPermit {
            breaker: self,
            is_trial,
            is_unreachable,
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
        *state = BreakerState::CLOSED;
        match closes {
            true => BreakerChange::Closed,
            false => BreakerChange::None,
        }
    }

    /// The call failed; `is_unreachable` if the service was not reached.
    pub fn fail(mut self, now: Instant, is_unreachable: bool) -> BreakerChange {
        let BreakerSettings {
            failures: failures_max,
            cool_down,
        } = self.breaker.settings;
        let mut state = self.breaker.lock();
        let is_trial = std::mem::take(&mut self.is_trial);
        let (failures, is_unreachable) = match *state {
            BreakerState::Closed {
                failures,
                is_unreachable: were_unreachable,
            } => (
                failures.saturating_add(1),
                were_unreachable && is_unreachable,
            ),
            _ if is_trial => (failures_max, is_unreachable),
            _ => return BreakerChange::None,
        };
        if failures_max == 0 || failures < failures_max {
            *state = BreakerState::Closed {
                failures,
                is_unreachable,
            };
            return BreakerChange::None;
        }
        *state = BreakerState::Open {
            until: now + cool_down,
            is_unreachable,
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
                is_unreachable: self.is_unreachable,
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
        assert_eq!(call(start).unwrap().fail(start, true), BreakerChange::None);
        assert_eq!(call(start).unwrap().succeed(), BreakerChange::None);
        assert_eq!(call(start).unwrap().fail(start, true), BreakerChange::None);
        assert_eq!(
            call(start).unwrap().fail(start, true),
            BreakerChange::Opened
        );
        assert!(call(start).is_err() && breaker.is_open());
        let later = start + COOL_DOWN;
        let trial = call(later).unwrap();
        assert!(call(later).is_err(), "one trial at a time");
        assert_eq!(trial.fail(later, true), BreakerChange::None);
        assert!(call(later).is_err());
        let last = later + COOL_DOWN;
        assert_eq!(call(last).unwrap().succeed(), BreakerChange::Closed);
        assert!(!breaker.is_open() && call(last).is_ok());
    }

    #[test]
    fn a_trial_that_is_cancelled_leaves_the_next_call_to_try() {
        let (breaker, start) = (breaker(1), Instant::now());
        breaker.admit(start).unwrap().fail(start, true);
        let later = start + COOL_DOWN;
        drop(breaker.admit(later).unwrap());
        assert!(breaker.admit(Instant::now() + COOL_DOWN).is_ok());
    }

    #[test]
    fn a_late_success_closes_nothing_and_no_failures_never_open_it() {
        let (one, start) = (breaker(1), Instant::now());
        let slow = one.admit(start).unwrap();
        one.admit(start).unwrap().fail(start, true);
        assert_eq!(slow.succeed(), BreakerChange::None);
        assert!(one.is_open());
        let never = breaker(0);
        for _ in 0..100 {
            never.admit(start).unwrap().fail(start, true);
        }
        assert!(!never.is_open());
    }

    #[test]
    fn an_open_breaker_knows_whether_the_service_was_not_reached() {
        let start = Instant::now();
        for (failures, expected) in [
            (&[true, true][..], true),
            (&[false, true], false),
            (&[true, false], false),
        ] {
            let breaker = breaker(2);
            for is_unreachable in failures {
                breaker.admit(start).unwrap().fail(start, *is_unreachable);
            }
            let open = |at| breaker.admit(at).err().map(|open| open.is_unreachable);
            assert_eq!(open(start), Some(expected), "{failures:?}");
            let later = start + COOL_DOWN;
            let trial = breaker.admit(later).unwrap();
            assert_eq!(open(later), Some(expected), "{failures:?}");
            trial.fail(later, !expected);
            assert_eq!(open(later), Some(!expected), "{failures:?}");
        }
    }
}
