//! The health of a channel, model or credential: healthy, in cool-down, or half-open for one trial request.

#[cfg(test)]
mod tests;

use super::clock::MonotonicTime;
use super::evidence::SuspectRequest;
use super::health_status::{HealthReport, HealthStatus, LastError};
use super::outcome::{AttemptFailure, FailureReason};
use super::unconfirmed_failures::UnconfirmedFailures;
use headgate_core::catalog::channel::HealthPolicy;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// The window in which the failure rate is counted.
const FAILURE_WINDOW: Duration = Duration::from_secs(30);
/// The failure rate is ignored below this number of requests.
const FAILURE_WINDOW_REQUESTS_MIN: u32 = 20;
/// The longest cool-down by Retry-After; a longer value of the provider is reduced to it.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(60 * 60);
/// A trial request that has not ended after this time lets another one through.
const TRIAL_MAX: Duration = Duration::from_secs(60);
/// The first cool-down of the only credential that can serve a model.
const SOLE_CREDENTIAL_FIRST: Duration = Duration::from_secs(2);
/// The longest cool-down of a credential.
const CREDENTIAL_MAX: Duration = Duration::from_secs(10 * 60);

/// The health of a channel, of a model on it, or of one of its credentials.
#[derive(Debug, Default)]
pub struct HealthTracker(Mutex<HealthState>);

/// Permission to use a channel, model or credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthPermit {
    Normal,
    /// A trial after a cool-down: the result of this request decides whether the cool-down ends.
    HalfOpenTrial,
    /// In cool-down, but used because nothing else is usable.
    LastResort,
}

/// A cool-down that has just begun.
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
    /// The number of cool-downs in a row.
    step: u32,
    last_error: Option<LastError>,
    /// Inconclusive failures since the last success, which do not count yet.
    unconfirmed: Option<UnconfirmedFailures>,
}

#[derive(Clone, Copy, Debug)]
struct CoolDown {
    /// The start of the first cool-down since the last recovery, on both clocks.
    since: (MonotonicTime, SystemTime),
    until: MonotonicTime,
    reason: FailureReason,
    allows_last_resort: bool,
    /// The deadline of a trial in flight; after it another request may try.
    trial_until: Option<MonotonicTime>,
}

/// Counts of requests since the window began.
#[derive(Clone, Copy, Debug, Default)]
struct FailureRateWindow {
    since: MonotonicTime,
    requests: u32,
    failures: u32,
}

/// The policy for the only credential that can serve a model: it is tried again within seconds.
pub fn policy_of_sole_credential(policy: HealthPolicy) -> HealthPolicy {
    HealthPolicy {
        credential_cool_down: policy.credential_cool_down.min(SOLE_CREDENTIAL_FIRST),
        ..policy
    }
}

impl HealthTracker {
    pub fn status(&self, now: MonotonicTime) -> HealthStatus {
        self.lock().status(now)
    }

    /// The status with its times and the last error.
    pub fn report(&self, now: MonotonicTime) -> HealthReport {
        let state = self.lock();
        let cool_down = state.cool_down.as_ref();
        HealthReport {
            status: state.status(now),
            since: cool_down.map(|cool_down| cool_down.since.1),
            until: cool_down
                .filter(|cool_down| now < cool_down.until)
                .map(|cool_down| {
                    let (began, since) = cool_down.since;
                    since + began.until(cool_down.until)
                }),
            last_error: state.last_error.clone(),
            unconfirmed: state.unconfirmed,
        }
    }

    /// Permission to use it; `None` in cool-down and during another request's trial.
    pub fn try_use(&self, now: MonotonicTime) -> Option<HealthPermit> {
        let mut state = self.lock();
        let Some(cool_down) = &mut state.cool_down else {
            return Some(HealthPermit::Normal);
        };
        if now < cool_down.until || cool_down.trial_until.is_some_and(|deadline| now < deadline) {
            return None;
        }
        cool_down.trial_until = Some(now.after(TRIAL_MAX));
        Some(HealthPermit::HalfOpenTrial)
    }

    /// Permission to use it as a last resort; `None` if the provider sent Retry-After or refused a credential.
    pub fn try_use_as_last_resort(&self, now: MonotonicTime) -> Option<HealthPermit> {
        if let Some(permit) = self.try_use(now) {
            return Some(permit);
        }
        let allows_last_resort = self
            .lock()
            .cool_down
            .is_none_or(|cool_down| cool_down.allows_last_resort);
        allows_last_resort.then_some(HealthPermit::LastResort)
    }

    /// Records a success; returns whether that ended a cool-down.
    pub fn record_success(&self, now: MonotonicTime, permit: HealthPermit) -> bool {
        let mut state = self.lock();
        state.recent.count(now, false);
        let only_softly = state
            .cool_down
            .is_none_or(|cool_down| cool_down.allows_last_resort);
        if state.cool_down.is_some() && permit == HealthPermit::Normal
            || permit == HealthPermit::LastResort && !only_softly
        {
            // A response to a request from before the cool-down shows nothing about the health since.
            return false;
        }
        state.consecutive_failures = 0;
        state.step = 0;
        state.unconfirmed = None;
        let recovered = state.cool_down.take().is_some();
        if recovered {
            state.recent = FailureRateWindow::default();
        }
        recovered
    }

