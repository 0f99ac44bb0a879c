//! A connection whose WebSocket handshake was accepted.

use super::http1::Http1ServerSession;
use super::websocket_request::WebSocketOrigin;
use bytes::{Bytes, BytesMut};
use headgate_channel::lease::ChannelLease;
use headgate_channel::permit::ChannelPermit;
use headgate_websocket::connection::WebSocketLimits;
use headgate_websocket::realtime::RealtimeLimits;
use headgate_websocket::responses::ResponsesSocketLimits;
use pingora_core::protocols::Stream;

/// A connection that carries messages from now on.
pub struct AcceptedWebSocket {
    pub session: Box<Http1ServerSession>,
    pub origin: WebSocketOrigin,
    pub frames: WebSocketLimits,
    pub messages: AcceptedMessages,
}

/// What the messages are.
pub enum AcceptedMessages {
    Requests(ResponsesSocketLimits),
    Session(AcceptedSession),
}

/// A session whose handshakes are over.
pub struct AcceptedSession {
    pub limits: RealtimeLimits,
    pub tunnel: Box<ProviderTunnel>,
}

/// A provider's WebSocket, whose handshake is over.
pub struct ProviderTunnel {
    pub stream: Stream,
    /// What was received after the handshake.
    pub received: BytesMut,
    pub lease: ChannelLease,
    /// Counts the session for the channel.
    pub permit: Option<ChannelPermit>,
    /// The body of the requests of the session's responses.
    pub request_body: Bytes,
    /// The model as the caller names it.
    pub model: String,
}
