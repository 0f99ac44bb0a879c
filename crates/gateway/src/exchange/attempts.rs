//! The attempts of an exchange: one channel after another, until a response is kept or the retry policy stops.
//!
//! An attempt does not watch the caller: the whole loop is raced once against the caller's disconnect.

use super::attempt_verdict::{AttemptVerdict, FallbackReply, LeasedResponse, upstream_processing};
use super::credential_renewal::CredentialRenewal;
use super::model_queue::ModelQueue;
use super::no_channel::no_channel;
use super::prepare::prepare;
use super::record::ExchangeRecord;
use super::translation::{ResponseTranslation, describe_removal, is_refused};
use super::translation_summary::note_refusal;
use super::{Exchange, capture};
use crate::Gateway;
use crate::deadline::in_time;
use crate::downstream::detachment::CallerDetachmentFlag;
use crate::downstream::{ExchangeWaitRecorder, UpstreamWaitInterruption};
use crate::upstream::ChannelWithCredential;
use crate::upstream::client::SendError;
use crate::upstream::request::PreparedBody;
use crate::upstream::response::UpstreamResponse;
use headgate_channel::balancing::LoadBalancing;
use headgate_channel::clock::MonotonicTime;
use headgate_channel::lease::ChannelLease;
use headgate_channel::outcome::{AttemptOutcome, HealthScope};
use headgate_channel::retry_budget::RetryPermit;
use headgate_channel::retry_policy::SendProgress;
use headgate_channel::retry_policy::{AttemptFailureClass, NextAttempt, RetryPolicy};
use headgate_config::snapshot::Snapshot;
use headgate_config::snapshot::router::Route;
use headgate_core::catalog::endpoint::ProviderOperationClass;
use headgate_core::catalog::fallback::FallbackCause;
use headgate_core::catalog::model::Candidate;
use headgate_core::filter::stream_info::UpstreamProcessing;
use headgate_core::filter::view::RequestView;
use headgate_protocol::error_class::ErrorClass;
use headgate_protocol::fault::Fault;
use headgate_protocol::upstream_request_id;
use http::{HeaderName, HeaderValue};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Number of attempts of the request; sent if the route's `failover` settings ask for it.
const ATTEMPTS: HeaderName = HeaderName::from_static("x-headgate-attempts");

/// How often a request that waits for capacity checks the channels.
pub(crate) const CAPACITY_POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The attempts of one exchange.
pub(super) struct AttemptLoop<'e> {
    pub(super) gateway: &'e Gateway,
    pub(super) snapshot: &'e Snapshot,
    pub(super) route: &'e Route,
    pub(super) request: &'e mut RequestView,
    pub(super) record: &'e mut ExchangeRecord,
    pub(super) policy: RetryPolicy,
    pub(super) wait_times: ExchangeWaitRecorder,
    detachment: CallerDetachmentFlag,
    pub(super) balancing: LoadBalancing,
    pub(super) candidates: Arc<[Candidate]>,
    pub(super) tried: Vec<Arc<str>>,
    /// Whether an error that only its text or its status explains has led to a failover.
    pub(super) has_failed_over_inconclusively: bool,
    /// Progress of the current attempt.
    progress: SendProgress,
    /// Whether the current attempt got a response, whose status says whether it may have cost.
    has_response: bool,
    /// The retry that the next attempt needs. It returns to the budget if no channel is left or nothing is sent.
    unmade_retry: Option<RetryPermit<'e>>,
    /// The class of the endpoint that the request uses.
    pub(super) class: ProviderOperationClass,
    /// Why the last attempt failed, if another model may stand in.
    pub(super) cause: Option<FallbackCause>,
    /// Models that stand in; `None` before the first one is needed.
    pub(super) models: Option<Box<ModelQueue>>,
    /// Whether an attempt was refused for the age of its credential or of its signature.
    pub(super) renewal: CredentialRenewal,
    /// How the response of the current attempt becomes the caller's; `None` if it is that already.
    translation: Option<Box<ResponseTranslation>>,
}

