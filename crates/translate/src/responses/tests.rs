//! What tests of the protocol share: a client that holds a stream to its rules, and random responses.

mod client;
mod end_to_end;
mod random;

pub(super) use client::ResponsesStreamClient;
pub(crate) use random::{Mixing, Random};

use crate::context::ResponseContext;
use crate::superset::StreamPiece;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use headgate_protocol::sse::SseEvent;
use serde_json::Value;

pub(crate) fn context() -> ResponseContext {
    ResponseContext {
        id: "0a1b".into(),
        created: 1_700_000_000,
        model: bytes::Bytes::from_static(b"\"m\""),
        includes_usage: true,
        custom_tools: vec!["free".into()],
        ..ResponseContext::default()
    }
}

/// The events of these pieces.
pub(crate) fn written(pieces: &[StreamPiece<'_>]) -> Vec<SseEvent> {
    let mut writer = super::ResponsesStreamWriter::new(context());
    let mut events = Vec::new();
    for piece in pieces {
        writer.write(piece, &mut events);
    }
    events
}

/// The whole response that a client has after these pieces.
pub(crate) fn streamed(pieces: &[StreamPiece<'_>]) -> Value {
    let mut client = ResponsesStreamClient::default();
    written(pieces).iter().for_each(|event| client.take(event));
    client.response.expect("a last event")
}

/// The whole response that a client has after these events were read and written again.
pub(crate) fn translated(events: &[Value]) -> Value {
    let mut reader = super::ResponsesStreamReader::default();
    let mut writer = super::ResponsesStreamWriter::new(context());
    let mut written = Vec::new();
    for event in events {
        let document = parse(event);
        let mut pieces = Vec::new();
        reader.read(document.root(), &mut pieces).unwrap();
        for piece in &pieces {
            writer.write(piece, &mut written);
        }
    }
    let mut client = ResponsesStreamClient::default();
    written.iter().for_each(|event| client.take(event));
    client.response.expect("a last event")
}

pub(crate) fn parse(value: &Value) -> JsonDocument {
    let body = serde_json::to_vec(value).unwrap();
    JsonDocument::parse(body.into(), &JsonLimits::default()).unwrap()
}

/// Pointers to all values in a value, itself included.
pub(crate) fn pointers(value: &Value) -> Vec<String> {
    let below = |key: &str, value| {
        let below = pointers(value).into_iter();
        below
            .map(|pointer| format!("/{key}{pointer}"))
            .collect::<Vec<_>>()
    };
    let mut all = vec![String::new()];
    match value {
        Value::Object(members) => {
            all.extend(members.iter().flat_map(|(key, value)| below(key, value)));
        }
        Value::Array(elements) => {
            let elements = elements.iter().enumerate();
            all.extend(elements.flat_map(|(index, value)| below(&index.to_string(), value)));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    all
}

/// Values of each type, for places where the protocol has others.
pub(crate) fn odd_values() -> Vec<Value> {
    let texts =
        r#"[null, true, -1e300, 18446744073709551616, "", "x", [], [[]], [7], {}, {"type": {}}]"#;
    serde_json::from_str(texts).unwrap()
}
