//! The events of a held stream that wait for the decision of filters.

use bytes::Bytes;
use headgate_core::filter::output_check::HoldWindow;
use tokio::time::Instant;

/// The events of the current window, in their order.
pub(super) struct HeldEvents {
    window: HoldWindow,
    events: Vec<Bytes>,
    bytes: u64,
    /// Number of events that were sent.
    pub sent: u64,
    /// When the window is over, counted from its first event.
    pub deadline: Option<Instant>,
}

impl HeldEvents {
    pub(super) fn new(window: HoldWindow) -> Self {
        Self {
            window,
            events: Vec::new(),
            bytes: 0,
            sent: 0,
            deadline: None,
        }
    }

    pub(super) fn push(&mut self, event: Bytes) {
        self.bytes += event.len() as u64;
        self.events.push(event);
        self.deadline
            .get_or_insert_with(|| Instant::now() + self.window.time);
    }

    pub(super) fn is_full(&self) -> bool {
        self.events.len() >= self.window.events as usize || self.bytes >= self.window.bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    pub(super) fn take(&mut self) -> Vec<Bytes> {
        self.bytes = 0;
        self.deadline = None;
        self.sent += self.events.len() as u64;
        std::mem::take(&mut self.events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_window_is_full_at_the_first_of_its_limits() {
        let window = HoldWindow {
            events: 3,
            bytes: 10,
            time: Duration::from_secs(1),
        };
        for (events, full) in [
            (&["a"][..], false),
            (&["a", "b", "c"], true),
            (&["0123456789"], true),
            (&["01234", "5678"], false),
        ] {
            let mut held = HeldEvents::new(window);
            for event in events {
                held.push(Bytes::from_static(event.as_bytes()));
            }
            assert_eq!(held.is_full(), full, "{events:?}");
            assert!(held.deadline.is_some());
            assert_eq!(held.take().len(), events.len());
            assert!(held.is_empty() && !held.is_full() && held.deadline.is_none());
        }
    }
}
