//! What becomes the span of an attempt.

use super::ids::SpanId;
use std::sync::Arc;
use std::time::Duration;

/// An attempt of an exchange. Times are counted from the start of the exchange.
#[derive(Debug)]
pub struct AttemptTrace {
    pub span_id: SpanId,
    pub target: AttemptTarget,
    pub began: Duration,
    /// `None` for the attempt whose response the caller gets, and for one that was interrupted: it ends with the
    /// exchange.
    pub ended: Option<Duration>,
    /// How the attempt ended; `None` if nothing decided that before the end of the exchange.
    pub outcome: Option<&'static str>,
    /// The status of the provider's response, if there was one.
    pub status: Option<u16>,
    /// How often the request was sent again on another connection.
    pub resends: u8,
    /// How long the attempt waited for each side; until it ends, how long the exchange had waited when it began.
    pub waits: ProviderAndCallerWaits,
    /// The provider's request id.
    pub upstream_request_id: Option<String>,
}

/// Where an attempt goes.
#[derive(Clone, Debug)]
pub struct AttemptTarget {
    pub channel: Arc<str>,
    /// Index of the channel's credential.
    pub credential: Option<usize>,
    pub host: Arc<str>,
    pub port: u16,
    /// The channel's name for the model.
    pub model: Option<Arc<str>>,
}

/// How long an exchange waited for the provider and for the caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProviderAndCallerWaits {
    pub upstream: Duration,
    pub client: Duration,
}

/// What is known of an attempt when its response, or its failure, was judged.
#[derive(Clone, Copy, Debug)]
pub struct TracedAttemptOutcome {
    pub outcome: &'static str,
    pub status: Option<u16>,
}

impl AttemptTrace {
    /// An attempt that begins; `waits` is how long the exchange has waited so far.
    pub(super) fn new(
        target: AttemptTarget,
        began: Duration,
        waits: ProviderAndCallerWaits,
    ) -> Self {
        Self {
            span_id: SpanId::random(),
            target,
            began,
            ended: None,
            outcome: None,
            status: None,
            resends: 0,
            waits,
            upstream_request_id: None,
        }
    }

    /// Ends the attempt, unless it has ended before.
    pub(super) fn end(&mut self, at: Duration, waits: ProviderAndCallerWaits) {
        if self.ended.is_none() {
            self.ended = Some(at);
            self.waits = waits.since(self.waits);
        }
    }
}

impl ProviderAndCallerWaits {
    fn since(self, earlier: Self) -> Self {
        Self {
            upstream: self.upstream.saturating_sub(earlier.upstream),
            client: self.client.saturating_sub(earlier.client),
        }
    }
}
