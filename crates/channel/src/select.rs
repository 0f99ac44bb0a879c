//! Selects the candidate of an attempt, by weight and load, within the lowest tier that has a usable candidate.
//!
//! Two candidates are drawn at random by weight, and the one with fewer requests in flight for its weight is used. Idle
//! channels share traffic exactly by weight. A channel that becomes slow gets less traffic at once, before any timeout;
//! a smooth round robin would keep sending it its share. No state is shared between requests, so nothing is locked.
//!
//! If every candidate is in cool-down, the first attempt goes to the one of the lowest tier whose cool-down ends first,
//! unless its provider sent Retry-After or refused the credential: the provider's own error is more useful than one of
//! the gateway, and often the request succeeds.
//!
//! A request with an affinity key does not draw: its key orders the candidates.

mod affinity;
mod draw;

#[cfg(test)]
pub(super) mod tests;

use super::balancing::LoadBalancing;
use super::clock::MonotonicTime;
use super::health::{HealthPermit, HealthTracker};
use super::health_status::HealthStatus;
use super::lease::{ChannelLease, HealthScopePermit};
use super::live::{ChannelLoad, ChannelStates};
use super::outcome::HealthScope;
use super::state_map::StateHandle;
use super::unusable::{NoUsableChannel, UnusableReason};
use draw::{CandidateWithLoad, draw};
use headgate_core::catalog::model::{Candidate, LoadMeasure};
use headgate_core::random::random_below;
use smallvec::SmallVec;
use std::sync::Arc;
use std::time::Duration;

/// The candidates of one rank. A model rarely has more channels than the stack has places for.
type UsableCandidates<'c> = SmallVec<[CandidateWithLoad<'c>; 4]>;

/// How often a candidate is drawn again if another request takes the drawn one first.
const DRAWS_MAX: usize = 8;

impl ChannelStates {
    /// Takes a lease of the candidate to try next, for a request for which any candidate is as good as another.
    ///
    /// # Errors
    /// The reasons why no candidate can be used.
    pub fn choose(
        self: &Arc<Self>,
        candidates: &[Candidate],
        tried: &[Arc<str>],
        now: MonotonicTime,
    ) -> Result<ChannelLease, NoUsableChannel> {
        self.choose_balanced(&LoadBalancing::default(), candidates, tried, now)
    }

    /// Takes a lease of the candidate to try next.
    ///
    /// # Errors
    /// The reasons why no candidate can be used.
    pub fn choose_balanced(
        self: &Arc<Self>,
        balancing: &LoadBalancing,
        candidates: &[Candidate],
        tried: &[Arc<str>],
        now: MonotonicTime,
    ) -> Result<ChannelLease, NoUsableChannel> {
        for _ in 0..DRAWS_MAX {
            let usable = self.usable(candidates, tried, now);
            let affinity = balancing.affinity.as_deref();
            let affinity = affinity.filter(|_| usable.iter().all(CandidateWithLoad::is_any));
            let drawn = match (affinity, balancing.measure) {
                (Some(affinity), _) => self.first_in_order(affinity, &usable),
                (None, LoadMeasure::InFlight) => draw(&usable, random_below),
                (None, LoadMeasure::Latency) => self.draw_faster(&usable, random_below, now),
            };
            let Some(drawn) = drawn else {
                break;
            };
            let load = drawn.load.clone();
            let outcome = affinity.map(|affinity| {
                self.affinity_outcome(affinity, drawn.candidate, candidates, tried, now)
            });
            let lease = self.begin(drawn.candidate, load, now, HealthTracker::try_use);
            if let Some(mut lease) = lease {
                lease.affinity = outcome;
                lease.is_timed = balancing.measure == LoadMeasure::Latency;
                if let Some(caller) = affinity.and_then(|affinity| affinity.caller.as_ref()) {
                    lease.count_for_caller(caller);
                }
                return Ok(lease);
            }
        }
        let has_last_resort = |one: &Candidate| one.endpoint.has_last_resort();
        if tried.is_empty()
            && candidates.iter().all(has_last_resort)
            && let Some(lease) = self.last_resort(candidates, now)
        {
            return Ok(lease);
        }
        Err(NoUsableChannel {
            reasons: self.reasons(candidates, tried, now),
        })
    }

