//! What becomes of each field of each protocol in each other one: tables that are code and documentation at once.

mod audit;
mod member_index;
mod table;
mod table_text;
#[cfg(test)]
mod tests;

use crate::ProtocolPair;
use crate::ledger::Ledger;
use audit::Audit;
use headgate_protocol::conversation::ConversationFormat;
use headgate_protocol::json::DocumentNode;
use std::sync::LazyLock;
use table::FieldTable;

/// What a table is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableSubject {
    Request,
    Response,
    /// An event of a stream.
    Event,
}

/// Adds the fields of a request that the channel's protocol cannot say.
pub(crate) fn audit_request(pair: ProtocolPair, body: DocumentNode<'_>, ledger: &mut Ledger) {
    let table = table(TableSubject::Request, pair.caller);
    Audit::for_request(table, pair.channel, ledger).check(body);
}

/// Adds the fields of a response that the caller's protocol cannot say. `has_seals` is whether thoughts get seals.
pub(crate) fn audit_response(
    pair: ProtocolPair,
    body: DocumentNode<'_>,
    has_seals: bool,
    ledger: &mut Ledger,
) {
    let table = table(TableSubject::Response, pair.channel);
    Audit::for_response(table, pair.caller, has_seals, ledger).check(body);
}

/// Adds the fields of a stream's event that the caller's protocol cannot say. `has_seals` is whether thoughts get seals.
pub(crate) fn audit_event(
    pair: ProtocolPair,
    event: DocumentNode<'_>,
    has_seals: bool,
    ledger: &mut Ledger,
) {
    let table = table(TableSubject::Event, pair.channel);
    Audit::for_response(table, pair.caller, has_seals, ledger).check(event);
}

/// The table of what a protocol sends.
fn table(subject: TableSubject, format: ConversationFormat) -> &'static FieldTable {
    static TABLES: [LazyLock<FieldTable>; 9] = [
        LazyLock::new(|| FieldTable::read(TableSubject::Request, &[CHAT_REQUEST])),
        LazyLock::new(|| FieldTable::read(TableSubject::Request, &[MESSAGES_REQUEST])),
        LazyLock::new(|| FieldTable::read(TableSubject::Request, &[RESPONSES_REQUEST])),
        LazyLock::new(|| FieldTable::read(TableSubject::Response, &[CHAT_RESPONSE])),
        LazyLock::new(|| FieldTable::read(TableSubject::Response, &[MESSAGES_RESPONSE])),
        LazyLock::new(|| FieldTable::read(TableSubject::Response, &[RESPONSES_RESPONSE])),
        LazyLock::new(|| FieldTable::read(TableSubject::Event, &[CHAT_EVENTS, CHAT_RESPONSE])),
        LazyLock::new(|| {
            FieldTable::read(TableSubject::Event, &[MESSAGES_EVENTS, MESSAGES_RESPONSE])
        }),
        LazyLock::new(|| {
            FieldTable::read(TableSubject::Event, &[RESPONSES_EVENTS, RESPONSES_RESPONSE])
        }),
    ];
    &TABLES[subject as usize * ConversationFormat::ALL.len() + format as usize]
}

const CHAT_REQUEST: &str = include_str!("fields/chat_request.txt");
const MESSAGES_REQUEST: &str = include_str!("fields/messages_request.txt");
const RESPONSES_REQUEST: &str = include_str!("fields/responses_request.txt");
const CHAT_RESPONSE: &str = include_str!("fields/chat_response.txt");
const MESSAGES_RESPONSE: &str = include_str!("fields/messages_response.txt");
const RESPONSES_RESPONSE: &str = include_str!("fields/responses_response.txt");
const CHAT_EVENTS: &str = include_str!("fields/chat_events.txt");
const MESSAGES_EVENTS: &str = include_str!("fields/messages_events.txt");
const RESPONSES_EVENTS: &str = include_str!("fields/responses_events.txt");
