//! The signs of the tables of requests, compared with what becomes of each field.

use super::places::{Place, places};
use super::{Translation, absent_rows, untrue_cells};
use crate::fields::table::FieldTable;
use crate::fields::{TableSubject, audit_request, table};
use crate::request::tests::with_cache_marks;
use crate::{
    ChannelSettings, FieldOutcome, Ledger, ProtocolPair, ThinkingSealer, translate_request,
};
use bytes::Bytes;
use headgate_protocol::conversation::ConversationFormat::{self, Chat, Messages, Responses};
use headgate_protocol::json::{JsonDocument, JsonLimits};
use serde_json::{Value, json};
use std::sync::Arc;

const FIXTURES: [(ConversationFormat, &str); 3] = [
    (
        Chat,
        include_str!("../../../../tests/fields/chat_request.json"),
    ),
    (
        Messages,
        include_str!("../../../../tests/fields/messages_request.json"),
    ),
    (
        Responses,
        include_str!("../../../../tests/fields/responses_request.json"),
    ),
];

fn document(body: &Value) -> JsonDocument {
    JsonDocument::parse(Bytes::from(body.to_string()), &JsonLimits::default()).unwrap()
}

fn fixtures() -> impl Iterator<Item = (ConversationFormat, Vec<Value>)> {
    let parsed = |(format, text): (_, &str)| (format, serde_json::from_str(text).unwrap());
    FIXTURES.into_iter().map(parsed)
}

#[test]
fn each_field_of_requests_is_in_a_fixture() {
    let absent = fixtures().flat_map(|(format, documents)| {
        absent_rows(table(TableSubject::Request(format)), &documents)
    });
    let absent: Vec<String> = absent.collect();
    assert!(absent.is_empty(), "{}", absent.join("\n"));
}

/// The objects of a document in which a table looks for members, as pointers.
fn objects(table: &FieldTable, column: usize, document: &Value) -> Vec<String> {
    let is_lost = |place: &Place| table.rows[place.row].cells[column].sign.carries_nothing();
    let (lost, carried): (Vec<_>, Vec<_>) = places(table, Some(column), document)
        .into_iter()
        .partition(is_lost);
    // A variant is where the field is whose value it is.
    let is_whole = |place: &Place| {
        let row = &table.rows[place.row];
        let is_lost = lost.iter().any(|lost| lost.pointer == place.pointer);
        row.below.is_some() && !row.is_array && !is_lost
    };
    let below = carried.into_iter().filter(is_whole);
    let pointers = std::iter::once(String::new()).chain(below.map(|place| place.pointer));
    let is_object = |pointer: &String| document.pointer(pointer).is_some_and(Value::is_object);
    pointers.filter(is_object).collect()
}

#[test]
fn an_unknown_member_at_any_place_is_refused() {
    let mut refusals = 0;
    for (caller, documents) in fixtures() {
        let table = table(TableSubject::Request(caller));
        for channel in table.columns.iter().copied() {
            let pair = ProtocolPair { caller, channel };
            for body in &documents {
                for pointer in objects(table, table.column(channel), body) {
                    assert!(
                        is_refused_with_unknown_member(pair, body, &pointer),
                        "{pair:?}: {pointer}"
                    );
                    refusals += 1;
                }
            }
        }
    }
    assert!(refusals > 200, "{refusals}");
}

fn is_refused_with_unknown_member(pair: ProtocolPair, body: &Value, pointer: &str) -> bool {
    let mut body = body.clone();
    body.pointer_mut(pointer).unwrap()["zzz_unknown"] = json!([1]);
    let mut ledger = Ledger::default();
    audit_request(pair, document(&body).root(), &mut ledger);
    ledger
        .entries()
        .iter()
        .any(|entry| entry.path.ends_with("zzz_unknown") && entry.outcome == FieldOutcome::Refused)
}

/// Opens no seal.
#[derive(Debug)]
struct ClosedSealer;

impl ThinkingSealer for ClosedSealer {
    fn seal(&self, content: &[u8]) -> Vec<u8> {
        content.to_vec()
    }

    fn open(&self, _sealed: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

fn translate(pair: ProtocolPair, body: &Value) -> Translation {
    let channel = ChannelSettings {
        model: Bytes::from_static(b"\"anthropic.a provider's model\""),
        max_output_tokens: 4096,
        has_call_ids: true,
        features: Arc::new(with_cache_marks()),
        sealer: Some(Arc::new(ClosedSealer)),
    };
    let translated = translate_request(pair, &document(body), &channel);
    let sent: Value = serde_json::from_slice(&translated.body).unwrap();
    let context = json!([
        translated.is_stream,
        translated.includes_usage,
        translated.custom_tools,
    ]);
    (json!([sent, context]), translated.ledger)
}

#[test]
fn the_signs_of_requests_are_true() {
    let mut untrue = Vec::new();
    for (caller, documents) in fixtures() {
        let table = table(TableSubject::Request(caller));
        for channel in table.columns.iter().copied() {
            let translate = |body: &Value| translate(ProtocolPair { caller, channel }, body);
            untrue.extend(untrue_cells(table, channel, &documents, translate));
        }
    }
    assert!(untrue.is_empty(), "{}", untrue.join("\n"));
}
