//! A request's use of a channel for one attempt; its outcome is reported to the channel's health.

use super::clock::MonotonicTime;
use super::evidence::FailureEvidence;
use super::health::{HealthPermit, HealthTracker, policy_of_sole_credential};
use super::live::{ChannelLoad, ChannelStates};
use super::outcome::{AttemptFailure, AttemptOutcome, HealthScope};
use super::permit::ChannelPermit;
use super::state_map::StateHandle;
use headgate_core::catalog::affinity::AffinityOutcome;
use headgate_core::catalog::credential::Credential;
use headgate_core::catalog::credential_secret::CredentialSecret;
use headgate_core::catalog::endpoint::ProviderOperationClass;
use headgate_core::catalog::model::Candidate;
use headgate_core::random::random_fraction;
use memchr::memmem;
use std::sync::Arc;
use std::time::Instant;

/// The use of a channel with one of its credentials. It ends when the lease is dropped.
pub struct ChannelLease {
    channels: Arc<ChannelStates>,
    pub candidate: Candidate,
    /// The index of the channel's credential; `None` if the channel has none.
    pub key: Option<usize>,
    /// Why this channel; `None` if the request has no affinity key.
    pub affinity: Option<AffinityOutcome>,
    /// Whether the model is balanced by the time to the first byte, which is recorded then.
    pub(super) is_timed: bool,
    load: StateHandle<ChannelLoad>,
    /// `None` once it was taken.
    concurrency: Option<ChannelPermit>,
    permits: [HealthScopePermit; 3],
    began: MonotonicTime,
    is_reported: bool,
}

/// A scope (channel, model or credential) that the lease uses, and its permission.
#[derive(Clone)]
pub(super) struct HealthScopePermit {
    pub scope: HealthScope,
    pub fingerprint: Option<u64>,
    /// `None` if it never failed before.
    pub health: Option<(StateHandle<HealthTracker>, HealthPermit)>,
}

impl ChannelLease {
    /// A lease for a use that `load` has counted already.
    pub(super) fn new(
        channels: &Arc<ChannelStates>,
        candidate: &Candidate,
        key: Option<usize>,
        load: StateHandle<ChannelLoad>,
        permits: [HealthScopePermit; 3],
        began: MonotonicTime,
    ) -> Self {
        let is_limited = candidate.channel.limits.concurrent.is_some();
        Self {
            channels: channels.clone(),
            candidate: candidate.clone(),
            key,
            affinity: None,
            is_timed: false,
            concurrency: Some(ChannelPermit::new(channels, &load, is_limited)),
            load,
            permits,
            began,
            is_reported: false,
        }
    }

    /// Counts the use for its caller, as long as it counts for the channel.
    pub(super) fn count_for_caller(&mut self, caller: &Arc<str>) {
        let loads = &self.channels.caller_loads;
        if let Some(permit) = &mut self.concurrency {
            let guard = loads.begin(caller, self.candidate.channel.fingerprint);
            permit.caller = Some(Box::new(guard));
        }
    }

    /// When the attempt began.
    pub fn began(&self) -> MonotonicTime {
        self.began
    }

    /// Takes the permit out of the lease, so that it can end earlier than the lease.
    pub fn take_permit(&mut self) -> Option<ChannelPermit> {
        self.concurrency.take()
    }

    /// The credential that is sent to the provider.
    pub fn credential(&self) -> Option<&Credential> {
        self.candidate.channel.credentials.get(self.key?)
    }

    /// Whether `bytes` contain a secret of the channel, or the credential in use, even a very short one.
    pub fn reveals(&self, bytes: &[u8]) -> bool {
        let is_revealed = |secret: &CredentialSecret| {
            let secret = secret.expose().as_bytes();
            !secret.is_empty() && memmem::find(bytes, secret).is_some()
        };
        let credential = self.credential();
        let is_sent = credential.is_some_and(|one| one.secrets.iter().any(is_revealed));
        is_sent || self.candidate.channel.mask.current().is_in_header(bytes)
    }

    /// Reports the outcome of the attempt. Called once, at its end.
    pub fn report(&mut self, outcome: AttemptOutcome, request_id: &str) {
        self.report_with_latency(outcome, request_id, None);
    }

    /// Like [`Self::report`], with a latency that ends at `first_byte` if that is given.
    pub fn report_with_latency(
        &mut self,
        outcome: AttemptOutcome,
        request_id: &str,
        first_byte: Option<Instant>,
    ) {
        let now = MonotonicTime::now();
        let outcome = match outcome {
            AttemptOutcome::Success | AttemptOutcome::ClientError => {
                self.record_success(now);
                outcome
            }
            AttemptOutcome::Failure(failure) => {
                match self.record_failure(&failure, request_id, now) {
                    true => outcome,
                    false => AttemptOutcome::ClientError,
                }
            }
        };
        self.end_trial();
        let model = self.candidate.model_fingerprint();
        if let (Some(model), ProviderOperationClass::Generation) = (model, self.candidate.endpoint)
        {
            let latency = self.began.until(first_byte.map_or(now, MonotonicTime::at));
            self.channels.record_attempt(model, now, outcome, latency);
        }
    }

