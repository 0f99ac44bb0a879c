//! What a response leads to: it is kept, or given up for another channel.

use super::reply_plan::ReplyPlan;
use super::retry_policy::NextAttempt;
use crate::upstream::response::UpstreamResponse;
use headgate_channel::lease::ChannelLease;
use headgate_channel::outcome::{AttemptOutcome, FailureReason};
use headgate_protocol::fault::Fault;

/// A response, with the lease of the channel that sent it.
pub(super) struct LeasedResponse {
    pub response: UpstreamResponse,
    pub lease: ChannelLease,
    /// What the caller gets of it.
    pub plan: ReplyPlan,
    /// Why the response counts against the channel's health.
    pub reason: Option<FailureReason>,
}

/// Result of one attempt.
pub(super) enum AttemptVerdict {
    /// The caller gets this response.
    Keep(Box<LeasedResponse>),
    /// Another channel may be tried. If there is none, the caller gets this.
    Next(FallbackReply),
    /// The caller gets this error; no other channel may be tried.
    Stop(Fault),
}

/// What the caller gets if no further attempt follows.
pub(super) enum FallbackReply {
    Responded(Box<LeasedResponse>),
    Failed { fault: Fault, reason: FailureReason },
}

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

impl FallbackReply {
    pub(super) fn failure_reason(&self) -> Option<FailureReason> {
        match self {
            Self::Failed { reason, .. } => Some(*reason),
            Self::Responded(kept) => kept.reason,
        }
    }
}
