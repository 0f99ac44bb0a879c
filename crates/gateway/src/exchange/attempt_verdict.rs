//! What a response leads to: it is kept, or given up for another channel; and what its provider did.

use super::reply_plan::ReplyPlan;
use super::translation::ResponseTranslation;
use crate::upstream::response::UpstreamResponse;
use headgate_channel::lease::ChannelLease;
use headgate_channel::outcome::{AttemptOutcome, FailureReason};
use headgate_channel::retry_policy::NextAttempt;
use headgate_channel::retry_policy::SendProgress;
use headgate_core::filter::stream_info::UpstreamProcessing;
use headgate_protocol::fault::{Fault, FaultKind};
use http::StatusCode;

/// A response, with the lease of the channel that sent it.
pub(super) struct LeasedResponse {
    pub response: UpstreamResponse,
    pub lease: ChannelLease,
    /// What the caller gets of it.
    pub plan: ReplyPlan,
    /// Why the response counts against the channel's health.
    pub reason: Option<FailureReason>,
    /// How it becomes the caller's; `None` if it is that already.
    pub translation: Option<Box<ResponseTranslation>>,
}

/// Result of one attempt.
pub(super) enum AttemptVerdict {
    /// The caller gets this response.
    Keep(Box<LeasedResponse>),
    /// Another channel may be tried. If there is none, the caller gets this.
    Next(FallbackReply),
    /// The budget of the channel has no room: nothing was sent. Without another channel, the caller gets this.
    PassedOver(Fault),
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
            translation: None,
        }))
    }

    /// The verdict on a request that a filter has refused to send.
    pub(super) fn from_refusal(fault: Fault) -> Self {
        match fault.kind {
            FaultKind::NoChannel => Self::PassedOver(fault),
            _ => Self::Stop(fault),
        }
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
            translation: None,
        });
        match next {
            NextAttempt::Candidate => Self::Next(FallbackReply::Responded(kept)),
            NextAttempt::FreshConnection | NextAttempt::Stop => Self::Keep(kept),
        }
    }
}

impl AttemptVerdict {
    /// Sets how the response becomes the caller's.
    pub(super) fn set_translation(&mut self, translation: Option<Box<ResponseTranslation>>) {
        match self {
            Self::Keep(kept) | Self::Next(FallbackReply::Responded(kept)) => {
                kept.translation = translation;
            }
            Self::Next(FallbackReply::Failed { .. }) | Self::PassedOver(_) | Self::Stop(_) => {}
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

/// What a provider did with a request to which it did not respond.
pub(super) fn upstream_processing(progress: SendProgress) -> UpstreamProcessing {
    match progress {
        SendProgress::Unsent => UpstreamProcessing::Unsent,
        SendProgress::Sent => UpstreamProcessing::Unknown,
    }
}

/// What a provider did with a request, by the status of its response.
pub(super) fn processing_by(status: StatusCode) -> UpstreamProcessing {
    match (status.is_success(), status.is_client_error()) {
        (true, _) => UpstreamProcessing::Accepted,
        (_, true) => UpstreamProcessing::Refused,
        _ => UpstreamProcessing::Unknown,
    }
}