    /// Records a failure that one request may have provoked; returns whether another request has failed in the same way,
    /// so that the failure counts.
    pub fn confirm_failure(
        &self,
        now: MonotonicTime,
        failure: &AttemptFailure,
        request: SuspectRequest,
        request_id: &str,
    ) -> bool {
        let mut state = self.lock();
        state.last_error = Some(LastError::now(failure, request_id));
        let earlier = &mut state.unconfirmed;
        UnconfirmedFailures::record(earlier, now, failure.reason, request)
    }

    /// Records a failure; returns the cool-down if one begins.
    ///
    /// `jitter`, from 0 to 1, spreads the cool-downs of several gateways.
    pub fn record_failure(
        &self,
        now: MonotonicTime,
        permit: HealthPermit,
        policy: &HealthPolicy,
        failure: &AttemptFailure,
        request_id: &str,
        jitter: f64,
    ) -> Option<NewCoolDown> {
        let AttemptFailure {
            reason,
            retry_after,
            ..
        } = *failure;
        let mut state = self.lock();
        state.last_error = Some(LastError::now(failure, request_id));
        state.consecutive_failures = state.consecutive_failures.saturating_add(1);
        state.recent.count(now, true);
        if state.cool_down.is_some()
            && permit != HealthPermit::HalfOpenTrial
            && retry_after.is_none()
        {
            return None;
        }
        let probe_failed = permit == HealthPermit::HalfOpenTrial;
        let enough = policy.consecutive_failures > 0
            && (state.consecutive_failures >= policy.consecutive_failures
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
            permit != HealthPermit::HalfOpenTrial && cool_down.until >= until
        });
        if already {
            return None;
        }
        let earlier = state.cool_down.map(|cool_down| cool_down.since);
        state.cool_down = Some(CoolDown {
            since: earlier.unwrap_or_else(|| (now, SystemTime::now())),
            until,
            reason,
            allows_last_resort: retry_after.is_none_or(|retry_after| retry_after.is_zero())
                && !reason.concerns_credential(),
            trial_until: None,
        });
        Some(NewCoolDown { span, reason })
    }

    /// Records the success of an active probe; returns whether that ended a cool-down.
    ///
    /// A cool-down after Retry-After or a refused credential does not end early.
    pub fn record_probe_success(&self, now: MonotonicTime) -> bool {
        let allows_last_resort = self
            .lock()
            .cool_down
            .is_none_or(|cool_down| cool_down.allows_last_resort);
        allows_last_resort && self.record_success(now, HealthPermit::HalfOpenTrial)
    }

    /// Records the failure of an active probe; returns the cool-down if one begins.
    ///
    /// A cool-down in progress is extended to the next probe at least, so that no request becomes a trial before it.
    pub fn record_probe_failure(
        &self,
        now: MonotonicTime,
        policy: &HealthPolicy,
        failure: &AttemptFailure,
        request_id: &str,
        jitter: f64,
    ) -> Option<NewCoolDown> {
        {
            let mut state = self.lock();
            if let Some(cool_down) = &mut state.cool_down {
                let next = now.after(policy.next_probe_within());
                cool_down.until = cool_down.until.max(next);
                state.last_error = Some(LastError::now(failure, request_id));
                return None;
            }
        }
        self.record_failure(
            now,
            HealthPermit::Normal,
            policy,
            failure,
            request_id,
            jitter,
        )
    }

    /// Ends a cool-down and forgets failures; the last error stays known. Returns whether there was a cool-down.
    pub fn reset(&self) -> bool {
        let mut state = self.lock();
        let last_error = state.last_error.take();
        let before = std::mem::take(&mut *state);
        state.last_error = last_error;
        before.cool_down.is_some()
    }

    /// Releases a half-open trial whose request ended without a result.
    pub fn release_trial(&self, permit: HealthPermit) {
        if permit == HealthPermit::HalfOpenTrial
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
    fn status(&self, now: MonotonicTime) -> HealthStatus {
        let Some(cool_down) = &self.cool_down else {
            return HealthStatus::Healthy;
        };
        let reason = cool_down.reason;
        let cooling_down = |until, is_tested| HealthStatus::CoolingDown {
            until,
            reason,
            is_tested,
            allows_last_resort: cool_down.allows_last_resort,
        };
        match cool_down.trial_until {
            _ if now < cool_down.until => cooling_down(cool_down.until, false),
            Some(deadline) if now < deadline => cooling_down(deadline, true),
            _ => HealthStatus::HalfOpen { reason },
        }
    }

    /// The next cool-down: twice as long as the one before, and up to a fifth shorter at random.
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