impl Exchange<'_> {
    /// Tries channels until a response is kept. Ends early if the caller leaves.
    ///
    /// # Errors
    /// The error of the last attempt, or that no channel was available.
    pub(super) async fn attempt_each(
        &mut self,
        candidates: Arc<[Candidate]>,
    ) -> Result<Box<LeasedResponse>, Fault> {
        let detachment = CallerDetachmentFlag::new(self.request.detaches);
        let names_model = candidates.iter().any(|one| one.model.is_some());
        let (method, path) = (&self.request.method, self.request.endpoint_path());
        let class = ProviderOperationClass::for_request(method, path, names_model);
        self.downstream.detachment = detachment.clone();
        let balancing = LoadBalancing::for_request(&self.request, &candidates);
        let mut attempts = AttemptLoop {
            gateway: self.gateway,
            snapshot: &self.snapshot,
            route: &self.route,
            request: &mut self.request,
            record: &mut self.record,
            policy: self.retry_policy,
            wait_times: std::mem::take(&mut self.downstream.wait_times),
            detachment,
            balancing,
            candidates: Candidate::all_with_endpoint(candidates, class),
            tried: Vec::new(),
            has_failed_over_inconclusively: false,
            progress: SendProgress::Unsent,
            has_response: false,
            unmade_retry: None,
            class,
            cause: None,
            models: None,
            renewal: CredentialRenewal::default(),
            translation: None,
        };
        let raced = match self.upload.take() {
            None => self.downstream.race(pin!(attempts.run())).await,
            // Boxed, so that this rare case does not enlarge the future of every exchange.
            Some(upload) => Box::pin(self.downstream.race_upload(*upload, attempts.run())).await,
        };
        let kept = match raced {
            Ok(kept) => kept,
            Err(interrupted) => Err(attempts.interruption_fault(interrupted)),
        };
        self.downstream.wait_times = attempts.wait_times;
        kept
    }
}

