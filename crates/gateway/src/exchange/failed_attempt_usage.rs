//! Notes what providers may have done in attempts that failed.

use super::attempts::AttemptLoop;
use bytes::Bytes;
use headgate_core::catalog::model::Candidate;
use headgate_core::filter::failed_attempt_usage::FailedAttemptUsages;
use headgate_protocol::usage::{self, TokenUsage};

impl AttemptLoop<'_> {
    /// Notes the attempt, which has failed, if its provider may have processed the request.
    pub(super) fn note_failed_attempt(&mut self) {
        if self.request.info.may_have_cost
            && let Some(candidate) = self.record.candidate.clone()
        {
            self.note_usage(&candidate, None);
        }
    }

    /// Notes the usage that a body reports although it is an error; returns whether it reports any.
    pub(super) fn note_reported_usage(&mut self, candidate: &Candidate, body: &Bytes) -> bool {
        let host = &candidate.channel.origin.host;
        let shape = candidate.protocol.map(|protocol| protocol.usage_at(host));
        let usage = shape.and_then(|shape| usage::from_json(shape, body));
        let usage = usage.filter(|usage| usage.total() > 0 && usage.implausible_count(1).is_none());
        if usage.is_some() {
            self.note_usage(candidate, usage);
        }
        usage.is_some()
    }

    /// Whether the attempt has reported usage although it failed.
    pub(super) fn has_reported_usage(&self) -> bool {
        let usages = self.request.state.get::<FailedAttemptUsages>();
        usages.is_some_and(|usages| usages.usage(self.request.info.attempt).is_some())
    }

    /// Notes the usage of the attempt.
    pub(super) fn note_usage(&mut self, candidate: &Candidate, usage: Option<TokenUsage>) {
        let usage = usage.filter(|usage| usage.implausible_count(1).is_none());
        let attempt = self.request.info.attempt;
        let model = self.request.model().map(|model| model.name.clone());
        let usages: &mut FailedAttemptUsages = self.request.state.get_or_default();
        usages.note(attempt, model.as_ref(), candidate, usage);
    }
}
