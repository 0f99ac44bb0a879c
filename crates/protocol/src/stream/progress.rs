//! Tracks the progress of a stream: whether its last event, or an error instead, has been received.

use std::ops::Range;
use std::sync::LazyLock;

use super::{EventClass, StreamEnding, StreamShape, event_type, is_non_empty};
use crate::json::skim;
use crate::sse::SseEvent;
use memchr::memmem::Finder;

/// How many bytes of an oversize event are searched for its name.
const NAMED_WITHIN: usize = 1024;

static ERROR: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"error\""));
static FAILED: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"failed\""));
static FINISH_REASON: LazyLock<Finder<'static>> =
    LazyLock::new(|| Finder::new(b"\"finish_reason\""));
static FINISH_REASON_IN_CAMEL_CASE: LazyLock<Finder<'static>> =
    LazyLock::new(|| Finder::new(b"\"finishReason\""));
static BLOCK_REASON: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"blockReason\""));

/// Tracks the events of one stream.
#[derive(Debug)]
pub struct StreamProgress {
    shape: &'static StreamShape,
    end: StreamEndState,
    /// The choices of a chat stream, if the request wants more than one.
    choices: Option<ChoiceBitmap>,
    /// The meaning of an oversize event that has not ended.
    oversize: Option<StreamEndState>,
}

/// How much of a stream's end has been received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
enum StreamEndState {
    Missing,
    /// The response is complete, but more events may follow.
    Finished,
    /// The protocol's last event.
    LastEvent,
    /// An error event of the provider, which others may follow.
    Failure,
    /// A last event that reports a failure.
    FailedLastEvent,
}

/// One bit per choice; choices with a higher index share the last bit.
#[derive(Debug, Default)]
struct ChoiceBitmap {
    seen: u128,
    finished: u128,
}

impl StreamProgress {
    /// `choices` is the number that the request wants; it matters only in the chat protocol.
    pub fn new(shape: &'static StreamShape, choices: u64) -> Self {
        Self {
            shape,
            end: StreamEndState::Missing,
            choices: (choices > 1).then(ChoiceBitmap::default),
            oversize: None,
        }
    }

    /// Records an event; returns `true` if it is the first that reports a failure.
    ///
    /// An oversize event arrives in pieces: `continues` is set if more of it follows.
    pub fn note(&mut self, event: &SseEvent, continues: bool) -> bool {
        let end = match (event.is_oversize(), self.oversize.take()) {
            (true, Some(begun)) => begun,
            (true, None) => end_of_oversize(self.shape, &event.raw),
            (false, _) => self.end_by(event.name(), event.data()),
        };
        if continues {
            self.oversize = Some(end);
            return false;
        }
        let is_first = !self.end.is_failure();
        if end > self.end {
            self.end = end;
        }
        end.is_failure() && is_first
    }

    /// Whether no event follows in this protocol. An image stream has a last event for each image.
    pub fn is_terminated(&self) -> bool {
        match self.shape.ending {
            Some(StreamEnding::DoneMarker | StreamEnding::LastEvent) => matches!(
                self.end,
                StreamEndState::LastEvent | StreamEndState::FailedLastEvent
            ),
            Some(StreamEnding::LastEventOfEach | StreamEnding::FinishReason) | None => false,
        }
    }

    /// Whether the last event of a successful stream has been received.
    pub fn has_last_event(&self) -> bool {
        self.end == StreamEndState::LastEvent
    }

    /// Whether the last event, or an error instead, has been received.
    pub fn is_over(&self) -> bool {
        matches!(
            self.end,
            StreamEndState::LastEvent | StreamEndState::Failure | StreamEndState::FailedLastEvent
        )
    }

    /// Whether a stream may end here in its protocol; `partial` is a last event without its blank line, which clients
    /// ignore.
    pub fn is_whole(&self, partial: Option<&SseEvent>) -> bool {
        let is_done = |partial: &SseEvent| {
            self.has_done_marker() && partial.data().trim_ascii_end() == b"[DONE]"
        };
        self.end != StreamEndState::Missing || partial.is_some_and(is_done)
    }

    fn has_done_marker(&self) -> bool {
        self.shape.ending == Some(StreamEnding::DoneMarker)
    }

    fn classify(&self, name: Option<&[u8]>, data: &[u8]) -> EventClass {
        self.shape.event_class(name, data)
    }

