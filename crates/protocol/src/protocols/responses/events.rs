//! The events of responses streams: their meaning, their ids, and their texts.

use crate::conversation::{StreamMessageCollector, StreamedPartKind, number, text};
use crate::ids::{IdEvent, IdObjectForm};
use crate::json::DocumentNode;
use crate::stream::{EventClass, event_type, has_error};

/// The events that have ids. Those with pieces of text, which are most, have none.
pub(super) const ID_EVENTS: &[IdEvent] = &[
    item("response.output_item.added"),
    item("response.output_item.done"),
    response("response.created"),
    response("response.queued"),
    response("response.in_progress"),
    response("response.completed"),
    response("response.incomplete"),
    response("response.failed"),
];

const fn item(name: &'static str) -> IdEvent {
    IdEvent {
        name,
        member: "item",
        form: IdObjectForm::Item,
    }
}

const fn response(name: &'static str) -> IdEvent {
    IdEvent {
        name,
        member: "response",
        form: IdObjectForm::Response,
    }
}

/// An error may be a bare object: SDKs raise an exception for any event with an `error`.
pub(super) fn classify(name: Option<&[u8]>, data: &[u8]) -> EventClass {
    match name.or_else(|| event_type(data)) {
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

pub(super) fn add_event(messages: &mut StreamMessageCollector, event: DocumentNode<'_>) {
    let item = number(event, "output_index");
    let part = number(event, "content_index");
    match &*text(event, "type") {
        "response.output_text.delta" | "response.refusal.delta" => {
            messages.append(
                0,
                (StreamedPartKind::Text, item, part),
                text(event, "delta"),
            );
        }
        "response.reasoning_summary_text.delta" => {
            let place = (
                StreamedPartKind::Reasoning,
                item,
                number(event, "summary_index"),
            );
            messages.append(0, place, text(event, "delta"));
        }
        "response.output_item.added" => {
            if let Some(call) = event.get("item")
                && text(call, "type") == "function_call"
            {
                let place = (StreamedPartKind::ToolCall, item, 0);
                messages.name(0, place, &text(call, "call_id"), &text(call, "name"));
            }
        }
        "response.function_call_arguments.delta" => {
            messages.append(
                0,
                (StreamedPartKind::ToolCall, item, 0),
                text(event, "delta"),
            );
        }
        "response.completed" | "response.incomplete" | "response.failed" => {
            let status = event.get("response");
            messages.end(
                0,
                status.map_or_else(String::new, |node| text(node, "status")),
            );
        }
        _ => {}
    }
}
