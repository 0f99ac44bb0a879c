//! The WebSockets that a route takes.

use crate::websocket::RouteWebSocketConfig;
use headgate_protocol::WebSocketMessages;
use std::time::Duration;

/// The WebSockets of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteWebSocketSettings {
    pub messages: WebSocketMessages,
    /// Maximum size of the conversations of a WebSocket, in bytes.
    pub history_bytes_max: usize,
    pub ping_interval: Duration,
    pub age_max: Duration,
    /// Whether clients may send their key as a subprotocol.
    pub takes_key_in_subprotocol: bool,
}

impl RouteWebSocketSettings {
    pub(crate) fn new(messages: WebSocketMessages, config: &RouteWebSocketConfig) -> Self {
        let RouteWebSocketConfig {
            history,
            ping_interval,
            max_age,
            key_in_subprotocol,
        } = config;
        Self {
            messages,
            history_bytes_max: usize::try_from(history.bytes()).unwrap_or(usize::MAX),
            ping_interval: ping_interval.duration(),
            age_max: max_age.duration(),
            takes_key_in_subprotocol: *key_in_subprotocol,
        }
    }
}
