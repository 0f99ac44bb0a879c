//! The meaning of the events of each protocol's streams, and the position of the model's name in responses.

mod message_start;
mod progress;

#[cfg(test)]
mod tests;

pub use message_start::MessageStartCompleter;
pub use progress::StreamProgress;

use std::ops::Range;

use super::json::skim;

/// What an event means for a client that waits for a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventClass {
    /// Opens the stream or a part of it, without content.
    Framing,
    /// A part of the response, or an event that the gateway does not know.
    Content,
    /// Keeps the connection alive: comments and ping events.
    Ping,
    /// Reports that the response failed; often the last event.
    Error,
    /// The last event of the protocol; `failed` if it reports that the response failed.
    Terminal { failed: bool },
}

/// What the events of a protocol's streams mean.
#[derive(Clone, Copy, Debug)]
pub struct StreamShape {
    /// The meaning of an event by its name and its data, which are not empty.
    pub classify: fn(Option<&[u8]>, &[u8]) -> EventClass,
    /// `None` if the protocol has no streams.
    pub ending: Option<StreamEnding>,
    /// Whether the last event has the whole response, so that a stream may consist of it.
    pub last_event_has_response: bool,
    /// Members that SDKs read in the message of `message_start`, and that some providers leave out.
    pub start_members: &'static [&'static str],
    /// The type of the last event, if a declaration says it; in place of `classify`.
    pub own_last_event: Option<&'static str>,
    pub framing: StreamFraming,
}

/// What separates the events of a protocol's streams. Between the provider and the caller all are server-sent events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamFraming {
    ServerSentEvents,
    /// Frames of `application/vnd.amazon.eventstream`. Each becomes an event whose data is an object with one member, the
    /// type of the event; that of an error is `error`.
    AmazonFrames,
    /// Frames of the same kind, each with the data of an event in base64: only callers have them.
    AmazonChunks,
}

/// How a protocol ends its streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEnding {
    /// Chunks finish the choices, and `[DONE]` follows. Events have no names.
    DoneMarker,
    /// A chunk has the reason why the response ended, and only counts may follow. Events have no names.
    FinishReason,
    /// One event with a name.
    LastEvent,
    /// An event with a name for each image, after events with partial images, which may have megabytes of data.
    LastEventOfEach,
}

impl StreamShape {
    /// The meaning of an event, by its name and its data.
    pub fn event_class(&self, name: Option<&[u8]>, data: &[u8]) -> EventClass {
        match (data.is_empty(), self.own_last_event) {
            (true, _) => EventClass::Ping,
            (false, None) => (self.classify)(name, data),
            (false, Some(last)) => class_by_type(last, name, data),
        }
    }

    /// No streams: an event that comes nevertheless is content.
    pub const NONE: Self = Self {
        classify: |_, _| EventClass::Content,
        ending: None,
        last_event_has_response: false,
        start_members: &[],
        own_last_event: None,
        framing: StreamFraming::ServerSentEvents,
    };
}

/// The meaning of an event by its type: its name, or the `type` of its data.
fn class_by_type(last: &str, name: Option<&[u8]>, data: &[u8]) -> EventClass {
    if data.starts_with(b"[DONE]") {
        return EventClass::Terminal { failed: false };
    }
    match name.or_else(|| event_type(data)) {
        Some(kind) if kind == last.as_bytes() => EventClass::Terminal { failed: false },
        Some(b"error") => EventClass::Error,
        _ if has_error(data) => EventClass::Error,
        _ => EventClass::Content,
    }
}

/// The span of the response's model name in an event or a whole body, as a string with its quotes.
///
/// It is a top-level member in bodies and chat chunks, of another name in those of Gemini, a member of the message in the first event of a messages stream,
/// and a member of the response in some events of a responses stream.
pub fn model_span(data: &[u8]) -> Option<Range<usize>> {
    let model = skim::members(data, 0..data.len()).find_map(|(key, value)| match key {
        b"model" | b"modelVersion" => Some(value),
        b"message" | b"response" => {
            let mut inner = skim::members(data, value);
            inner
                .find(|(key, _)| *key == b"model")
                .map(|(_, value)| value)
        }
        _ => None,
    })?;
    data[model.clone()].starts_with(b"\"").then_some(model)
}

/// Whether an event has an error in place of its content.
pub(crate) fn has_error(data: &[u8]) -> bool {
    skim::find(data, &["error"]).is_some_and(|error| is_non_empty(data, &error))
}

/// The event's name in the `type` of its data.
pub(crate) fn event_type(data: &[u8]) -> Option<&[u8]> {
    skim::find_string(data, &["type"]).map(str::as_bytes)
}

/// Whether a value is not null, false, zero or empty.
pub(crate) fn is_non_empty(data: &[u8], value: &Range<usize>) -> bool {
    !matches!(
        &data[value.clone()],
        b"null" | b"false" | b"0" | b"\"\"" | b"[]" | b"{}"
    )
}
