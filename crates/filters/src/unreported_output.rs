//! Output of which a provider has reported nothing although its response has text: its usage came before the text, or has no
//! output.

use headgate_core::filter::view::RequestView;
use headgate_protocol::Protocol;
use headgate_protocol::usage::{StreamUsageMeter, TokenUsage};

/// Events of a stream that may follow its usage, and that a stream without text may have.
const EVENTS_MAX: u64 = 16;
/// Bytes of a response without text, beside what it repeats of the request.
const BODY_BYTES_MAX: usize = 4_096;

/// Marks an exchange whose usage lacks the output; in
/// [`RequestFilterValues`](headgate_core::filter::state::RequestFilterValues).
pub struct UnreportedOutput;

impl UnreportedOutput {
    /// Whether the usage of a stream that has ended lacks its output.
    pub fn is_in_stream(
        request: &RequestView,
        meter: &StreamUsageMeter,
        usage: &TokenUsage,
    ) -> bool {
        let has_text = request.info.event_tokens() > EVENTS_MAX;
        let is_early = meter.events_after_usage() > EVENTS_MAX;
        is_early || (has_text && usage.output_tokens == Some(0))
    }

    /// Whether the usage of a response of this length lacks its output.
    pub fn is_in_body(request: &RequestView, body: &[u8], usage: &TokenUsage) -> bool {
        let protocol = request.protocol.map(Protocol::descriptor);
        let is_text = protocol.is_some_and(|protocol| protocol.conversation.is_some());
        // It may repeat instructions and tools of the request, with white space.
        let without_text = BODY_BYTES_MAX.saturating_add(request.body.len().saturating_mul(2));
        is_text && usage.output_tokens == Some(0) && body.len() > without_text
    }
}

/// The usage of an exchange as far as it can be true.
pub fn reported_usage(request: &RequestView) -> Option<TokenUsage> {
    let usage = *request.info.usage.counted()?;
    Some(match request.state.get::<UnreportedOutput>() {
        None => usage,
        Some(UnreportedOutput) => TokenUsage {
            output_tokens: None,
            reasoning_tokens: None,
            ..usage
        },
    })
}
