//! Filters that decide whether a response may reach the caller: nothing of it is sent before they have seen it.

use super::Filter;
use super::view::RequestView;
use crate::protocol::fault::{Fault, FaultKind};
use crate::protocol::sse::SseEvent;
use std::sync::Arc;
use std::time::Duration;

/// Whether a filter must see a response before its caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputCheck {
    /// The filter decides nothing about responses.
    #[default]
    None,
    /// The filter sees whole bodies. A request for a stream is refused.
    WholeBodies,
    /// The filter sees whole bodies, and streams in windows of events.
    Streams(HoldWindow),
}

/// How many events of a stream are held before a filter decides about them: until the first of the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoldWindow {
    pub events: u32,
    /// Size of the events. A window may exceed it by one event.
    pub bytes: u64,
    /// Time since the first event of the window.
    pub time: Duration,
}

/// The filters of a route that check its responses.
#[derive(Clone, Default)]
pub struct OutputChecks {
    is_required: bool,
    refuses_streams: bool,
    window: Option<HoldWindow>,
    /// The filters that see windows, in their order.
    holding: Vec<Arc<dyn Filter>>,
}

impl OutputChecks {
    /// The checks among `filters`, with the smallest window of any of them.
    pub fn of(filters: &[Arc<dyn Filter>]) -> Self {
        let mut checks = Self::default();
        for filter in filters {
            match filter.declare().output_check {
                OutputCheck::None => continue,
                OutputCheck::WholeBodies => checks.refuses_streams = true,
                OutputCheck::Streams(window) => {
                    checks.window = Some(checks.window.map_or(window, |other| other.min(window)));
                    checks.holding.push(filter.clone());
                }
            }
            checks.is_required = true;
        }
        checks
    }

    /// Whether a response that cannot be shown to a filter must not reach the caller.
    pub fn is_required(&self) -> bool {
        self.is_required
    }

    /// Whether streams must not reach the caller.
    pub fn refuses_streams(&self) -> bool {
        self.refuses_streams
    }

    /// The window in which events are held; `None` if streams are not held.
    pub fn window(&self) -> Option<HoldWindow> {
        self.window.filter(|_| !self.refuses_streams)
    }

    /// Refuses a request for a stream on a route without streams.
    ///
    /// # Errors
    /// The request asks for a stream.
    pub fn admit(&self, request: &RequestView) -> Result<(), Fault> {
        if !self.refuses_streams || !asks_for_stream(request) {
            return Ok(());
        }
        let message = "streams are not available on this path; set `stream` to false";
        Err(Fault::new(FaultKind::Invalid, message).param("stream"))
    }

    /// Shows an event to the filters; returns whether it must wait for their decision.
    pub fn on_held_event(&self, request: &mut RequestView, event: &SseEvent) -> bool {
        let mut waits = false;
        for filter in &self.holding {
            waits |= filter.on_held_event(request, event);
        }
        waits
    }

    /// Has the filters decide about the events since the last window.
    ///
    /// # Errors
    /// A filter refuses them.
    pub async fn on_window(&self, request: &mut RequestView) -> Result<(), Fault> {
        for filter in &self.holding {
            filter.on_window(request).decided().await?;
        }
        Ok(())
    }
}

impl HoldWindow {
    fn min(self, other: Self) -> Self {
        Self {
            events: self.events.min(other.events),
            bytes: self.bytes.min(other.bytes),
            time: self.time.min(other.time),
        }
    }
}

/// Whether the body, or the query of a request without one, asks for a stream.
fn asks_for_stream(request: &RequestView) -> bool {
    let body = request.body.document();
    let in_body = body.and_then(|body| body.root().get("stream")?.as_bool());
    let query = request.query.as_deref().unwrap_or_default();
    in_body == Some(true) || query.split('&').any(|member| member == "stream=true")
}
