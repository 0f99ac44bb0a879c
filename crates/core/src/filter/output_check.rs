//! Filters that decide whether a response may reach the caller: nothing of it is sent before they have seen it.

use super::Filter;
use super::view::RequestView;
use headgate_protocol::Protocol;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::sse::SseEvent;
use std::sync::Arc;
use std::time::Duration;

/// Whether a filter must see a response before its caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputCheckMode {
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

/// How the filters of a route check its responses.
#[derive(Clone, Default)]
pub enum RouteOutputChecks {
    /// No filter checks responses.
    #[default]
    None,
    /// Filters check whole bodies; streams are refused.
    WholeBodies,
    /// Filters check whole bodies, and streams in windows.
    Streams(StreamChecks),
}

/// The filters that check streams, and how much of a stream is held for them.
#[derive(Clone)]
pub struct StreamChecks {
    /// The smallest window of any of the filters.
    pub window: HoldWindow,
    /// In their order.
    filters: Vec<Arc<dyn Filter>>,
}

impl RouteOutputChecks {
    /// The checks among `filters`.
    pub fn from_filters(filters: &[Arc<dyn Filter>]) -> Self {
        filters.iter().fold(Self::None, |checks, filter| {
            match (checks, filter.declare().output_check) {
                (checks, OutputCheckMode::None) => checks,
                (_, OutputCheckMode::WholeBodies) | (Self::WholeBodies, _) => Self::WholeBodies,
                (Self::None, OutputCheckMode::Streams(window)) => Self::Streams(StreamChecks {
                    window,
                    filters: vec![filter.clone()],
                }),
                (Self::Streams(mut streams), OutputCheckMode::Streams(window)) => {
                    streams.window = streams.window.min(window);
                    streams.filters.push(filter.clone());
                    Self::Streams(streams)
                }
            }
        })
    }

    /// Whether a response that cannot be shown to a filter must not reach the caller.
    pub fn is_required(&self) -> bool {
        !matches!(self, Self::None)
    }

    /// Refuses a request for a stream on a route without streams.
    ///
    /// # Errors
    /// The request asks for a stream.
    pub fn admit(&self, request: &RequestView) -> Result<(), Fault> {
        if !matches!(self, Self::WholeBodies) || !asks_for_stream(request) {
            return Ok(());
        }
        let message = "streams are not available on this path; set `stream` to false";
        Err(Fault::new(FaultKind::Invalid, message).param("stream"))
    }
}

impl StreamChecks {
    /// Shows an event to the filters; returns whether it must wait for their decision.
    pub fn on_held_event(&self, request: &mut RequestView, event: &SseEvent) -> bool {
        let mut waits = false;
        for filter in &self.filters {
            waits |= filter.on_held_event(request, event);
        }
        waits
    }

    /// Has the filters decide about the events since the last window.
    ///
    /// # Errors
    /// A filter refuses them.
    pub async fn on_window(&self, request: &mut RequestView) -> Result<(), Fault> {
        for filter in &self.filters {
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

/// Whether the path, the body, or the query of a request without one, asks for a stream.
pub fn asks_for_stream(request: &RequestView) -> bool {
    let descriptor = request.protocol.map(Protocol::descriptor);
    if descriptor.is_some_and(|it| it.is_stream_path(request.endpoint_path())) {
        return true;
    }
    let body = request.body.document();
    let in_body = body.and_then(|body| body.root().get("stream")?.as_bool());
    let is_stream = |query: &str| query.split('&').any(|member| member == "stream=true");
    in_body == Some(true) || request.query.as_deref().is_some_and(is_stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::FilterDeclaration;

    struct CheckingFilter(OutputCheckMode);

    impl Filter for CheckingFilter {
        fn declare(&self) -> FilterDeclaration {
            FilterDeclaration {
                output_check: self.0,
                ..FilterDeclaration::default()
            }
        }
    }

    #[test]
    fn one_check_of_whole_bodies_refuses_streams_and_the_smallest_window_counts() {
        let window = |events, bytes| HoldWindow {
            events,
            bytes,
            time: Duration::from_secs(1),
        };
        let streams = |events, bytes| OutputCheckMode::Streams(window(events, bytes));
        for (declared, expected) in [
            (&[][..], OutputCheckMode::None),
            (&[OutputCheckMode::None], OutputCheckMode::None),
            (
                &[OutputCheckMode::WholeBodies],
                OutputCheckMode::WholeBodies,
            ),
            (&[streams(2, 9)], streams(2, 9)),
            (
                &[streams(2, 9), OutputCheckMode::None, streams(3, 8)],
                streams(2, 8),
            ),
            (
                &[streams(2, 9), OutputCheckMode::WholeBodies],
                OutputCheckMode::WholeBodies,
            ),
            (
                &[OutputCheckMode::WholeBodies, streams(2, 9)],
                OutputCheckMode::WholeBodies,
            ),
        ] {
            let filters = declared
                .iter()
                .map(|&check| Arc::new(CheckingFilter(check)) as _);
            let checks = RouteOutputChecks::from_filters(&filters.collect::<Vec<_>>());
            assert_eq!(checks.is_required(), expected != OutputCheckMode::None);
            let found = match checks {
                RouteOutputChecks::None => OutputCheckMode::None,
                RouteOutputChecks::WholeBodies => OutputCheckMode::WholeBodies,
                RouteOutputChecks::Streams(streams) => OutputCheckMode::Streams(streams.window),
            };
            assert_eq!(found, expected, "{declared:?}");
        }
    }
}