    /// Reports success if this request is a half-open trial: the response was committed. Other requests report when
    /// they end. Records the time to its first byte if channels are balanced by it.
    pub fn report_committed(&mut self) {
        if self.is_timed
            && let Some(latency) = self.channels.candidate_latency(&self.candidate)
        {
            let now = MonotonicTime::now();
            latency.record(now, self.began.until(now));
        }
        let is_probe = |used: &HealthScopePermit| {
            matches!(used.health, Some((_, HealthPermit::HalfOpenTrial)))
        };
        if self.permits.iter().any(is_probe) {
            self.record_success(MonotonicTime::now());
            self.end_trial();
        }
    }

    /// Counts the tokens that the response used.
    pub fn count_tokens(&self, tokens: u64) {
        let limits = &self.candidate.channel.limits;
        self.load.count_tokens(limits, tokens, MonotonicTime::now());
    }

    /// The trial is over: a later report of this lease counts like that of any other request.
    fn end_trial(&mut self) {
        for used in &mut self.permits {
            if let Some((_, permit)) = &mut used.health {
                *permit = HealthPermit::Normal;
            }
        }
        self.is_reported = true;
    }

    fn record_success(&self, now: MonotonicTime) {
        if self.candidate.endpoint == ProviderOperationClass::Generation {
            self.load.record_success(now);
        }
        for used in &self.permits {
            if let Some((health, permit)) = &used.health
                && health.record_success(now, *permit)
            {
                self.channels
                    .record_recovery(&self.candidate, used.scope, self.key);
            }
        }
    }

    /// Records a failure for its scope; returns `false` if it does not count, since the request may have provoked it.
    fn record_failure(
        &self,
        failure: &AttemptFailure,
        request_id: &str,
        now: MonotonicTime,
    ) -> bool {
        let reason = failure.reason;
        let channel = &self.candidate.channel;
        let mut scope = reason.scope(channel.credentials.len());
        // Without a model or a credential the failure counts for the channel as a whole. A model without health has a name that
        // a caller may have made up: its failures say nothing of the channel's other models.
        let is_unknown_model = scope == HealthScope::Model && self.candidate.model.is_some();
        if self.fingerprint(scope).is_none() && !is_unknown_model {
            scope = HealthScope::Channel;
        }
        let mut policy = match scope {
            HealthScope::Channel => channel.health.for_channel(),
            HealthScope::Model | HealthScope::Credential => channel.health,
        };
        let is_sole = || match self.candidate.endpoint {
            ProviderOperationClass::Generation => {
                self.channels.is_sole_candidate(channel, self.key, now)
            }
            // What exists is bound to its channel, and no other can serve it.
            _ => true,
        };
        if reason.concerns_credential() && is_sole() {
            policy = policy_of_sole_credential(policy);
        }
        let mut counts = true;
        for used in &self.permits {
            let (Some(fingerprint), true) = (used.fingerprint, used.scope == scope) else {
                if let Some((health, permit)) = &used.health {
                    health.release_trial(*permit);
                }
                continue;
            };
            let (health, permit) = match &used.health {
                Some((health, permit)) => (health.clone(), *permit),
                None => (
                    self.channels.health_or_new(fingerprint),
                    HealthPermit::Normal,
                ),
            };
            if let FailureEvidence::Inconclusive(request) = failure.evidence
                && !health.confirm_failure(now, failure, request, request_id)
            {
                health.release_trial(permit);
                counts = false;
                continue;
            }
            let jitter = random_fraction();
            let cooled = health.record_failure(now, permit, &policy, failure, request_id, jitter);
            if let Some(cooled) = cooled {
                self.channels
                    .record_cool_down(&self.candidate, scope, self.key, cooled);
            }
        }
        counts
    }

    fn fingerprint(&self, scope: HealthScope) -> Option<u64> {
        self.permits
            .iter()
            .find(|used| used.scope == scope)?
            .fingerprint
    }
}

impl Drop for ChannelLease {
    fn drop(&mut self) {
        if !self.is_reported {
            for used in &self.permits {
                if let Some((health, permit)) = &used.health {
                    health.release_trial(*permit);
                }
            }
        }
    }
}

impl ChannelStates {
    pub(super) fn record_cool_down(
        &self,
        candidate: &Candidate,
        scope: HealthScope,
        key: Option<usize>,
        cooled: super::health::NewCoolDown,
    ) {
        let channel = &*candidate.channel.name;
        self.metrics
            .channels
            .cool_down(channel, cooled.reason.name());
        let message = match cooled.reason.concerns_credential() {
            true => "provider refused a credential",
            false => "cool-down started",
        };
        tracing::warn!(
            channel,
            model = candidate.model.as_ref().map(|model| &*model.name),
            endpoint = candidate.endpoint.name(),
            scope = scope.name(),
            credential = key.map(|key| key + 1),
            reason = cooled.reason.name(),
            cool_down_seconds = cooled.span.as_secs_f64(),
            "{message}"
        );
    }

    pub(super) fn record_recovery(
        &self,
        candidate: &Candidate,
        scope: HealthScope,
        key: Option<usize>,
    ) {
        let channel = &*candidate.channel.name;
        tracing::info!(
            channel,
            model = candidate.model.as_ref().map(|model| &*model.name),
            endpoint = candidate.endpoint.name(),
            scope = scope.name(),
            credential = key.map(|key| key + 1),
            "recovered"
        );
    }
}
