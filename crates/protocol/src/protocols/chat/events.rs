//! The meaning of the events of chat streams.

use crate::json::skim;
use crate::stream::{EventClass, is_non_empty};
use std::ops::Range;

/// A chat event is an error, a usage report, an announcement of the role, or content.
pub(super) fn classify(name: Option<&[u8]>, data: &[u8]) -> EventClass {
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

/// Whether a choice of a chat chunk contains more than the role.
fn has_content(data: &[u8], choice: Range<usize>) -> bool {
    skim::members(data, choice).any(|(key, value)| match key {
        b"finish_reason" => is_non_empty(data, &value),
        b"delta" => skim::members(data, value)
            .any(|(key, value)| key != b"role" && is_non_empty(data, &value)),
        _ => false,
    })
}
