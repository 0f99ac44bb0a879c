//! Keep-alive comments on a stream whose provider is silent.

use headgate_protocol::sse::SseDecoder;
use std::time::Duration;

/// A comment of server-sent events, ended by a blank line. Clients ignore it.
pub const KEEP_ALIVE_COMMENT: &[u8] = b": heartbeat\n\n";

/// Decides when a stream may have keep-alive comments.
pub struct KeepAliveCommentTimer {
    every: Option<Duration>,
    /// Whether events are written whole: the start of an incomplete event is then still buffered.
    whole_events: bool,
}

impl KeepAliveCommentTimer {
    /// Set `whole_events` if no event is written before it is complete.
    pub fn new(every: Option<Duration>, whole_events: bool) -> Self {
        Self {
            every,
            whole_events,
        }
    }

    /// The interval of keep-alive comments; `None` while none may be sent. `is_over`: the protocol's last event has
    /// passed.
    pub fn current_interval(&self, framer: &SseDecoder, is_over: bool) -> Option<Duration> {
        let between_events = match self.whole_events {
            true => !framer.is_in_oversize(),
            false => framer.is_between_events(),
        };
        self.every.filter(|_| between_events && !is_over)
    }
}

#[cfg(test)]
mod tests {
    use super::KeepAliveCommentTimer;
    use headgate_protocol::Protocol;
    use headgate_protocol::sse::SseDecoder;
    use headgate_protocol::stream::StreamProgress;
    use std::time::Duration;

    const EVERY: Duration = Duration::from_secs(15);
    const MAX: usize = 64;

    /// Whether a keep-alive comment may be sent after `stream`.
    fn may_send_comment(whole_events: bool, stream: &str) -> bool {
        let keep_alive = KeepAliveCommentTimer::new(Some(EVERY), whole_events);
        let mut progress = StreamProgress::new(&Protocol::Chat.descriptor().streams, 1);
        let mut framer = SseDecoder::new(MAX);
        framer.push(&stream.to_owned().into());
        while let Some(event) = framer.next() {
            progress.note(&event, framer.is_in_oversize());
        }
        keep_alive.current_interval(&framer, progress.is_over()) == Some(EVERY)
    }

    #[test]
    fn comments_are_sent_between_events_only() {
        let oversize = format!("data: {}", "x".repeat(MAX));
        for (stream, as_it_comes, in_whole_events) in [
            ("", true, true),
            ("data: {}\n\n", true, true),
            ("data: {}\r\n\r\n", true, true),
            (": ping\n\n", true, true),
            ("data: {}\n", false, true),
            ("d", false, true),
            ("data: {}\n\nevent: a\ndata: {", false, true),
            // The first part of the oversize event is already written.
            (&*oversize, false, false),
        ] {
            assert_eq!(may_send_comment(false, stream), as_it_comes, "{stream}");
            assert_eq!(may_send_comment(true, stream), in_whole_events, "{stream}");
        }
    }

    #[test]
    fn no_comment_follows_the_last_event() {
        assert!(!may_send_comment(false, "data: {}\n\ndata: [DONE]\n\n"));
        assert!(!may_send_comment(
            true,
            "data: {\"error\":{\"message\":\"no\"}}\n\n"
        ));
    }

    #[test]
    fn no_comments_without_the_heartbeat_filter() {
        let keep_alive = KeepAliveCommentTimer::new(None, false);
        assert_eq!(
            keep_alive.current_interval(&SseDecoder::new(MAX), false),
            None
        );
    }
}
