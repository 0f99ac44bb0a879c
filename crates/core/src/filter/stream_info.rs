//! What is known of an exchange so far, beyond the request: for filters, the access log and the metrics.

use super::LocalReply;
use crate::callout::CallOutcome;
use crate::catalog::fallback::FallbackCause;
use crate::catalog::model::{Candidate, Model};
use crate::catalog::price::{ExchangeCost, ModelPrice};
use crate::state::admission::LimitKind;
use crate::state::run::RunLimit;
use crate::subrequest::UpstreamRequestIdSlot;
use headgate_protocol::error_class::ErrorClassification;
use headgate_protocol::usage::TokenUsage;
use http::HeaderValue;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The most bytes of an event that has a single token: ids, names and the token's text.
pub const SINGLE_TOKEN_EVENT_BYTES: usize = 1024;

/// What the exchange and its filters learned. Data that only one filter uses is in
/// [`RequestFilterValues`](super::state::RequestFilterValues).
#[derive(Default)]
pub struct StreamInfo {
    pub usage: UsageReport,
    /// The provider's id of the response object.
    pub response_id: Option<String>,
    /// Whether the caller's limits admitted the request.
    pub quota: QuotaDecision,
    /// The channel of a filter's subrequest, if the exchange made no attempt.
    pub subrequest_candidate: Option<Candidate>,
    /// The provider's request id of the exchange's last subrequest.
    pub subrequest_id: OnceLock<UpstreamRequestIdSlot>,
    /// Number of the current or last attempt, from 1; 0 before the first one.
    pub attempt: u32,
    /// Index of the channel's credential in the last attempt.
    pub credential: Option<u32>,
    /// The provider of the last attempt may have processed the request, so tokens may have been used.
    pub may_have_cost: bool,
    /// What became of the request at the provider, as far as the gateway knows.
    pub processing: UpstreamProcessing,
    /// The provider's request id of the last attempt.
    pub upstream_request_id: Option<HeaderValue>,
    /// What became of the caller's `Idempotency-Key`, if it sent one.
    pub idempotency: Option<IdempotencyOutcome>,
    /// How the record of a paid create ended: a name of [`CreateEnd`](headgate_paid::journal::CreateEnd).
    pub create_end: Option<&'static str>,
    /// What the response cache did for the request, if it was consulted.
    pub cache: Option<CacheOutcome>,
    /// What became of the calls of services.
    pub callouts: CalloutSummary,
    /// Number of events of the stream so far.
    pub events: u64,
    /// Those of them that keep the connection alive: comments and pings.
    pub idle_events: u32,
    /// Bytes of its events beyond the first [`SINGLE_TOKEN_EVENT_BYTES`] of each.
    pub large_event_bytes: u32,
    /// Whether the stream ended with the last event of its protocol.
    pub is_stream_whole: bool,
    /// Whether the stream ended with bytes that are no complete event, which event filters do not see.
    pub ends_in_partial_event: bool,
    /// The error event that ended the stream, or the failure in a body that was committed before it was examined.
    pub stream_error: Option<ErrorClassification>,
    /// Whether the provider sent a whole body although the request asks for a stream.
    pub is_unstreamed: bool,
}

/// The denial that the caller got in place of a response of the provider, which had accepted the request; in
/// [`RequestFilterValues`](super::state::RequestFilterValues), as few exchanges have one.
pub struct DenialReplyForReplay(pub LocalReply);

/// The id of the trace of an exchange; in [`RequestFilterValues`](super::state::RequestFilterValues), for exchanges that have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExchangeTraceId(pub [u8; 16]);

/// The calls of services by filters, in few bytes: every exchange has this.
#[derive(Clone, Copy, Debug, Default)]
pub struct CalloutSummary {
    pub calls: u16,
    /// How the last one ended that ended otherwise than continuing, or else the last one.
    pub outcome: Option<CallOutcome>,
    /// Whether a response continues that a service should have checked, and did not.
    pub is_response_unchecked: bool,
    /// How long they took together, in microseconds.
    total_us: u32,
}

/// A model that another one stands in for; in [`RequestFilterValues`](super::state::RequestFilterValues), as few exchanges have
/// one.
#[derive(Clone, Debug)]
pub struct ModelFallback {
    /// The model that the request named.
    pub requested: Arc<Model>,
    /// Why the last model before this one could not serve the request.
    pub cause: FallbackCause,
}

/// The usage of batches whose end this exchange was the first to show; in [`RequestFilterValues`](super::state::RequestFilterValues).
#[derive(Default)]
pub struct SettledUsages(pub Vec<SettledUsage>);