    fn end_by(&mut self, name: Option<&[u8]>, data: &[u8]) -> StreamEndState {
        if data.is_empty() {
            return StreamEndState::Missing;
        }
        if self.has_done_marker() && !data.starts_with(b"[DONE]") {
            // Only these make a chat event an error.
            let may_fail = name == Some(b"error") || ERROR.find(data).is_some();
            if may_fail && self.classify(name, data) == EventClass::Error {
                return StreamEndState::Failure;
            }
            return match self.finishes(data) {
                true => StreamEndState::Finished,
                false => StreamEndState::Missing,
            };
        }
        if self.shape.ending == Some(StreamEnding::FinishReason) {
            return match self.classify(name, data) {
                EventClass::Content if has_finish_reason(data) => StreamEndState::Finished,
                class => StreamEndState::from_class(class),
            };
        }
        // The event of a partial image never ends a stream, and may have megabytes of data.
        let has_large_events = self.shape.ending == Some(StreamEnding::LastEventOfEach);
        if has_large_events && name.is_some() && !may_fail(name, data) {
            return StreamEndState::from_class(self.classify(name, b"{}"));
        }
        StreamEndState::from_class(self.classify(name, data))
    }

    /// Whether a chat chunk finishes all choices that were begun. A chunk that finishes none costs one search.
    fn finishes(&mut self, data: &[u8]) -> bool {
        if let Some(choices) = &mut self.choices {
            choices.note(data);
            return choices.finished != 0 && choices.seen & !choices.finished == 0;
        }
        let may = FINISH_REASON.find_iter(data).any(|at| {
            let value = data[at + FINISH_REASON.needle().len()..]
                .trim_ascii_start()
                .strip_prefix(b":")
                .unwrap_or_default();
            !value.trim_ascii_start().starts_with(b"null")
        });
        may && find_choices(data).any(|choice| is_finished(data, choice))
    }
}

impl StreamEndState {
    fn from_class(class: EventClass) -> Self {
        match class {
            EventClass::Terminal { failed: false } => Self::LastEvent,
            EventClass::Terminal { failed: true } => Self::FailedLastEvent,
            EventClass::Error => Self::Failure,
            EventClass::Framing | EventClass::Content | EventClass::Ping => Self::Missing,
        }
    }

    fn is_failure(self) -> bool {
        matches!(self, Self::Failure | Self::FailedLastEvent)
    }
}

impl ChoiceBitmap {
    fn note(&mut self, data: &[u8]) {
        for choice in find_choices(data) {
            let bit = 1 << choice_index(data, choice.clone()).min(u128::BITS - 1);
            self.seen |= bit;
            if is_finished(data, choice) {
                self.finished |= bit;
            }
        }
    }
}

/// Whether an event may report a failure; fast for events that do not.
fn may_fail(name: Option<&[u8]>, data: &[u8]) -> bool {
    let is_named = name.is_some_and(|name| name.ends_with(b"error") || name.ends_with(b"failed"));
    // Matches a member's name, or the end of a `type` if there is no `event:` line.
    is_named || ERROR.find(data).is_some() || FAILED.find(data).is_some()
}

/// Classifies an oversize event by the name or type near its start. Without one it may have been the last event.
fn end_of_oversize(shape: &StreamShape, raw: &[u8]) -> StreamEndState {
    let head = &raw[..raw.len().min(NAMED_WITHIN)];
    let mut lines = head.split(|byte| matches!(byte, b'\n' | b'\r'));
    let name = lines.find_map(|line| {
        if let Some(name) = line.strip_prefix(b"event:") {
            return Some(name.trim_ascii());
        }
        event_type(line.strip_prefix(b"data:")?.trim_ascii_start())
    });
    match name {
        Some(name)
            if !matches!(
                shape.ending,
                Some(StreamEnding::DoneMarker | StreamEnding::FinishReason)
            ) =>
        {
            StreamEndState::from_class(shape.event_class(Some(name), b"{}"))
        }
        _ => StreamEndState::Finished,
    }
}

/// Whether a chunk says why its response, or the refusal of its prompt, ended. A chunk that does not costs a search or two.
fn has_finish_reason(data: &[u8]) -> bool {
    let has = |key: &LazyLock<Finder<'static>>, path: &[&str]| {
        key.find(data).is_some()
            && skim::find(data, path).is_some_and(|value| is_non_empty(data, &value))
    };
    let is_finished = || {
        let candidates = skim::find(data, &["candidates"]).unwrap_or_default();
        skim::elements(data, candidates).any(|candidate| {
            skim::members(data, candidate)
                .any(|(key, value)| key == b"finishReason" && is_non_empty(data, &value))
        })
    };
    FINISH_REASON_IN_CAMEL_CASE.find(data).is_some() && is_finished()
        || has(&BLOCK_REASON, &["promptFeedback", "blockReason"])
}

fn find_choices(data: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let choices = skim::find(data, &["choices"]).unwrap_or_default();
    skim::elements(data, choices)
}

fn choice_index(data: &[u8], choice: Range<usize>) -> u32 {
    let index = skim::members(data, choice).find(|(key, _)| *key == b"index");
    index
        .and_then(|(_, value)| std::str::from_utf8(&data[value]).ok()?.parse().ok())
        .unwrap_or_default()
}

fn is_finished(data: &[u8], choice: Range<usize>) -> bool {
    skim::members(data, choice)
        .any(|(key, value)| key == b"finish_reason" && is_non_empty(data, &value))
}
