//! Metrics of callers' WebSockets.

use headgate_core::feature::metrics::registered;
use prometheus::{IntCounterVec, IntGauge, Opts, Registry};

/// Open WebSockets, and why others have ended.
pub struct WebSocketMetrics {
    open: IntGauge,
    ended: IntCounterVec,
}

/// A WebSocket that is open until this is dropped.
pub struct OpenWebSocketGuard<'m>(&'m WebSocketMetrics);

impl WebSocketMetrics {
    pub(super) fn new(registry: &Registry) -> Self {
        let open = IntGauge::new("headgate_websockets", "Open WebSockets of callers.");
        let ended = Opts::new(
            "headgate_websockets_ended_total",
            "WebSockets of callers that have ended, by the reason.",
        );
        Self {
            open: registered(registry, open),
            ended: registered(registry, IntCounterVec::new(ended, &["reason"])),
        }
    }

    /// Counts a WebSocket as open.
    pub fn open(&self) -> OpenWebSocketGuard<'_> {
        self.open.inc();
        OpenWebSocketGuard(self)
    }
}

impl OpenWebSocketGuard<'_> {
    /// Counts the reason for which it ends.
    pub fn end(self, reason: &str) {
        self.0.ended.with_label_values(&[reason]).inc();
    }
}

impl Drop for OpenWebSocketGuard<'_> {
    fn drop(&mut self) {
        self.0.open.dec();
    }
}
