//! Records attempts for the trace of their exchange. Without `tracing` in the configuration, nothing.

use super::attempt_verdict::AttemptVerdict;
use super::attempts::AttemptLoop;
use super::tracing_record::upstream_id;
use crate::upstream::response::UpstreamResponse;
use headgate_channel::lease::ChannelLease;
use headgate_tracing::AttemptTarget;

impl AttemptLoop<'_> {
    /// Begins the span of an attempt.
    pub(super) fn begin_trace(&mut self, lease: &ChannelLease) {
        let Some(trace) = &mut self.record.trace else {
            return;
        };
        let candidate = &lease.candidate;
        let target = AttemptTarget {
            channel: candidate.channel.name.clone(),
            credential: lease.key,
            host: candidate.channel.origin.host.clone(),
            port: candidate.channel.origin.port,
            model: candidate.model.as_ref().map(|model| model.name.clone()),
        };
        let at = self.record.started.elapsed();
        trace.begin_attempt(target, at, self.wait_times.so_far());
    }

    /// Records the head of a response.
    pub(super) fn trace_response(&mut self, response: &UpstreamResponse) {
        if let Some(trace) = &mut self.record.trace {
            trace.note_status(response.status.as_u16());
            trace.note_resends(response.resends);
        }
    }

    /// Ends the span of an attempt, unless its response is relayed to the caller.
    pub(super) fn end_trace(&mut self, verdict: &AttemptVerdict) {
        let Some(trace) = &mut self.record.trace else {
            return;
        };
        if let AttemptVerdict::Stop(fault) = verdict {
            trace.note_fault(fault.kind.code());
        }
        if !matches!(verdict, AttemptVerdict::Keep(_)) {
            trace.note_upstream_id(upstream_id(self.request));
            let at = self.record.started.elapsed();
            trace.end_attempt(at, self.wait_times.so_far());
        }
    }
}
