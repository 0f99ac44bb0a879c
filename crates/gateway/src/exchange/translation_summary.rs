//! What was translated in an exchange and what that lost, for the log, the trace and the metrics.

use headgate_core::catalog::model::Candidate;
use headgate_core::filter::view::RequestView;
use headgate_observe::bounded::bounded;
use headgate_observe::translation_metrics::TranslationMetrics;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_translate::{FieldOutcome, Ledger, ProtocolPair};
use std::borrow::Cow;

/// Bytes of the text about a request if there is one about the response, too: both have room in a field of the log.
const REQUEST_BYTES_MAX: usize = 600;

/// What is translated: what the caller sends, or what the provider sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TranslationSide {
    Request,
    Response,
}

/// The translation of one exchange.
pub(super) struct TranslationSummary {
    /// `None` if both sides speak one protocol, and only foreign seals were removed.
    pair: Option<ProtocolPair>,
    /// Such as `messages->chat; dropped=metadata; response: dropped=system_fingerprint`.
    pub text: String,
    /// How many members each side lost, by what became of them.
    losses: Vec<(TranslationSide, FieldOutcome, u64)>,
}

impl TranslationSummary {
    /// A request that was sent; `header` is what its caller reads of it.
    pub(super) fn for_request(pair: ProtocolPair, header: String, ledger: &Ledger) -> Self {
        let mut summary = Self {
            pair: Some(pair),
            text: header,
            losses: Vec::new(),
        };
        summary.add(TranslationSide::Request, ledger);
        summary
    }

    /// A request for the number of its tokens, which the gateway estimates.
    pub(super) fn for_estimate(pair: ProtocolPair) -> Self {
        Self {
            pair: Some(pair),
            text: format!("{pair}; token_count=estimate"),
            losses: Vec::new(),
        }
    }

    /// A request in the channel's own protocol, of which seals were removed.
    pub(super) fn for_removal(text: String) -> Self {
        Self {
            pair: None,
            text,
            losses: Vec::new(),
        }
    }

    /// Adds what a response lost.
    pub(super) fn add_response(&mut self, ledger: &Ledger) {
        let lost = ledger.log_text();
        if lost.is_empty() {
            return;
        }
        if let Cow::Owned(request) = bounded(&self.text, REQUEST_BYTES_MAX) {
            self.text = request;
        }
        self.text.extend(["; response: ", &lost]);
        self.add(TranslationSide::Response, ledger);
    }

    /// Counts the exchange.
    pub(super) fn count(&self, metrics: &TranslationMetrics) {
        let Some(pair) = self.pair else { return };
        let losses = self.losses.iter();
        let losses = losses.map(|(side, outcome, count)| (side.name(), outcome.name(), *count));
        metrics.count(pair.name(), losses);
    }

    fn add(&mut self, side: TranslationSide, ledger: &Ledger) {
        for entry in ledger.entries() {
            let outcome = match entry.outcome {
                FieldOutcome::Approximated => FieldOutcome::Approximated,
                // A request with a refusal is sent only where the route drops what is refused.
                FieldOutcome::Dropped | FieldOutcome::Refused | FieldOutcome::AlwaysRefused => {
                    FieldOutcome::Dropped
                }
            };
            let mut losses = self.losses.iter_mut();
            match losses.find(|(known, loss, _)| (*known, *loss) == (side, outcome)) {
                Some((.., count)) => *count += entry.count,
                None => self.losses.push((side, outcome, entry.count)),
            }
        }
    }
}

impl TranslationSide {
    /// The label of metrics.
    fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
        }
    }
}

/// Records a request that is refused since the protocol of `candidate` cannot say a member.
pub(super) fn note_refusal(candidate: &Candidate, fault: &Fault, request: &mut RequestView) {
    if !candidate.is_translated || fault.kind != FaultKind::Invalid {
        return;
    }
    let (Some(caller), Some(channel)) = (request.protocol, candidate.protocol) else {
        return;
    };
    if let Some(pair) = ProtocolPair::with_channel(caller, channel) {
        request.state.set(TranslationSummary {
            pair: Some(pair),
            text: format!("{pair}; refused"),
            losses: vec![(TranslationSide::Request, FieldOutcome::Refused, 1)],
        });
    }
}
