//! What becomes of each field of each protocol in each other one: tables that are code and documentation at once.

mod audit;
mod further_columns;
mod listing;
mod member_index;
mod table;
mod table_text;
#[cfg(test)]
mod tests;

use crate::ProtocolPair;
use crate::ledger::Ledger;
use audit::Audit;
use headgate_protocol::conversation::{ConversationFormat, ProviderFormat};
use headgate_protocol::json::DocumentNode;
pub use listing::{ListedMember, MemberList, list_members};
use std::sync::LazyLock;
use table::FieldTable;

/// What a table is about, and the protocol that says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableSubject {
    Request(ConversationFormat),
    Response(ProviderFormat),
    /// An event of a stream.
    Event(ProviderFormat),
}

/// Adds the fields of a request that the channel's protocol cannot say.
pub(crate) fn audit_request(pair: ProtocolPair, body: DocumentNode<'_>, ledger: &mut Ledger) {
    let table = table(TableSubject::Request(pair.caller));
    Audit::for_request(table, pair.channel, ledger).check(body);
}

/// Adds the fields of a response that the caller's protocol cannot say. `has_seals` is whether thoughts get seals.
pub(crate) fn audit_response(
    pair: ProtocolPair,
    body: DocumentNode<'_>,
    has_seals: bool,
    ledger: &mut Ledger,
) {
    let table = table(TableSubject::Response(pair.channel));
    let caller = pair.caller.provider_format();
    Audit::for_response(table, caller, has_seals, ledger).check(body);
}

/// Adds the fields of a stream's event that the caller's protocol cannot say. `has_seals` is whether thoughts get seals.
pub(crate) fn audit_event(
    pair: ProtocolPair,
    event: DocumentNode<'_>,
    has_seals: bool,
    ledger: &mut Ledger,
) {
    let table = table(TableSubject::Event(pair.channel));
    let caller = pair.caller.provider_format();
    Audit::for_response(table, caller, has_seals, ledger).check(event);
}

impl TableSubject {
    /// The protocol of what the table is about.
    pub fn format(self) -> ProviderFormat {
        match self {
            Self::Request(format) => format.provider_format(),
            Self::Response(format) | Self::Event(format) => format,
        }
    }
}

/// The table of what a protocol sends.
fn table(subject: TableSubject) -> &'static FieldTable {
    match subject {
        TableSubject::Request(format) => &REQUESTS[format as usize],
        TableSubject::Response(format) => &RESPONSES[format as usize],
        TableSubject::Event(format) => &EVENTS[format as usize],
    }
}

static REQUESTS: [LazyLock<FieldTable>; 3] = [
    LazyLock::new(|| {
        request_table(
            ConversationFormat::Chat,
            &[
                CHAT_REQUEST,
                CHAT_REQUEST_IN_GEMINI,
                CHAT_REQUEST_IN_CONVERSE,
            ],
        )
    }),
    LazyLock::new(|| {
        request_table(
            ConversationFormat::Messages,
            &[
                MESSAGES_REQUEST,
                MESSAGES_REQUEST_IN_GEMINI,
                MESSAGES_REQUEST_IN_CONVERSE,
            ],
        )
    }),
    LazyLock::new(|| {
        request_table(
            ConversationFormat::Responses,
            &[
                RESPONSES_REQUEST,
                RESPONSES_REQUEST_IN_GEMINI,
                RESPONSES_REQUEST_IN_CONVERSE,
            ],
        )
    }),
];

static RESPONSES: [LazyLock<FieldTable>; 5] = [
    LazyLock::new(|| response_table(ProviderFormat::Chat, CHAT_RESPONSE)),
    LazyLock::new(|| response_table(ProviderFormat::Messages, MESSAGES_RESPONSE)),
    LazyLock::new(|| response_table(ProviderFormat::Responses, RESPONSES_RESPONSE)),
    LazyLock::new(|| response_table(ProviderFormat::Gemini, GEMINI_RESPONSE)),
    LazyLock::new(|| response_table(ProviderFormat::Converse, CONVERSE_RESPONSE)),
];

static EVENTS: [LazyLock<FieldTable>; 5] = [
    LazyLock::new(|| event_table(ProviderFormat::Chat, &[CHAT_EVENTS, CHAT_RESPONSE])),
    LazyLock::new(|| {
        event_table(
            ProviderFormat::Messages,
            &[MESSAGES_EVENTS, MESSAGES_RESPONSE],
        )
    }),
    LazyLock::new(|| {
        event_table(
            ProviderFormat::Responses,
            &[RESPONSES_EVENTS, RESPONSES_RESPONSE],
        )
    }),
    // Its chunks are responses.
    LazyLock::new(|| event_table(ProviderFormat::Gemini, &[GEMINI_RESPONSE])),
    LazyLock::new(|| {
        event_table(
            ProviderFormat::Converse,
            &[CONVERSE_EVENTS, CONVERSE_RESPONSE],
        )
    }),
];

/// The first text has all fields; the others repeat them, each with columns of further protocols.
fn request_table(format: ConversationFormat, texts: &[&'static str]) -> FieldTable {
    FieldTable::read(TableSubject::Request(format), &texts[..1], &texts[1..])
}

fn response_table(format: ProviderFormat, text: &'static str) -> FieldTable {
    FieldTable::read(TableSubject::Response(format), &[text], &[])
}

fn event_table(format: ProviderFormat, texts: &[&'static str]) -> FieldTable {
    FieldTable::read(TableSubject::Event(format), texts, &[])
}

const CHAT_REQUEST_IN_GEMINI: &str = include_str!("fields/chat_request_in_gemini.txt");
const MESSAGES_REQUEST_IN_GEMINI: &str = include_str!("fields/messages_request_in_gemini.txt");
const RESPONSES_REQUEST_IN_GEMINI: &str = include_str!("fields/responses_request_in_gemini.txt");
const GEMINI_RESPONSE: &str = include_str!("fields/gemini_response.txt");
const CHAT_REQUEST: &str = include_str!("fields/chat_request.txt");
const MESSAGES_REQUEST: &str = include_str!("fields/messages_request.txt");
const RESPONSES_REQUEST: &str = include_str!("fields/responses_request.txt");
const CHAT_REQUEST_IN_CONVERSE: &str = include_str!("fields/chat_request_in_converse.txt");
const MESSAGES_REQUEST_IN_CONVERSE: &str = include_str!("fields/messages_request_in_converse.txt");
const RESPONSES_REQUEST_IN_CONVERSE: &str =
    include_str!("fields/responses_request_in_converse.txt");
const CONVERSE_RESPONSE: &str = include_str!("fields/converse_response.txt");
const CONVERSE_EVENTS: &str = include_str!("fields/converse_events.txt");
const CHAT_RESPONSE: &str = include_str!("fields/chat_response.txt");
const MESSAGES_RESPONSE: &str = include_str!("fields/messages_response.txt");
const RESPONSES_RESPONSE: &str = include_str!("fields/responses_response.txt");
const CHAT_EVENTS: &str = include_str!("fields/chat_events.txt");
const MESSAGES_EVENTS: &str = include_str!("fields/messages_events.txt");
const RESPONSES_EVENTS: &str = include_str!("fields/responses_events.txt");
