//! Signs of life on a stream whose provider is silent: comments, which clients skip.

use crate::protocol::sse::Framer;
use std::time::Duration;

/// A comment and the blank line that ends it, as if it were an event.
pub const BEAT: &[u8] = b": heartbeat\n\n";

/// When a stream may have heartbeats.
pub struct Pulse {
    every: Option<Duration>,
    /// Events are written whole; what has come of the next one is still held.
    whole_events: bool,
}

impl Pulse {
    /// `whole_events` where nothing is written of an event before all of it has come.
    pub fn new(every: Option<Duration>, whole_events: bool) -> Self {
        Self {
            every,
            whole_events,
        }
    }

    /// How long to wait before each heartbeat, if there may be any where the stream stands now; `is_over`
    /// behind the protocol's last event.
    pub fn now(&self, framer: &Framer, is_over: bool) -> Option<Duration> {
        let between_events = match self.whole_events {
            true => !framer.is_in_oversize(),
            false => framer.is_between_events(),
        };
        self.every.filter(|_| between_events && !is_over)
    }
}

#[cfg(test)]
mod tests {
    use super::Pulse;
    use crate::protocol::Protocol;
    use crate::protocol::sse::Framer;
    use crate::protocol::stream::StreamProgress;
    use std::time::Duration;

    const EVERY: Duration = Duration::from_secs(15);
    const MAX: usize = 64;

    /// Whether a heartbeat may follow a stream that came so far.
    fn may_beat(whole_events: bool, stream: &str) -> bool {
        let pulse = Pulse::new(Some(EVERY), whole_events);
        let mut progress = StreamProgress::new(Protocol::Chat, 1);
        let mut framer = Framer::new(MAX);
        framer.push(&stream.to_owned().into());
        while let Some(event) = framer.next() {
            progress.note(&event, framer.is_in_oversize());
        }
        pulse.now(&framer, progress.is_over()) == Some(EVERY)
    }

    #[test]
    fn heartbeats_come_between_events_only() {
        let oversize = format!("data: {}", "x".repeat(MAX));
        for (stream, as_it_comes, in_whole_events) in [
            ("", true, true),
            ("data: {}\n\n", true, true),
            ("data: {}\r\n\r\n", true, true),
            (": ping\n\n", true, true),
            ("data: {}\n", false, true),
            ("d", false, true),
            ("data: {}\n\nevent: a\ndata: {", false, true),
            // A piece of it has been written already.
            (&*oversize, false, false),
        ] {
            assert_eq!(may_beat(false, stream), as_it_comes, "{stream}");
            assert_eq!(may_beat(true, stream), in_whole_events, "{stream}");
        }
    }

    #[test]
    fn behind_the_last_event_there_are_none() {
        assert!(!may_beat(false, "data: {}\n\ndata: [DONE]\n\n"));
        assert!(!may_beat(
            true,
            "data: {\"error\":{\"message\":\"no\"}}\n\n"
        ));
    }

    #[test]
    fn without_the_filter_there_are_none() {
        let pulse = Pulse::new(None, false);
        assert_eq!(pulse.now(&Framer::new(MAX), false), None);
    }
}
