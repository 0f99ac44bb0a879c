//! Directives: faults, sizes and paces that a request asks for, as `name=value; name`.

use super::directive_value::{DirectiveError, MAX_TEXT_BYTES, RawDirective};
use super::task_directives::TaskDirectives;
use http::{Method, StatusCode};
use std::time::Duration;

/// The size of a content event in bytes if `events` is given without a size.
const EVENT_BYTES: usize = 10;

/// What a request asks for. A directive that is not set leaves the ordinary behaviour.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Directives {
    pub delay: Option<Duration>,
    pub status: Option<StatusCode>,
    pub code: Option<String>,
    pub message: Option<String>,
    /// Seconds.
    pub retry_after: Option<u64>,
    pub events: Option<usize>,
    pub event_bytes: Option<usize>,
    pub body_bytes: Option<usize>,
    pub pace: Option<Duration>,
    pub interruption: Option<StreamInterruption>,
    pub end_after_bytes: Option<u64>,
    pub end_after_events: Option<u64>,
    pub times: Option<u64>,
    /// The method that the directives apply to; any method if `None`.
    pub only: Option<Method>,
    pub task: TaskDirectives,
    pub cut: bool,
    pub error_body: bool,
    pub error_event_first: bool,
    pub stall: bool,
    pub html: bool,
    pub no_usage: bool,
    pub malformed: bool,
    pub echo_credential: bool,
    pub stamp: bool,
    pub takes_response_format: bool,
}

/// An interruption of a stream before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamInterruption {
    /// The number of content events sent before the interruption; if the response has fewer, it comes after the last
    /// one.
    pub after: u64,
    pub by: StreamInterruptionKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamInterruptionKind {
    Cut,
    ErrorEvent,
    Stall,
}

/// The sizes of the response text and of its pieces; `None` for the ordinary size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResponseTextSizes {
    pub text: Option<usize>,
    pub piece: Option<usize>,
}

