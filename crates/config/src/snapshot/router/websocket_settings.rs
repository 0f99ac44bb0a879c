//! The WebSockets that a route takes.

use crate::websocket::RouteWebSocketConfig;
use std::time::Duration;

/// The WebSockets of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteWebSocketSettings {
    /// Maximum size of the conversations of a WebSocket, in bytes.
    pub history_bytes_max: usize,
    pub ping_interval: Duration,
    pub age_max: Duration,
}

impl Default for RouteWebSocketSettings {
    fn default() -> Self {
        Self::new(&RouteWebSocketConfig::default())
    }
}

impl RouteWebSocketSettings {
    pub(crate) fn new(config: &RouteWebSocketConfig) -> Self {
        let RouteWebSocketConfig {
            history,
            ping_interval,
            max_age,
        } = config;
        Self {
            history_bytes_max: usize::try_from(history.bytes()).unwrap_or(usize::MAX),
            ping_interval: ping_interval.duration(),
            age_max: max_age.duration(),
        }
    }
}
