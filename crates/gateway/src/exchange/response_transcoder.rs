//! Converts a provider's response, in the channel's protocol, to the caller's protocol: between the provider's bytes and
//! the response chain.
//!
//! Metering, settlement, error classes, the commit and the health of channels read the provider's side. The response
//! chain, output checks, keep-alive comments, error events and the end of the caller's stream belong to the caller's side.

use bytes::Bytes;
use headgate_core::filter::view::ResponseBodyKind;
use headgate_protocol::sse::SseEvent;
use headgate_protocol::{ChannelProtocol, Protocol};
use std::slice;

/// Converts the response of one exchange.
#[derive(Debug)]
pub(super) enum ResponseTranscoder {
    /// Both sides speak one protocol, or none: everything passes as it is.
    Identity,
}

impl ResponseTranscoder {
    /// The conversion of a channel's responses for a caller.
    pub(super) fn between(channel: Option<ChannelProtocol>, caller: Option<Protocol>) -> Self {
        let is_same = || channel == caller.map(ChannelProtocol::for_caller);
        debug_assert!(
            channel.is_none() || caller.is_none() || is_same(),
            "requests go to channels of the caller's protocol only"
        );
        Self::Identity
    }

    /// Whether the caller may get bytes before they are decoded. Otherwise events and bodies are converted whole.
    pub(super) fn passes_bytes(&self) -> bool {
        match self {
            Self::Identity => true,
        }
    }

    /// The form in which the caller gets a response that comes in this form.
    pub(super) fn body_kind(&self, received: ResponseBodyKind) -> ResponseBodyKind {
        match self {
            Self::Identity => received,
        }
    }

    /// The caller's body for a whole body of the provider, of a success or of an error.
    pub(super) fn body(&mut self, received: Bytes) -> Bytes {
        match self {
            Self::Identity => received,
        }
    }

    /// The caller's events for one of the provider.
    pub(super) fn events<'e>(&'e mut self, received: &'e SseEvent) -> &'e [SseEvent] {
        match self {
            Self::Identity => slice::from_ref(received),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_protocol::sse::decode_events;

    #[test]
    fn the_same_protocol_passes_without_a_copy() {
        for protocol in [None, Some(Protocol::Chat), Some(Protocol::Messages)] {
            let channel = protocol.map(ChannelProtocol::for_caller);
            let mut transcoder = ResponseTranscoder::between(channel, protocol);
            assert!(transcoder.passes_bytes());
            let body = Bytes::from_static(b"{\"id\":1}");
            assert_eq!(transcoder.body(body.clone()).as_ptr(), body.as_ptr());
            let stream = Bytes::from_static(b"event: a\ndata: {}\n\ndata: [DONE]\n\n");
            let received = decode_events(&stream, 64);
            assert_eq!(received.len(), 2);
            for event in &received {
                let events = transcoder.events(event);
                assert!(matches!(events, [same] if std::ptr::eq(same, event)));
            }
        }
        assert_eq!(size_of::<ResponseTranscoder>(), 0);
    }
}