impl AttemptLoop<'_> {
    async fn run(&mut self) -> Result<Box<LeasedResponse>, Fault> {
        self.gateway
            .budget
            .earn(self.snapshot.retries.budget_percent);
        // Boxed, so that these rare cases do not enlarge the future of every exchange.
        if self.exceeds_context() {
            Box::pin(self.fall_back(FallbackCause::ContextTooLong)).await;
        }
        let ended = self.run_model().await;
        match self.cause {
            Some(_) if self.has_fallback() => Box::pin(self.run_other_models(ended)).await,
            _ => ended,
        }
    }

    /// Tries the candidates of one model.
    pub(super) async fn run_model(&mut self) -> Result<Box<LeasedResponse>, Fault> {
        let mut last: Option<FallbackReply> = None;
        let mut refusal = None;
        loop {
            let lease = match self.next_lease(last.is_some()).await {
                Ok(Some(lease)) => lease,
                Ok(None) => break,
                Err(no_channel) => return Err(no_channel.or_sooner(refusal)),
            };
            if let Some(FallbackReply::Responded(kept)) = last.take() {
                kept.response.give_back().await;
            }
            match self.attempt_on(lease).await {
                AttemptVerdict::Keep(kept) => return Ok(kept),
                AttemptVerdict::Next(attempt) => last = Some(attempt),
                AttemptVerdict::PassedOver(fault) => refusal = Some(fault.or_sooner(refusal)),
                AttemptVerdict::Stop(fault) => return Err(fault),
            }
        }
        match last.expect("without an attempt there was an error") {
            FallbackReply::Responded(kept) => Ok(kept),
            FallbackReply::Failed { fault, .. } => Err(fault),
        }
    }

    /// The error after the caller or the end of the process interrupted the attempts.
    fn interruption_fault(&mut self, interrupted: UpstreamWaitInterruption) -> Fault {
        self.request.info.may_have_cost |=
            self.progress == SendProgress::Sent && !self.has_response;
        if self.request.info.processing == UpstreamProcessing::Unsent {
            self.request.info.processing = upstream_processing(self.progress);
        }
        let is_drained = matches!(interrupted, UpstreamWaitInterruption::Ending);
        let fault = Fault::from(interrupted);
        let end = AttemptFailureClass::from_fault(fault.kind, self.progress);
        match is_drained {
            true => self.policy.decision(end).fault(fault),
            false => fault,
        }
    }

    /// Whether another channel could be tried if this attempt failed. This may change until then.
    pub(super) fn has_other_candidate(&self, lease: &ChannelLease) -> bool {
        if self.candidates.len() <= self.tried.len() + 1 {
            return false;
        }
        let (now, gateway) = (MonotonicTime::now(), self.gateway);
        let others = self
            .candidates
            .iter()
            .filter(|other| other.channel.name != lease.candidate.channel.name);
        self.record.attempts < self.route.failover.max_attempts
            && gateway
                .budget
                .is_left(now, self.snapshot.retries.min_per_second)
            && gateway.channels.has_another(others, &self.tried, now)
    }

    /// The lease of the next channel; `None` if the result of the last attempt is final.
    async fn next_lease(&mut self, has_last: bool) -> Result<Option<ChannelLease>, Fault> {
        if self.record.attempts >= self.route.failover.max_attempts {
            return Ok(None);
        }
        if has_last && !self.may_try_again() {
            return Ok(None);
        }
        let until = Instant::now() + self.route.failover.queue_timeout;
        loop {
            let gateway = self.gateway;
            let freed = gateway.channels.freed.notified();
            let now = MonotonicTime::now();
            let (candidates, tried) = (&self.candidates, &self.tried);
            let chosen =
                (gateway.channels).choose_balanced(&self.balancing, candidates, tried, now);
            let none = match chosen {
                // What an earlier channel replied tells the caller more than that this one cannot take the request.
                Ok(lease) if has_last && is_refused(self.route, self.request, &lease.candidate) => {
                    self.tried.push(lease.candidate.channel.name.clone());
                    continue;
                }
                Ok(lease) => return Ok(Some(lease)),
                Err(_) if has_last => return Ok(None),
                Err(none) => none,
            };
            let left = until.saturating_duration_since(Instant::now());
            if !none.is_full() || left.is_zero() {
                self.cause = Some(match none.is_full() {
                    true => FallbackCause::RateLimited,
                    false => FallbackCause::Unavailable,
                });
                return Err(no_channel(&none));
            }
            // Capacity comes when another request ends, or when a rate limit window moves on.
            let waiting = in_time(left.min(CAPACITY_POLL_INTERVAL), freed);
            let _ = self.wait_times.upstream(waiting, Result::is_ok).await;
        }
    }

    /// Whether a candidate that was not tried can be used now.
    pub(super) fn has_usable_candidate(&self) -> bool {
        let channels = &self.gateway.channels;
        channels.has_another(self.candidates.iter(), &self.tried, MonotonicTime::now())
    }

    /// Takes one retry from the retry budget, if there is a channel for it.
    pub(super) fn may_try_again(&mut self) -> bool {
        let gateway = self.gateway;
        let now = MonotonicTime::now();
        if !self.has_usable_candidate() {
            return false;
        }
        // The last attempt may have failed before it made its retry.
        if self.unmade_retry.is_none() {
            let per_second = self.snapshot.retries.min_per_second;
            self.unmade_retry = gateway.budget.take(now, per_second);
            if self.unmade_retry.is_none() {
                gateway.metrics.channels.retry_denied();
            }
        }
        self.unmade_retry.is_some()
    }

    async fn attempt_on(&mut self, mut lease: ChannelLease) -> AttemptVerdict {
        self.cause = None;
        self.record.attempts += 1;
        self.request.info.attempt = self.record.attempts;
        self.record.candidate = Some(lease.candidate.clone());
        self.record.key = lease.key;
        self.record.affinity = lease.affinity;
        self.record.attempt_began = lease.began();
        self.begin_trace(&lease);
        if let Some(open) = &self.wait_times.open {
            let channel = lease.candidate.channel.name.clone();
            open.update(|details| details.channel = Some(channel));
        }
        self.request.info.upstream_request_id = None;
        self.request.info.credential = lease.key.and_then(|key| u32::try_from(key).ok());
        self.request.info.processing = UpstreamProcessing::Unsent;
        self.request.info.may_have_cost = false;
        if self.route.failover.report_attempts {
            let attempts = HeaderValue::from(self.record.attempts);
            self.request.response_headers.push((ATTEMPTS, attempts));
        }
        let channel = lease.candidate.channel.clone();
        let mut attempted = match self.send(&lease).await {
            Ok(response) => {
                capture::upstream_response(&self.wait_times, &lease, &response);
                self.trace_response(&response);
                let id = upstream_request_id::from_headers(response.headers());
                self.record_upstream_id(id.cloned(), &lease);
                self.has_response = true;
                self.evaluate(response, lease).await
            }
            Err(error) => {
                capture::failed_attempt(&self.wait_times, &lease, &error.fault);
                self.request.info.may_have_cost = error.progress == SendProgress::Sent;
                self.request.info.processing = upstream_processing(error.progress);
                self.record_failed_attempt(error, &mut lease)
            }
        };
        attempted.set_translation(self.translation.take());
        self.end_trace(&attempted);
        if let AttemptVerdict::PassedOver(_) = &attempted {
            self.record.attempts -= 1;
            self.tried.push(channel.name.clone());
        }
        if let AttemptVerdict::Next(last) = &attempted {
            self.note_failed_attempt();
            // A channel with several credentials is tried again: by now the refused credential is in cool-down.
            let other_keys = last.failure_reason().is_some_and(|reason| {
                let keys = channel.credentials.len();
                keys > 1 && reason.scope(keys) == HealthScope::Credential
            });
            if !other_keys && !self.renewal.allows_same_channel() {
                self.tried.push(channel.name.clone());
            }
        }
        attempted
    }

    async fn send(&mut self, lease: &ChannelLease) -> Result<UpstreamResponse, SendError> {
        self.progress = SendProgress::Unsent;
        self.has_response = false;
        let target = ChannelWithCredential::from_lease(lease);
        if let Some(wait) = target.credential_wait() {
            self.wait_times.upstream(wait, |()| true).await;
        }
        let prepared = prepare(
            self.route,
            self.request,
            &lease.candidate,
            target.credential,
            self.record.trace.as_deref(),
            Some(&self.gateway.thoughts),
        );
        let prepared = prepared.await;
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(fault) => {
                note_refusal(&lease.candidate, &fault, self.request);
                return Err(SendError::unsent(fault));
            }
        };
        self.translation = prepared.translation;
        describe_removal(self.request, prepared.removed_seals);
        let mut prepared = prepared.request;
        let after_stale = self.policy.decision(AttemptFailureClass::StaleConnection);
        prepared.may_repeat = after_stale.next == NextAttempt::FreshConnection;
        if !prepared.may_repeat {
            prepared.connection.require_fresh();
        }
        capture::upstream_request(&self.wait_times, lease, &prepared);
        self.detachment.arm();
        if let Some(retry) = self.unmade_retry.take() {
            retry.spend();
        }
        let upstream = &self.gateway.upstream;
        let sending = upstream.send(target, &prepared, &mut self.progress);
        let sent = self.wait_times.upstream(pin!(sending), |_| true).await;
        if let PreparedBody::Streamed(body) = &prepared.body {
            self.wait_times.move_to_client(body.waited());
        }
        sent
    }

    /// Records an attempt without a good response, and decides what follows.
    pub(super) fn record_failed_attempt(
        &mut self,
        error: SendError,
        lease: &mut ChannelLease,
    ) -> AttemptVerdict {
        let Some(failure) = error.failure() else {
            return AttemptVerdict::from_refusal(error.fault);
        };
        let reason = failure.reason;
        let SendError { fault, progress } = error;
        let outcome = AttemptOutcome::Failure(failure);
        self.record_outcome(lease, outcome, fault.detail.as_deref());
        let decision = self
            .policy
            .decision(AttemptFailureClass::from_fault(fault.kind, progress));
        self.note_cause(ErrorClass::ServerError, decision);
        let fault = decision.fault(fault);
        match decision.next {
            NextAttempt::Candidate => AttemptVerdict::Next(FallbackReply::Failed { fault, reason }),
            NextAttempt::FreshConnection | NextAttempt::Stop => AttemptVerdict::Stop(fault),
        }
    }
}
