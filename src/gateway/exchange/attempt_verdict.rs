//! What a response leads to: it is kept, or given up for another channel.

use super::attempts::{AttemptVerdict, FallbackReply, LeasedResponse};
use super::retry_policy::{NextAttempt, RetryDecision};
use crate::channel::lease::ChannelLease;
use crate::channel::outcome::AttemptOutcome;
use crate::gateway::upstream::response::UpstreamResponse;

impl AttemptVerdict {
    /// Keeps a good response.
    pub(super) fn keep(response: UpstreamResponse, lease: ChannelLease) -> Self {
        Self::Keep(Box::new(LeasedResponse {
            response,
            lease,
            decision: None,
            reason: None,
        }))
    }

    /// The verdict on a response that is not good, by the decision of the retry policy.
    pub(super) fn from_failed_response(
        response: UpstreamResponse,
        lease: ChannelLease,
        decision: RetryDecision,
        outcome: AttemptOutcome,
    ) -> Self {
        let kept = Box::new(LeasedResponse {
            response,
            lease,
            decision: Some(decision),
            reason: outcome.conclusive_reason(),
        });
        match decision.next {
            NextAttempt::Candidate => Self::Next(FallbackReply::Responded(kept)),
            NextAttempt::FreshConnection | NextAttempt::Stop => Self::Keep(kept),
        }
    }
}
