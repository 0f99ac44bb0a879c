//! The health of one thing that may fail: well, left alone for a while, or tried again by one request.

#[cfg(test)]
mod tests;

use super::clock::MonotonicTime;
use super::outcome::FailureReason;
use crate::catalog::channel::HealthPolicy;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The time over which the share of failures is counted.
const FAILURE_WINDOW: Duration = Duration::from_secs(30);
/// Fewer requests say nothing of a share.
const FAILURE_WINDOW_REQUESTS_MIN: u32 = 20;
/// A provider that asks for more is tried after this all the same.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(60 * 60);
/// A probe whose request never ends lets another one through after this.
const TRIAL_MAX: Duration = Duration::from_secs(60);
/// The first cool-down of a credential without which a model is not served.
const SOLE_CREDENTIAL_FIRST: Duration = Duration::from_secs(2);
/// The longest cool-down of a credential.
const CREDENTIAL_MAX: Duration = Duration::from_secs(10 * 60);

/// Health of a channel, of a model on it, or of one of its keys.
#[derive(Debug, Default)]
pub struct HealthTracker(Mutex<HealthState>);

/// How it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthStatus {
    Healthy,
    /// Left alone long enough: one request may try.
    HalfOpen {
        /// Why it was left alone.
        reason: FailureReason,
    },
    CoolingDown {
        until: MonotonicTime,
        reason: FailureReason,
        /// Whether it may be used all the same where there is nothing else: the provider has not
        /// said itself how long it wants to be left alone, nor refused a key.
        allows_last_resort: bool,
    },
}

/// Leave to use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsePermit {
    Normal,
    /// This request decides whether it is well again.
    HalfOpenTrial,
    /// It is not well, but there is nothing else.
    LastResort,
}

/// It is left alone from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewCoolDown {
    pub span: Duration,
    pub reason: FailureReason,
}

#[derive(Debug, Default)]
struct HealthState {
    consecutive_failures: u32,
    recent: FailureRateWindow,
    cool_down: Option<CoolDown>,
    /// Cool-downs one after the other.
    step: u32,
}

#[derive(Clone, Copy, Debug)]
struct CoolDown {
    until: MonotonicTime,
    reason: FailureReason,
    allows_last_resort: bool,
    /// Until when a probe may take.
    trial_until: Option<MonotonicTime>,
}

/// Requests since the last half-minute began.
#[derive(Clone, Copy, Debug, Default)]
struct FailureRateWindow {
    since: MonotonicTime,
    requests: u32,
    failures: u32,
}

/// The policy for a credential without which a model is not served: it is tried again within seconds.
pub fn policy_of_sole_credential(policy: HealthPolicy) -> HealthPolicy {
    HealthPolicy {
        credential_cool_down: policy.credential_cool_down.min(SOLE_CREDENTIAL_FIRST),
        ..policy
    }
}

impl HealthTracker {
    pub fn status(&self, now: MonotonicTime) -> HealthStatus {
        match self.lock().cool_down {
            None => HealthStatus::Healthy,
            Some(CoolDown {
                until,
                reason,
                allows_last_resort,
                trial_until,
            }) => match trial_until {
                _ if now < until => HealthStatus::CoolingDown {
                    until,
                    reason,
                    allows_last_resort,
                },
                Some(deadline) if now < deadline => HealthStatus::CoolingDown {
                    until: deadline,
                    reason,
                    allows_last_resort,
                },
                _ => HealthStatus::HalfOpen { reason },
            },
        }
    }

    /// Leave to use it; none while it is left alone, and while another request tries it.
    pub fn try_use(&self, now: MonotonicTime) -> Option<UsePermit> {
        let mut state = self.lock();
        let Some(cool_down) = &mut state.cool_down else {
            return Some(UsePermit::Normal);
        };
        if now < cool_down.until || cool_down.trial_until.is_some_and(|deadline| now < deadline) {
            return None;
        }
        cool_down.trial_until = Some(now.after(TRIAL_MAX));
        Some(UsePermit::HalfOpenTrial)
    }

    /// Leave to use it where there is nothing else; none where even that would be wrong.
    pub fn try_use_as_last_resort(&self, now: MonotonicTime) -> Option<UsePermit> {
        if let Some(permit) = self.try_use(now) {
            return Some(permit);
        }
        let allows_last_resort = self
            .lock()
            .cool_down
            .is_none_or(|cool_down| cool_down.allows_last_resort);
        allows_last_resort.then_some(UsePermit::LastResort)
    }

