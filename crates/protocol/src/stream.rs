//! The meaning of the events of each protocol's streams, and the position of the model's name in responses.

mod message_start;
mod progress;

#[cfg(test)]
mod tests;

pub use message_start::MessageStartCompletion;
pub use progress::StreamProgress;

use std::ops::Range;

use super::Protocol;
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

/// Classifies an event by its name and data.
pub fn classify(protocol: Protocol, name: Option<&[u8]>, data: &[u8]) -> EventClass {
    if data.is_empty() {
        return EventClass::Ping;
    }
    match protocol {
        Protocol::Chat => classify_chat(name, data),
        Protocol::Messages => classify_messages(name.or_else(|| event_type(data))),
        Protocol::Responses => classify_responses(name.or_else(|| event_type(data)), data),
        Protocol::ImageEdit => classify_image_edit(name.or_else(|| event_type(data)), data),
        // Tasks have no streams.
        Protocol::Video | Protocol::FamilyA | Protocol::FamilyB => EventClass::Content,
    }
}

/// The span of the response's model name in an event or a whole body, as a string with its quotes.
///
/// It is a top-level member in bodies and chat chunks, a member of the message in the first event of a messages stream,
/// and a member of the response in some events of a responses stream.
pub fn model_span(data: &[u8]) -> Option<Range<usize>> {
    let model = skim::members(data, 0..data.len()).find_map(|(key, value)| match key {
        b"model" => Some(value),
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

/// A chat event is an error, a usage report, an announcement of the role, or content.
fn classify_chat(name: Option<&[u8]>, data: &[u8]) -> EventClass {
    if data.starts_with(b"[DONE]") {
        return EventClass::Terminal { failed: false };
    }
    if name == Some(b"error") {
        return EventClass::Error;
    }
    if data.starts_with(b"[") {
        return classify_list(data);
    }
    let mut class = EventClass::Content;
    let (mut has_choices, mut has_message) = (false, false);
    for (key, value) in skim::members(data, 0..data.len()) {
        match key {
            b"error" if is_non_empty(data, &value) => return EventClass::Error,
            b"object" if data[value.clone()] == *b"\"error\"" => return EventClass::Error,
            b"choices" => {
                has_choices = is_non_empty(data, &value);
                if !skim::elements(data, value).any(|choice| has_content(data, choice)) {
                    class = EventClass::Framing;
                }
            }
            // A message of the conversation, as in events of the APIs of Cohere and Ollama.
            b"message" if data[value.start] == b'{' => {}
            b"message" | b"msg" | b"detail" | b"errorCode" => {
                has_message |= is_non_empty(data, &value);
            }
            b"base_resp" => {
                let mut members = skim::members(data, value);
                has_message |=
                    members.any(|(key, value)| key == b"status_code" && is_non_empty(data, &value));
            }
            _ => {}
        }
    }
    match has_message && !has_choices && !is_usage(data) {
        true => EventClass::Error,
        false => class,
    }
}

/// An array of one error, as Gemini sends it.
fn classify_list(data: &[u8]) -> EventClass {
    let is_error = |element| {
        skim::members(data, element)
            .any(|(key, value)| key == b"error" && is_non_empty(data, &value))
    };
    match skim::elements(data, 0..data.len())
        .next()
        .is_some_and(is_error)
    {
        true => EventClass::Error,
        false => EventClass::Content,
    }
}

/// Whether a chunk without choices reports the usage.
fn is_usage(data: &[u8]) -> bool {
    skim::find(data, &["usage"]).is_some_and(|usage| is_non_empty(data, &usage))
}

fn classify_messages(name: Option<&[u8]>) -> EventClass {
    match name {
        Some(b"message_start" | b"content_block_start") => EventClass::Framing,
        Some(b"ping") => EventClass::Ping,
        Some(b"message_stop") => EventClass::Terminal { failed: false },
        Some(b"error") => EventClass::Error,
        _ => EventClass::Content,
    }
}

/// An error may be a bare object: SDKs raise an exception for any event with an `error`.
fn classify_responses(name: Option<&[u8]>, data: &[u8]) -> EventClass {
    match name {
        Some(
            b"response.created"
            | b"response.queued"
            | b"response.in_progress"
            | b"response.output_item.added"
            | b"response.content_part.added"
            | b"response.reasoning_summary_part.added",
        ) => EventClass::Framing,
        Some(b"response.completed" | b"response.incomplete" | b"response.cancelled") => {
            EventClass::Terminal { failed: false }
        }
        Some(b"response.failed") => EventClass::Terminal { failed: true },
        Some(b"error") => EventClass::Error,
        None if has_error(data) => EventClass::Error,
        _ => EventClass::Content,
    }
}

/// A partial image is content; the last event has the final image.
fn classify_image_edit(name: Option<&[u8]>, data: &[u8]) -> EventClass {
    match name {
        Some(b"image_edit.completed" | b"image_generation.completed") => {
            EventClass::Terminal { failed: false }
        }
        Some(b"error") => EventClass::Error,
        _ if has_error(data) => EventClass::Error,
        _ => EventClass::Content,
    }
}

fn has_error(data: &[u8]) -> bool {
    skim::find(data, &["error"]).is_some_and(|error| is_non_empty(data, &error))
}

/// The event's name in the `type` of its data.
pub(super) fn event_type(data: &[u8]) -> Option<&[u8]> {
    skim::plain_string(data, skim::find(data, &["type"])?).map(str::as_bytes)
}

/// Whether a choice of a chat chunk contains more than the role.
fn has_content(data: &[u8], choice: Range<usize>) -> bool {
    skim::members(data, choice).any(|(key, value)| match key {
        b"finish_reason" => is_non_empty(data, &value),
        b"delta" => skim::members(data, value)
            .any(|(key, value)| key != b"role" && is_non_empty(data, &value)),
        _ => false,
    })
}

/// Whether a value is not null, false, zero or empty.
fn is_non_empty(data: &[u8], value: &Range<usize>) -> bool {
    !matches!(
        &data[value.clone()],
        b"null" | b"false" | b"0" | b"\"\"" | b"[]" | b"{}"
    )
}
