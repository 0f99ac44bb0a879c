//! The health of one thing that may fail: well, left alone for a while, or tried again by one request.

#[cfg(test)]
mod tests;

use super::clock::Moment;
use super::outcome::Why;
use crate::catalog::channel::HealthPolicy;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The time over which the share of failures is counted.
const RECENT: Duration = Duration::from_secs(30);
/// Fewer requests say nothing of a share.
const RECENT_REQUESTS_MIN: u32 = 20;
/// A provider that asks for more is tried after this all the same.
const ASKED_MAX: Duration = Duration::from_secs(60 * 60);
/// A probe whose request never ends lets another one through after this.
const PROBE_MAX: Duration = Duration::from_secs(60);
/// The first cool-down of a credential without which a model is not served.
const SOLE_CREDENTIAL_FIRST: Duration = Duration::from_secs(2);
/// The longest cool-down of a credential.
const CREDENTIAL_MAX: Duration = Duration::from_secs(10 * 60);

/// Health of a channel, of a model on it, or of one of its keys.
#[derive(Debug, Default)]
pub struct Health(Mutex<State>);

/// How it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Well,
    /// Left alone long enough: one request may try.
    OnProbation {
        /// Why it was left alone.
        why: Why,
    },
    Cooling {
        until: Moment,
        why: Why,
        /// Whether it may be used all the same where there is nothing else: the provider has not
        /// said itself how long it wants to be left alone, nor refused a key.
        softly: bool,
    },
}

/// Leave to use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    Free,
    /// This request decides whether it is well again.
    Probe,
    /// It is not well, but there is nothing else.
    LastResort,
}

/// It is left alone from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cooled {
    pub span: Duration,
    pub why: Why,
}

#[derive(Debug, Default)]
struct State {
    in_a_row: u32,
    recent: Recent,
    cooling: Option<Cooling>,
    /// Cool-downs one after the other.
    step: u32,
}

#[derive(Clone, Copy, Debug)]
struct Cooling {
    until: Moment,
    why: Why,
    softly: bool,
    /// Until when a probe may take.
    probing: Option<Moment>,
}

/// Requests since the last half-minute began.
#[derive(Clone, Copy, Debug, Default)]
struct Recent {
    since: Moment,
    requests: u32,
    failures: u32,
}

/// The policy for a credential without which a model is not served: it is tried again within seconds.
pub fn of_sole_credential(policy: HealthPolicy) -> HealthPolicy {
    HealthPolicy {
        credential_cool_down: policy.credential_cool_down.min(SOLE_CREDENTIAL_FIRST),
        ..policy
    }
}

impl Health {
    pub fn standing(&self, now: Moment) -> Standing {
        match self.lock().cooling {
            None => Standing::Well,
            Some(Cooling {
                until,
                why,
                softly,
                probing,
            }) => match probing {
                _ if now < until => Standing::Cooling { until, why, softly },
                Some(deadline) if now < deadline => Standing::Cooling {
                    until: deadline,
                    why,
                    softly,
                },
                _ => Standing::OnProbation { why },
            },
        }
    }

    /// Leave to use it; none while it is left alone, and while another request tries it.
    pub fn ask(&self, now: Moment) -> Option<Leave> {
        let mut state = self.lock();
        let Some(cooling) = &mut state.cooling else {
            return Some(Leave::Free);
        };
        if now < cooling.until || cooling.probing.is_some_and(|deadline| now < deadline) {
            return None;
        }
        cooling.probing = Some(now.after(PROBE_MAX));
        Some(Leave::Probe)
    }

    /// Leave to use it where there is nothing else; none where even that would be wrong.
    pub fn ask_as_last_resort(&self, now: Moment) -> Option<Leave> {
        if let Some(leave) = self.ask(now) {
            return Some(leave);
        }
        let softly = self.lock().cooling.is_none_or(|cooling| cooling.softly);
        softly.then_some(Leave::LastResort)
    }

    /// It did well; says whether it was not well before.
    pub fn well(&self, now: Moment, leave: Leave) -> bool {
        let mut state = self.lock();
        state.recent.count(now, false);
        let only_softly = state.cooling.is_none_or(|cooling| cooling.softly);
        if state.cooling.is_some() && leave == Leave::Free
            || leave == Leave::LastResort && !only_softly
        {
            // An answer to what was asked before it failed says nothing of how it is since.
            return false;
        }
        state.in_a_row = 0;
        state.step = 0;
        let recovered = state.cooling.take().is_some();
        if recovered {
            state.recent = Recent::default();
        }
        recovered
    }

    /// It failed; says whether it is left alone from now on.
    ///
    /// `jitter` from 0 to 1 spreads the cool-downs of several gateways.
    pub fn failed(
        &self,
        now: Moment,
        leave: Leave,
        policy: &HealthPolicy,
        why: Why,
        asked: Option<Duration>,
        jitter: f64,
    ) -> Option<Cooled> {
        let mut state = self.lock();
        state.in_a_row = state.in_a_row.saturating_add(1);
        state.recent.count(now, true);
        if state.cooling.is_some() && leave != Leave::Probe && asked.is_none() {
            return None;
        }
        let probe_failed = leave == Leave::Probe;
        let enough = policy.failures > 0
            && (state.in_a_row >= policy.failures
                || state.recent.is_over(policy.failure_percent)
                || why.is_decisive());
        if !enough && !probe_failed {
            return None;
        }
        let span = match asked {
            Some(asked) if !asked.is_zero() => asked.min(ASKED_MAX),
            _ => state.next_span(policy, why, jitter),
        };
        let until = now.after(span);
        let already = state
            .cooling
            .is_some_and(|cooling| leave != Leave::Probe && cooling.until >= until);
        if already {
            return None;
        }
        state.cooling = Some(Cooling {
            until,
            why,
            softly: asked.is_none_or(|asked| asked.is_zero()) && !why.is_about_a_key(),
            probing: None,
        });
        Some(Cooled { span, why })
    }

    /// A probe that nobody asked leave for was answered well; says whether that ended a cool-down.
    ///
    /// Where the provider named a time or refused a key, its word stands.
    pub fn probed_well(&self, now: Moment) -> bool {
        let softly = self.lock().cooling.is_none_or(|cooling| cooling.softly);
        softly && self.well(now, Leave::Probe)
    }

    /// A probe that nobody asked leave for failed; says whether it is left alone from now on.
    ///
    /// What is left alone already stays so until the next probe at least, so that no request tries it.
    pub fn probe_failed(
        &self,
        now: Moment,
        policy: &HealthPolicy,
        why: Why,
        jitter: f64,
    ) -> Option<Cooled> {
        if let Some(cooling) = &mut self.lock().cooling {
            let next = now.after(policy.probed_again_within());
            cooling.until = cooling.until.max(next);
            return None;
        }
        self.failed(now, Leave::Free, policy, why, None, jitter)
    }

    /// The request that was to try it ended without telling anything.
    pub fn untold(&self, leave: Leave) {
        if leave == Leave::Probe
            && let Some(cooling) = &mut self.lock().cooling
        {
            cooling.probing = None;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Twice as long as the one before, and up to a fifth shorter by chance.
    fn next_span(&mut self, policy: &HealthPolicy, why: Why, jitter: f64) -> Duration {
        let (first, longest) = match why.is_about_a_key() {
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

impl Recent {
    fn count(&mut self, now: Moment, failed: bool) {
        if self.since.until(now) > RECENT {
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
        self.requests >= RECENT_REQUESTS_MIN
            && self.failures * 100 >= self.requests * u32::from(percent)
    }
}