    /// It did well; says whether it was not well before.
    pub fn record_success(&self, now: MonotonicTime, permit: UsePermit) -> bool {
        let mut state = self.lock();
        state.recent.count(now, false);
        let only_softly = state
            .cool_down
            .is_none_or(|cool_down| cool_down.allows_last_resort);
        if state.cool_down.is_some() && permit == UsePermit::Normal
            || permit == UsePermit::LastResort && !only_softly
        {
            // An answer to what was asked before it failed says nothing of how it is since.
            return false;
        }
        state.consecutive_failures = 0;
        state.step = 0;
        let recovered = state.cool_down.take().is_some();
        if recovered {
            state.recent = FailureRateWindow::default();
        }
        recovered
    }

    /// It failed; says whether it is left alone from now on.
    ///
    /// `jitter` from 0 to 1 spreads the cool-downs of several gateways.
    pub fn record_failure(
        &self,
        now: MonotonicTime,
        permit: UsePermit,
        policy: &HealthPolicy,
        reason: FailureReason,
        retry_after: Option<Duration>,
        jitter: f64,
    ) -> Option<NewCoolDown> {
        let mut state = self.lock();
        state.consecutive_failures = state.consecutive_failures.saturating_add(1);
        state.recent.count(now, true);
        if state.cool_down.is_some() && permit != UsePermit::HalfOpenTrial && retry_after.is_none()
        {
            return None;
        }
        let probe_failed = permit == UsePermit::HalfOpenTrial;
        let enough = policy.failures > 0
            && (state.consecutive_failures >= policy.failures
                || state.recent.is_over(policy.failure_percent)
                || reason.cools_down_at_once());
        if !enough && !probe_failed {
            return None;
        }
        let span = match retry_after {
            Some(retry_after) if !retry_after.is_zero() => retry_after.min(RETRY_AFTER_MAX),
            _ => state.next_span(policy, reason, jitter),
        };
        let until = now.after(span);
        let already = state.cool_down.is_some_and(|cool_down| {
            permit != UsePermit::HalfOpenTrial && cool_down.until >= until
        });
        if already {
            return None;
        }
        state.cool_down = Some(CoolDown {
            until,
            reason,
            allows_last_resort: retry_after.is_none_or(|retry_after| retry_after.is_zero())
                && !reason.concerns_credential(),
            trial_until: None,
        });
        Some(NewCoolDown { span, reason })
    }

    /// A probe that nobody asked leave for was answered well; says whether that ended a cool-down.
    ///
    /// Where the provider named a time or refused a key, its word stands.
    pub fn record_probe_success(&self, now: MonotonicTime) -> bool {
        let allows_last_resort = self
            .lock()
            .cool_down
            .is_none_or(|cool_down| cool_down.allows_last_resort);
        allows_last_resort && self.record_success(now, UsePermit::HalfOpenTrial)
    }

    /// A probe that nobody asked leave for failed; says whether it is left alone from now on.
    ///
    /// What is left alone already stays so until the next probe at least, so that no request tries it.
    pub fn record_probe_failure(
        &self,
        now: MonotonicTime,
        policy: &HealthPolicy,
        reason: FailureReason,
        jitter: f64,
    ) -> Option<NewCoolDown> {
        if let Some(cool_down) = &mut self.lock().cool_down {
            let next = now.after(policy.next_probe_within());
            cool_down.until = cool_down.until.max(next);
            return None;
        }
        self.record_failure(now, UsePermit::Normal, policy, reason, None, jitter)
    }

    /// The request that was to try it ended without telling anything.
    pub fn release_trial(&self, permit: UsePermit) {
        if permit == UsePermit::HalfOpenTrial
            && let Some(cool_down) = &mut self.lock().cool_down
        {
            cool_down.trial_until = None;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HealthState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HealthState {
    /// Twice as long as the one before, and up to a fifth shorter by chance.
    fn next_span(&mut self, policy: &HealthPolicy, reason: FailureReason, jitter: f64) -> Duration {
        let (first, longest) = match reason.concerns_credential() {
            true => (
                policy.credential_cool_down,
                CREDENTIAL_MAX.max(policy.credential_cool_down),
            ),
            false => (policy.cool_down, policy.cool_down_max),
        };
        let span = first.saturating_mul(1 << self.step.min(20)).min(longest);
        self.step = self.step.saturating_add(1);
        span.mul_f64(1.0 - jitter.clamp(0.0, 1.0) / 5.0)
    }
}

impl FailureRateWindow {
    fn count(&mut self, now: MonotonicTime, failed: bool) {
        if self.since.until(now) > FAILURE_WINDOW {
            *self = Self {
                since: now,
                requests: 0,
                failures: 0,
            };
        }
        self.requests += 1;
        self.failures += u32::from(failed);
    }

    fn is_over(&self, percent: u8) -> bool {
        self.requests >= FAILURE_WINDOW_REQUESTS_MIN
            && self.failures * 100 >= self.requests * u32::from(percent)
    }
}
