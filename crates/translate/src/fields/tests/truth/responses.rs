//! Responses, whole and as streams.

use super::{Translation, absent_rows, untrue_cells};
use crate::fields::{TableSubject, table};
use crate::thinking::ThinkingSealer;
use crate::{Ledger, ProtocolPair, ResponseContext, StreamTranslator, translate_response};
use bytes::Bytes;
use headgate_protocol::conversation::ProviderFormat::{
    self, Chat, Converse, Gemini, Messages, Responses,
};
use headgate_protocol::sse::SseEvent;
use serde_json::{Value, json};
use std::sync::Arc;

/// Leaves bytes as they are.
#[derive(Debug)]
struct OpenSealer;

impl ThinkingSealer for OpenSealer {
    fn seal(&self, content: &[u8]) -> Vec<u8> {
        content.to_vec()
    }

    fn open(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        Some(sealed.to_vec())
    }
}

fn context(has_seals: bool) -> ResponseContext {
    let sealer: Arc<dyn ThinkingSealer> = Arc::new(OpenSealer);
    ResponseContext {
        id: "abc".into(),
        created: 5,
        model: Bytes::from_static(b"\"caller's model\""),
        includes_usage: true,
        sealer: has_seals.then_some(sealer),
        ..ResponseContext::default()
    }
}

fn translate(pair: ProtocolPair, has_seals: bool, body: &Value) -> Translation {
    let mut ledger = Ledger::default();
    let body = Bytes::from(body.to_string());
    let translated = match translate_response(pair, &body, &context(has_seals), &mut ledger) {
        Ok(body) => serde_json::from_slice(&body).unwrap(),
        Err(error) => json!(error.to_string()),
    };
    (translated, ledger)
}

const FIXTURES: [(ProviderFormat, &str); 5] = [
    (
        Chat,
        include_str!("../../../../tests/fields/chat_response.json"),
    ),
    (
        Messages,
        include_str!("../../../../tests/fields/messages_response.json"),
    ),
    (
        Responses,
        include_str!("../../../../tests/fields/responses_response.json"),
    ),
    (
        Gemini,
        include_str!("../../../../tests/fields/gemini_response.json"),
    ),
    (
        Converse,
        include_str!("../../../../tests/fields/converse_response.json"),
    ),
];

const STREAMS: [(ProviderFormat, &str); 5] = [
    (
        Chat,
        include_str!("../../../../tests/fields/chat_events.json"),
    ),
    (
        Messages,
        include_str!("../../../../tests/fields/messages_events.json"),
    ),
    (
        Responses,
        include_str!("../../../../tests/fields/responses_events.json"),
    ),
    (
        Gemini,
        include_str!("../../../../tests/fields/gemini_events.json"),
    ),
    (
        Converse,
        include_str!("../../../../tests/fields/converse_events.json"),
    ),
];

fn translate_stream(pair: ProtocolPair, has_seals: bool, stream: &Value) -> Translation {
    let mut translator = StreamTranslator::new(pair, context(has_seals));
    let mut events = Vec::new();
    let received = stream.as_array().unwrap().iter().map(Value::to_string);
    let end = (pair.channel == Chat).then(|| "[DONE]".to_owned());
    for data in received.chain(end) {
        let event = SseEvent::encoded(None, data.as_bytes());
        if let Err(error) = translator.translate(&event, &mut events) {
            return (json!(error.to_string()), translator.ledger);
        }
    }
    // Nothing but the end of the response follows its last chunk.
    if pair.channel == Gemini {
        translator.finish(&mut events);
    }
    let events = events.iter().map(|event| {
        let data = str::from_utf8(event.data()).unwrap();
        json!([
            event.name(),
            serde_json::from_str::<Value>(data).unwrap_or_default()
        ])
    });
    (events.collect(), translator.ledger)
}

#[test]
fn the_signs_of_events_are_true() {
    let mut untrue = Vec::new();
    for (channel, streams) in STREAMS {
        let table = table(TableSubject::Event(channel));
        let streams: Vec<Value> = serde_json::from_str(streams).unwrap();
        untrue.extend(absent_rows(table, &streams));
        for column in table.columns.iter().copied() {
            let caller = column.caller_format().expect("callers have it");
            let pair = ProtocolPair { caller, channel };
            for has_seals in [true, false] {
                let translate = |stream: &Value| translate_stream(pair, has_seals, stream);
                untrue.extend(untrue_cells(table, column, &streams, translate));
            }
        }
    }
    untrue.dedup();
    assert!(untrue.is_empty(), "{}", untrue.join("\n"));
}

#[test]
fn the_signs_of_responses_are_true() {
    let mut untrue = Vec::new();
    for (channel, documents) in FIXTURES {
        let table = table(TableSubject::Response(channel));
        let documents: Vec<Value> = serde_json::from_str(documents).unwrap();
        untrue.extend(absent_rows(table, &documents));
        for column in table.columns.iter().copied() {
            let caller = column.caller_format().expect("callers have it");
            let pair = ProtocolPair { caller, channel };
            for has_seals in [true, false] {
                let translate = |body: &Value| translate(pair, has_seals, body);
                untrue.extend(untrue_cells(table, column, &documents, translate));
            }
        }
    }
    assert!(untrue.is_empty(), "{}", untrue.join("\n"));
}
