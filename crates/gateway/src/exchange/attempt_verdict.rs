//! What a response leads to: it is kept, or given up for another channel.

use super::attempts::{AttemptVerdict, FallbackReply, LeasedResponse};
use super::reply_plan::ReplyPlan;
use super::retry_policy::NextAttempt;
use crate::upstream::response::UpstreamResponse;
use headgate_channel::lease::ChannelLease;
use headgate_channel::outcome::AttemptOutcome;

impl AttemptVerdict {
    /// Keeps a good response.
    pub(super) fn keep(response: UpstreamResponse, lease: ChannelLease) -> Self {
        Self::Keep(Box::new(LeasedResponse {
            response,
            lease,
            plan: ReplyPlan::Response,
            reason: None,
        }))
    }

    /// The verdict on a response that is not good: what is tried next, and what the caller gets otherwise.
    pub(super) fn from_failed_response(
        response: UpstreamResponse,
        lease: ChannelLease,
        next: NextAttempt,
        plan: ReplyPlan,
        outcome: AttemptOutcome,
    ) -> Self {
        let kept = Box::new(LeasedResponse {
            response,
            lease,
            plan,
            reason: outcome.conclusive_reason(),
        });
        match next {
            NextAttempt::Candidate => Self::Next(FallbackReply::Responded(kept)),
            NextAttempt::FreshConnection | NextAttempt::Stop => Self::Keep(kept),
        }
    }
}