    /// Whether there is a candidate to try next.
    pub fn has_another<'c>(
        &self,
        candidates: impl IntoIterator<Item = &'c Candidate>,
        tried: &[Arc<str>],
        now: MonotonicTime,
    ) -> bool {
        candidates
            .into_iter()
            .any(|candidate| self.unusable_reason(candidate, tried, now).is_none())
    }

    /// Why `candidate` cannot be used; `None` if it can.
    pub fn unusable_reason(
        &self,
        candidate: &Candidate,
        tried: &[Arc<str>],
        now: MonotonicTime,
    ) -> Option<UnusableReason> {
        let channel = &candidate.channel;
        if tried.contains(&channel.name) {
            return Some(UnusableReason::AlreadyTried);
        }
        if self.is_drained_for(candidate) {
            return Some(UnusableReason::Drained);
        }
        if let Some(reached) = self.load(channel).reached_limit(&channel.limits, now) {
            return Some(UnusableReason::AtLimit(reached));
        }
        let model = candidate.model_fingerprint();
        let class = candidate.endpoint;
        [
            (HealthScope::Channel, Some(channel.fingerprint)),
            (HealthScope::Model, model),
        ]
        .into_iter()
        .find_map(|(scope, fingerprint)| {
            self.cool_down_reason(scope, class.health_fingerprint(fingerprint?), now)
        })
        .or_else(|| self.all_credentials_cooling(candidate, now))
    }

    /// The usable candidates of the lowest tier that has any; a preferred candidate is a tier of its own.
    fn usable<'c>(
        &self,
        candidates: &'c [Candidate],
        tried: &[Arc<str>],
        now: MonotonicTime,
    ) -> UsableCandidates<'c> {
        let mut usable = UsableCandidates::new();
        for candidate in candidates {
            let rank = candidate.rank();
            if usable
                .first()
                .is_some_and(|first| first.candidate.rank() != rank)
            {
                break;
            }
            if self.unusable_reason(candidate, tried, now).is_none() {
                usable.push(CandidateWithLoad {
                    candidate,
                    load: self.load(&candidate.channel),
                });
            }
        }
        usable
    }

    /// A lease of a channel in cool-down: of the lowest tier, the one whose cool-down ends first.
    fn last_resort(
        self: &Arc<Self>,
        candidates: &[Candidate],
        now: MonotonicTime,
    ) -> Option<ChannelLease> {
        let mut cooling: Vec<(Duration, &Candidate)> = candidates
            .iter()
            .filter_map(
                |candidate| match self.unusable_reason(candidate, &[], now)? {
                    UnusableReason::CoolingDown {
                        left,
                        allows_last_resort,
                        ..
                    } if allows_last_resort => Some((left, candidate)),
                    _ => None,
                },
            )
            .collect();
        cooling.sort_by_key(|(left, candidate)| (candidate.rank(), *left));
        cooling.into_iter().find_map(|(_, candidate)| {
            let load = self.load(&candidate.channel);
            self.begin(candidate, load, now, HealthTracker::try_use_as_last_resort)
        })
    }

    fn reasons(
        &self,
        candidates: &[Candidate],
        tried: &[Arc<str>],
        now: MonotonicTime,
    ) -> Vec<(Arc<str>, UnusableReason)> {
        candidates
            .iter()
            .filter_map(|candidate| {
                let reason = self.unusable_reason(candidate, tried, now)?;
                Some((candidate.channel.name.clone(), reason))
            })
            .collect()
    }

    fn cool_down_reason(
        &self,
        scope: HealthScope,
        fingerprint: u64,
        now: MonotonicTime,
    ) -> Option<UnusableReason> {
        match self.health(fingerprint)?.status(now) {
            HealthStatus::CoolingDown {
                until,
                reason,
                is_tested,
                allows_last_resort,
            } => Some(UnusableReason::CoolingDown {
                scope,
                fingerprint,
                reason,
                left: now.until(until),
                is_tested,
                allows_last_resort,
            }),
            HealthStatus::Healthy | HealthStatus::HalfOpen { .. } => None,
        }
    }

    /// The cool-down of the credential that is usable first, if no credential is usable now.
    fn all_credentials_cooling(
        &self,
        candidate: &Candidate,
        now: MonotonicTime,
    ) -> Option<UnusableReason> {
        let mut soonest: Option<(Duration, UnusableReason)> = None;
        let may_use = |index: usize| candidate.key.is_none_or(|only| only == index);
        let keys = candidate.channel.credentials.iter().enumerate();
        for (_, key) in keys.filter(|(index, _)| may_use(*index)) {
            let fingerprint = candidate.endpoint.health_fingerprint(key.fingerprint);
            let reason = self.cool_down_reason(HealthScope::Credential, fingerprint, now)?;
            if let UnusableReason::CoolingDown { left, .. } = reason
                && soonest.is_none_or(|(least, _)| left < least)
            {
                soonest = Some((left, reason));
            }
        }
        soonest.map(|(_, reason)| reason)
    }

    /// Takes all permits of an attempt; `None` if another request took one first.
    fn begin(
        self: &Arc<Self>,
        candidate: &Candidate,
        load: StateHandle<ChannelLoad>,
        now: MonotonicTime,
        permit: PermitFn,
    ) -> Option<ChannelLease> {
        let channel = &candidate.channel;
        let health_of = |fingerprint| candidate.endpoint.health_fingerprint(fingerprint);
        let model = candidate.model_fingerprint().map(health_of);
        let whole = Some(health_of(channel.fingerprint));
        let whole = self.try_use_scope(HealthScope::Channel, whole, now, permit)?;
        let Some(model) = self.try_use_scope(HealthScope::Model, model, now, permit) else {
            release_permit(&whole);
            return None;
        };
        let keys = channel.credentials.len();
        let first = if keys > 1 { load.next_turn() } else { 0 };
        let mut in_turn = (0..keys)
            .map(|offset| first.wrapping_add(offset) % keys)
            .filter(|key| candidate.key.is_none_or(|only| only == *key));
        let key = in_turn.find_map(|key| {
            let fingerprint = health_of(channel.credentials[key].fingerprint);
            let permits =
                self.try_use_scope(HealthScope::Credential, Some(fingerprint), now, permit)?;
            Some((Some(key), permits))
        });
        let key = match keys {
            0 => self
                .try_use_scope(HealthScope::Credential, None, now, permit)
                .map(|permits| (None, permits)),
            _ => key,
        };
        let Some((key, credential)) = key else {
            release_permit(&whole);
            release_permit(&model);
            return None;
        };
        let permits = [whole, model, credential];
        if !load.begin(&channel.limits, now) {
            permits.iter().for_each(release_permit);
            return None;
        }
        Some(ChannelLease::new(self, candidate, key, load, permits, now))
    }

    fn try_use_scope(
        &self,
        scope: HealthScope,
        fingerprint: Option<u64>,
        now: MonotonicTime,
        permit: PermitFn,
    ) -> Option<HealthScopePermit> {
        let health = match fingerprint.and_then(|fingerprint| self.health(fingerprint)) {
            Some(health) => {
                let permit = permit(&health, now)?;
                Some((health, permit))
            }
            None => None,
        };
        Some(HealthScopePermit {
            scope,
            fingerprint,
            health,
        })
    }
}

/// How a permit is requested: normally, or as a last resort.
type PermitFn = fn(&HealthTracker, MonotonicTime) -> Option<HealthPermit>;

fn release_permit(permits: &HealthScopePermit) {
    if let Some((health, permit @ HealthPermit::HalfOpenTrial)) = &permits.health {
        health.release_trial(*permit);
    }
}
