//! The meaning of the chunks of Gemini's streams.

use crate::conversation::{StreamMessageCollector, StreamedPartKind, number, text};
use crate::json::{DocumentNode, skim};
use crate::stream::{EventClass, has_error, is_non_empty};
use std::ops::Range;

/// A chunk is an error, has something of the response, or only counts tokens.
pub(super) fn classify(name: Option<&[u8]>, data: &[u8]) -> EventClass {
    if data.starts_with(b"[DONE]") {
        return EventClass::Terminal { failed: false };
    }
    // Without `alt=sse`, errors and chunks come in an array.
    let is_list_of_error = || {
        let mut elements = skim::elements(data, 0..data.len());
        elements.next().is_some_and(|first| has_error(&data[first]))
    };
    if name == Some(b"error") || has_error(data) || data.starts_with(b"[") && is_list_of_error() {
        return EventClass::Error;
    }
    let candidates = skim::find(data, &["candidates"]);
    let has_content = candidates.is_none_or(|candidates| {
        let mut candidates = skim::elements(data, candidates);
        candidates.any(|candidate| has_content(data, candidate))
    });
    match has_content {
        true => EventClass::Content,
        false => EventClass::Framing,
    }
}

/// Adds the parts of a chunk to the messages of its stream.
pub(super) fn add_chunk(messages: &mut StreamMessageCollector, chunk: DocumentNode<'_>) {
    let candidates = chunk.get("candidates").into_iter();
    for candidate in candidates.flat_map(DocumentNode::elements) {
        let index = number(candidate, "index");
        let parts = candidate.pointer("/content/parts").into_iter();
        for part in parts.flat_map(DocumentNode::elements) {
            let is_thought = part.get("thought").is_some_and(|it| it.raw() == b"true");
            let form = match is_thought {
                true => StreamedPartKind::Reasoning,
                false => StreamedPartKind::Text,
            };
            messages.append(index, (form, 0, 0), text(part, "text"));
        }
        messages.end(index, text(candidate, "finishReason"));
    }
}

/// Whether a candidate says more than that it is one.
fn has_content(data: &[u8], candidate: Range<usize>) -> bool {
    skim::members(data, candidate).any(|(key, value)| match key {
        b"finishReason" => is_non_empty(data, &value),
        b"content" => skim::members(data, value)
            .any(|(key, value)| key == b"parts" && is_non_empty(data, &value)),
        _ => false,
    })
}