impl Directives {
    /// Parses `name=value; name; …`; of two contradicting directives the later one wins.
    pub fn parse(text: &str) -> Result<Self, DirectiveError> {
        let mut directives = Self::default();
        for directive in text
            .split(';')
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
            directives.set(RawDirective {
                name: name.trim(),
                value: value.trim(),
            })?;
        }
        directives.sizes()?;
        Ok(directives)
    }

    /// These directives, with `general` for those that are not set.
    pub fn or(self, general: Self) -> Self {
        Self {
            delay: self.delay.or(general.delay),
            status: self.status.or(general.status),
            code: self.code.or(general.code),
            message: self.message.or(general.message),
            retry_after: self.retry_after.or(general.retry_after),
            events: self.events.or(general.events),
            event_bytes: self.event_bytes.or(general.event_bytes),
            body_bytes: self.body_bytes.or(general.body_bytes),
            pace: self.pace.or(general.pace),
            interruption: self.interruption.or(general.interruption),
            end_after_bytes: self.end_after_bytes.or(general.end_after_bytes),
            end_after_events: self.end_after_events.or(general.end_after_events),
            times: self.times.or(general.times),
            only: self.only.or(general.only),
            task: self.task.or(general.task),
            cut: self.cut || general.cut,
            error_body: self.error_body || general.error_body,
            error_event_first: self.error_event_first || general.error_event_first,
            stall: self.stall || general.stall,
            html: self.html || general.html,
            no_usage: self.no_usage || general.no_usage,
            malformed: self.malformed || general.malformed,
            echo_credential: self.echo_credential || general.echo_credential,
            stamp: self.stamp || general.stamp,
            takes_response_format: self.takes_response_format || general.takes_response_format,
        }
    }

    /// The sizes that follow from `events`, `event_bytes` and `body_bytes`; if all three are set, `body_bytes` is
    /// ignored.
    pub fn sizes(&self) -> Result<ResponseTextSizes, DirectiveError> {
        let product = |events: usize, bytes: usize| ResponseTextSizes {
            text: Some(events.saturating_mul(bytes)),
            piece: Some(bytes),
        };
        let sizes = match (self.events, self.event_bytes, self.body_bytes) {
            (Some(events), Some(bytes), _) => product(events, bytes),
            (Some(events), None, None) => product(events, EVENT_BYTES),
            (Some(events), None, Some(text)) => ResponseTextSizes {
                text: Some(text),
                piece: Some(text.div_ceil(events.max(1)).max(1)),
            },
            (None, piece, text) => ResponseTextSizes { text, piece },
        };
        if sizes.text.is_some_and(|bytes| bytes > MAX_TEXT_BYTES) {
            return Err(DirectiveError::TooMuchText);
        }
        Ok(sizes)
    }

    fn set(&mut self, value: RawDirective) -> Result<(), DirectiveError> {
        match value.name {
            "delay" => self.delay = Some(value.duration()?),
            "status" => self.status = Some(value.status()?),
            "code" => self.code = Some(value.word()?),
            "message" => self.message = Some(value.word()?),
            "retry_after" => self.retry_after = Some(value.number()?),
            "events" => self.events = Some(value.size()?),
            "event_bytes" => self.event_bytes = Some(value.size()?.max(1)),
            "body_bytes" => self.body_bytes = Some(value.size()?),
            "pace" => self.pace = Some(value.duration()?),
            "cut_after" => self.interrupt(value, StreamInterruptionKind::Cut)?,
            "error_event_after" => self.interrupt(value, StreamInterruptionKind::ErrorEvent)?,
            "stall_after" => self.interrupt(value, StreamInterruptionKind::Stall)?,
            "end_after_bytes" => self.end_after_bytes = Some(value.number()?),
            "end_after_events" => self.end_after_events = Some(value.number()?),
            "times" => self.times = Some(value.number()?),
            "only" => self.only = Some(value.method()?),
            "cut" => self.cut = value.flag()?,
            "error_body" => self.error_body = value.flag()?,
            "error_event_first" => self.error_event_first = value.flag()?,
            "stall" => self.stall = value.flag()?,
            "html" => self.html = value.flag()?,
            "no_usage" => self.no_usage = value.flag()?,
            "malformed" => self.malformed = value.flag()?,
            "echo_credential" => self.echo_credential = value.flag()?,
            "stamp" => self.stamp = value.flag()?,
            "takes_response_format" => self.takes_response_format = value.flag()?,
            _ => self.task.set(value)?,
        }
        Ok(())
    }

    fn interrupt(
        &mut self,
        value: RawDirective,
        by: StreamInterruptionKind,
    ) -> Result<(), DirectiveError> {
        let after = value.number()?;
        self.interruption = Some(StreamInterruption { after, by });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::known_directives::KNOWN;

    #[test]
    fn every_known_directive_is_read() {
        for (name, _) in KNOWN {
            let with_value = ["", "=3", "=3s", "=503", "=failed", "=GET", "=lost"]
                .map(|value| format!("{name}{value}"));
            let read = with_value
                .iter()
                .any(|text| Directives::parse(text).is_ok());
            assert!(read, "{name}");
        }
    }

    #[test]
    fn a_list_is_read_with_or_without_blanks() {
        let directives =
            Directives::parse("delay=500ms; status=429;retry_after=2 ; stamp;").unwrap();
        assert_eq!(directives.delay, Some(Duration::from_millis(500)));
        assert_eq!(directives.status, Some(StatusCode::TOO_MANY_REQUESTS));
        assert_eq!(directives.retry_after, Some(2));
        assert!(directives.stamp && !directives.cut);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for (text, names) in [
            ("delay=1s; bogus=1", "`bogus`"),
            ("delay=5", "`5`"),
            ("status=204", "`204`"),
            ("status=99", "`99`"),
            ("events=-1", "`-1`"),
            ("events=1000000; event_bytes=1000000", "bytes of text"),
            ("cut=7", "`7`"),
            ("code=", "`code`"),
        ] {
            let message = Directives::parse(text).unwrap_err().to_string();
            assert!(message.contains(names), "{text}: {message}");
        }
    }

    #[test]
    fn sizes_follow_from_events_and_bytes() {
        for (text, bytes, piece) in [
            ("", None, None),
            ("events=3", Some(30), Some(10)),
            ("events=3; event_bytes=5", Some(15), Some(5)),
            ("events=3; body_bytes=100", Some(100), Some(34)),
            ("body_bytes=100", Some(100), None),
            ("event_bytes=1", None, Some(1)),
        ] {
            let sizes = Directives::parse(text).unwrap().sizes();
            assert_eq!(
                sizes,
                Ok(ResponseTextSizes { text: bytes, piece }),
                "{text}"
            );
        }
    }

    #[test]
    fn the_nearer_directive_wins_over_the_general_one() {
        let near = Directives::parse("status=500").unwrap();
        let general = Directives::parse("status=429; delay=1s; html").unwrap();
        let both = near.or(general);
        assert_eq!(both.status, Some(StatusCode::INTERNAL_SERVER_ERROR));
        assert!(both.delay.is_some() && both.html);
    }
}
