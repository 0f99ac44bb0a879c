//! A connection whose WebSocket handshake was accepted.

use super::http1::Http1ServerSession;
use super::websocket_request::WebSocketOrigin;
use headgate_websocket::connection::WebSocketLimits;
use headgate_websocket::responses::ResponsesSocketLimits;

/// A connection that carries messages from now on.
pub struct AcceptedWebSocket {
    pub session: Box<Http1ServerSession>,
    pub origin: WebSocketOrigin,
    pub frames: WebSocketLimits,
    pub limits: ResponsesSocketLimits,
}
