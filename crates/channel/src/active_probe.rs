//! Active health checks: when a channel is probed, with which credential, and what the result changes.

#[cfg(test)]
mod tests;

use super::clock::MonotonicTime;
use super::health::{HealthPermit, HealthTracker, policy_of_sole_credential};
use super::health_status::HealthStatus;
use super::live::ChannelStates;
use super::outcome::{AttemptFailure, AttemptOutcome, FailureReason, HealthScope};
use super::state_map::StateHandle;
use headgate_core::catalog::channel::{Channel, ProbePolicy};
use headgate_core::catalog::credential::Credential;
use headgate_core::catalog::model::Candidate;
use headgate_core::random::random_fraction;
use std::sync::Arc;
use std::time::Duration;

/// A probe of a channel with one of its credentials. A probe that is dropped without a report changes nothing.
pub struct ProbeAttempt {
    channels: Arc<ChannelStates>,
    channel: Arc<Channel>,
    /// The index of the channel's credential; `None` if the channel has none.
    key: Option<usize>,
    /// The health of a credential that the provider refused before, if this probe is its half-open trial.
    refused: Option<StateHandle<HealthTracker>>,
}

impl ChannelStates {
    /// Begins a probe of `channel` with its `turn`th credential, or the next one that can be probed.
    ///
    /// `None` if a probe is not useful: a request succeeded within the probe interval, the provider sent Retry-After,
    /// or no credential can be probed.
    pub fn probe(
        self: &Arc<Self>,
        channel: &Arc<Channel>,
        turn: usize,
        now: MonotonicTime,
    ) -> Option<ProbeAttempt> {
        let probe = channel.health.probe?;
        match self.status(channel.fingerprint, now) {
            HealthStatus::Healthy if self.load(channel).succeeded_within(probe.interval, now) => {
                return None;
            }
            HealthStatus::CoolingDown {
                allows_last_resort: false,
                ..
            } => return None,
            HealthStatus::Healthy
            | HealthStatus::CoolingDown { .. }
            | HealthStatus::HalfOpen { .. } => {}
        }
        let probing = |key, refused| ProbeAttempt {
            channels: self.clone(),
            channel: channel.clone(),
            key,
            refused,
        };
        let keys = channel.credentials.len();
        if keys == 0 {
            return Some(probing(None, None));
        }
        let mut in_turn = (0..keys).map(|offset| turn.wrapping_add(offset) % keys);
        in_turn.find_map(|key| {
            let fingerprint = channel.credentials[key].fingerprint;
            match self.status(fingerprint, now) {
                HealthStatus::Healthy => Some(probing(Some(key), None)),
                // A probe cannot show whether an account has quota again; only a request can.
                HealthStatus::HalfOpen {
                    reason: FailureReason::RefusedCredential,
                } => {
                    let health = self.health(fingerprint)?;
                    health.try_use(now)?;
                    Some(probing(Some(key), Some(health)))
                }
                HealthStatus::HalfOpen { .. } | HealthStatus::CoolingDown { .. } => None,
            }
        })
    }

    /// The interval between two probes of `channel` at its present health.
    pub fn probe_interval(
        &self,
        channel: &Channel,
        probe: ProbePolicy,
        now: MonotonicTime,
    ) -> Duration {
        let is_healthy = self.status(channel.fingerprint, now) == HealthStatus::Healthy;
        channel.health.probe_interval(probe, is_healthy)
    }
}

impl ProbeAttempt {
    /// The credential that is sent to the provider.
    pub fn credential(&self) -> Option<&Credential> {
        self.channel.credentials.get(self.key?)
    }

    /// Reports the result of the probe: success, or the reason of its failure.
    pub fn report(mut self, found: Result<(), AttemptFailure>, request_id: &str) {
        let outcome = found.map_or_else(AttemptOutcome::Failure, |()| AttemptOutcome::Success);
        let outcome = outcome.name();
        let channel = &*self.channel.name;
        self.channels.metrics.channels.probe(channel, outcome);
        tracing::debug!(
            channel,
            credential = self.key.map(|key| key + 1),
            outcome,
            "probe finished"
        );
        let now = MonotonicTime::now();
        let Err(failure) = found else {
            return self.record_success(now);
        };
        match failure.reason {
            FailureReason::RefusedCredential
            | FailureReason::RefusedAccount
            | FailureReason::CredentialUnavailable => {
                self.record_refused_credential(&failure, request_id, now)
            }
            // The provider is reachable, and its limits affected only this probe.
            FailureReason::RateLimited | FailureReason::ModelUnavailable => {}
            FailureReason::ConnectError
            | FailureReason::ConnectionClosed
            | FailureReason::Timeout
            | FailureReason::ServerError
            | FailureReason::InvalidResponse => {
                self.record_channel_failure(&failure, request_id, now);
            }
        }
    }

    fn record_success(&mut self, now: MonotonicTime) {
        let whole = self.channels.health(self.channel.fingerprint);
        if whole.is_some_and(|health| health.record_probe_success(now)) {
            self.channels
                .record_recovery(&self.candidate(), HealthScope::Channel, self.key);
        }
        if let Some(refused) = self.refused.take()
            && refused.record_success(now, HealthPermit::HalfOpenTrial)
        {
            self.channels
                .record_recovery(&self.candidate(), HealthScope::Credential, self.key);
        }
    }

    fn record_refused_credential(
        &mut self,
        failure: &AttemptFailure,
        request_id: &str,
        now: MonotonicTime,
    ) {
        let (scope, fingerprint) = match self.credential() {
            Some(credential) => (HealthScope::Credential, credential.fingerprint),
            None => (HealthScope::Channel, self.channel.fingerprint),
        };
        let (health, permit) = match self.refused.take() {
            Some(refused) => (refused, HealthPermit::HalfOpenTrial),
            None => (
                self.channels.health_or_new(fingerprint),
                HealthPermit::Normal,
            ),
        };
        let mut policy = self.channel.health;
        if self
            .channels
            .is_sole_candidate(&self.channel, self.key, now)
        {
            policy = policy_of_sole_credential(policy);
        }
        let jitter = random_fraction();
        if let Some(cooled) =
            health.record_failure(now, permit, &policy, failure, request_id, jitter)
        {
            self.channels
                .record_cool_down(&self.candidate(), scope, self.key, cooled);
        }
    }

    fn record_channel_failure(
        &self,
        failure: &AttemptFailure,
        request_id: &str,
        now: MonotonicTime,
    ) {
        let health = self.channels.health_or_new(self.channel.fingerprint);
        let policy = self.channel.health.for_channel();
        let jitter = random_fraction();
        if let Some(cooled) = health.record_probe_failure(now, &policy, failure, request_id, jitter)
        {
            self.channels.record_cool_down(
                &self.candidate(),
                HealthScope::Channel,
                self.key,
                cooled,
            );
        }
    }

    fn candidate(&self) -> Candidate {
        Candidate::bound_to(self.channel.clone(), None)
    }
}

impl Drop for ProbeAttempt {
    fn drop(&mut self) {
        if let Some(refused) = &self.refused {
            refused.release_trial(HealthPermit::HalfOpenTrial);
        }
    }
}