/// What a batch has used of one model, in requests of which the same prices hold.
pub struct SettledUsage {
    /// `None` if the configuration has it no more.
    pub model: Option<Arc<Model>>,
    /// With the protocol of the requests.
    pub candidate: Candidate,
    /// The prices as of the create; `None` if the configuration has none.
    pub price: Option<Arc<ModelPrice>>,
    /// The sum of the requests.
    pub usage: TokenUsage,
    /// Input tokens of a request, as far as the prices depend on them.
    pub input_length: u64,
    /// What it costs, in percent of the prices of the model.
    pub price_percent: u8,
}

impl SettledUsage {
    /// What it costs; `None` if it has no prices.
    pub fn cost(&self) -> Option<ExchangeCost> {
        let price = self.price.as_ref()?;
        Some(price.batch_cost(self.input_length, &self.usage, self.price_percent))
    }
}

impl ModelFallback {
    /// The names of the model that the request named, and of the cause.
    pub fn names(&self) -> (&str, &'static str) {
        (&self.requested.name, self.cause.name())
    }
}

/// Token usage of a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UsageReport {
    /// No filter meters tokens.
    #[default]
    NotMetered,
    /// Token usage was expected, and the provider has not reported it.
    Missing,
    /// The provider has reported counts that no request can have reached; they are neither added up nor billed.
    Implausible,
    Counted(TokenUsage),
}

/// What a provider did with a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UpstreamProcessing {
    /// It received nothing, or reports that it processed nothing.
    #[default]
    Unsent,
    /// It refused the request, with a 4xx status.
    Refused,
    /// It may have accepted the request.
    Unknown,
    /// It accepted the request.
    Accepted,
}

/// What became of an `Idempotency-Key`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdempotencyOutcome {
    /// The key is new, or free again.
    First,
    /// The caller got the recorded response.
    Replayed,
    KeyReused,
    KeyInUse,
    ResponseNotKept,
    OutcomeUnknown,
    /// The key could not be stored.
    NotStored,
    /// The caller has as many keys as it may have.
    KeysFull,
}

/// What the response cache did for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheOutcome {
    /// The caller got a recorded response.
    Hit,
    /// The request was sent, and its response may have been recorded.
    Miss,
    /// The request was sent, and its response was not recorded.
    Bypass,
}

/// Outcome of the check against the caller's limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QuotaDecision {
    /// The limits admitted the request, or no limit applied.
    #[default]
    Admitted,
    Refused(LimitKind),
    /// The run of the request refused it.
    RunRefused(RunLimit),
    /// The store was unreachable, and the request continued without a check.
    Unchecked,
}

impl QuotaDecision {
    /// The name of the limit that refused the request, in metrics.
    pub fn refusing_limit(self) -> Option<&'static str> {
        match self {
            Self::Refused(limit) => Some(limit.name()),
            Self::RunRefused(limit) => Some(limit.name()),
            Self::Admitted | Self::Unchecked => None,
        }
    }
}

impl IdempotencyOutcome {
    /// The value in metrics and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Replayed => "replayed",
            Self::KeyReused => "key_reused",
            Self::KeyInUse => "key_in_use",
            Self::ResponseNotKept => "answer_not_kept",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::NotStored => "not_stored",
            Self::KeysFull => "keys_full",
        }
    }
}

impl CacheOutcome {
    /// The value in metrics, logs and the response header.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Miss => "miss",
            Self::Bypass => "bypass",
        }
    }
}

impl fmt::Display for ExchangeTraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl CalloutSummary {
    /// Counts a call.
    pub fn note(&mut self, outcome: CallOutcome, took: Duration) {
        self.calls = self.calls.saturating_add(1);
        let took = u32::try_from(took.as_micros()).unwrap_or(u32::MAX);
        self.total_us = self.total_us.saturating_add(took);
        if outcome != CallOutcome::Continue || self.outcome.is_none() {
            self.outcome = Some(outcome);
        }
    }

    /// How long the calls took together.
    pub fn total(&self) -> Duration {
        Duration::from_micros(self.total_us.into())
    }
}

impl StreamInfo {
    /// The fewest tokens of output that the events of the stream can have.
    pub fn event_tokens(&self) -> u64 {
        self.events.saturating_sub(self.idle_events.into())
    }
}

impl UsageReport {
    pub fn counted(&self) -> Option<&TokenUsage> {
        match self {
            Self::Counted(usage) => Some(usage),
            Self::NotMetered | Self::Missing | Self::Implausible => None,
        }
    }
}
