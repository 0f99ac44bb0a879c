//! Records the outcomes of attempts: for the health of channels, in the metrics, the trace and the log.

use super::Exchange;
use super::attempts::AttemptLoop;
use super::suspect_request::suspect_request;
use crate::upstream::client::failure_reason;
use headgate_channel::lease::ChannelLease;
use headgate_channel::outcome::{AttemptFailure, AttemptOutcome};
use headgate_observe::access_log::FailedAttempt;
use headgate_protocol::fault::Fault;
use http::{HeaderValue, StatusCode};

impl AttemptLoop<'_> {
    /// Stores the provider's request id for the log, unless it contains the channel's credential.
    pub(super) fn record_upstream_id(&mut self, id: Option<HeaderValue>, lease: &ChannelLease) {
        self.request.info.upstream_request_id = id.filter(|id| !lease.reveals(id.as_bytes()));
    }

    /// Records the outcome of an attempt: for the channel's health, in the metrics, and in the log if it failed.
    pub(super) fn record_outcome(
        &mut self,
        lease: &mut ChannelLease,
        outcome: AttemptOutcome,
        detail: Option<&str>,
    ) {
        lease.report(outcome, &self.request.id);
        self.record.trace_outcome(outcome);
        let channel = &*lease.candidate.channel.name;
        self.gateway.metrics.attempt(channel, outcome.name());
        let AttemptOutcome::Failure(failure) = outcome else {
            return;
        };
        self.record.failed_attempts.push(FailedAttempt {
            channel: lease.candidate.channel.name.clone(),
            outcome: outcome.name(),
            status: failure.status.map(|status| status.as_u16()),
            after: self.record.started.elapsed(),
        });
        tracing::info!(
            channel,
            credential = lease.key.map(|key| key + 1),
            id = &*self.request.id,
            attempt = self.record.attempts,
            outcome = outcome.name(),
            status = failure.status.map(|status| status.as_u16()),
            detail,
            upstream_request_id = self
                .request
                .info
                .upstream_request_id
                .as_ref()
                .map(|id| String::from_utf8_lossy(id.as_bytes()))
                .as_deref(),
            "attempt failed"
        );
    }
}

impl Exchange<'_> {
    /// Records the outcome of an attempt whose response was passed on, once that is over.
    pub(super) fn record_outcome(
        &mut self,
        lease: &mut ChannelLease,
        status: StatusCode,
        relayed: &Result<(), Fault>,
    ) {
        let outcome = match (relayed, self.request.info.stream_error) {
            (_, Some(error)) => {
                let request = suspect_request(&self.request, &self.snapshot.callers, None);
                Some(AttemptOutcome::from_error(
                    error,
                    status,
                    None,
                    Some(request),
                ))
            }
            (Ok(()), None) => Some(AttemptOutcome::Success),
            (Err(fault), None) => failure_reason(fault.kind).map(|reason| {
                AttemptOutcome::Failure(AttemptFailure {
                    status: Some(status),
                    ..AttemptFailure::new(reason)
                })
            }),
        };
        if let Some(outcome) = outcome {
            let first_byte = self
                .record
                .first_byte
                .map(|after| self.record.started + after);
            lease.report_with_latency(outcome, &self.request.id, first_byte);
        }
        // Where the caller left, the provider had served it until then.
        let outcome = outcome.unwrap_or(AttemptOutcome::Success);
        self.record.trace_outcome(outcome);
        let channel = &lease.candidate.channel.name;
        self.gateway.metrics.attempt(channel, outcome.name());
    }
}
