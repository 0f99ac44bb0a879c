//! Writes a request in the responses protocol.

mod content;
mod items;
mod settings;
#[cfg(test)]
mod tests;
mod tools;

use crate::context::ChannelSettings;
use crate::json_writer::JsonWriter;
use crate::last_author::refuse_without_messages;
use crate::ledger::Ledger;
use crate::superset::{Part, PartKind, Request};
use content::ContentWriter;
use headgate_protocol::conversation::ProviderFormat;
use items::ItemWriter;

/// The provider's body for a request. What it cannot say is added to `ledger`.
pub(crate) fn write_request(
    request: &Request<'_>,
    channel: &ChannelSettings,
    ledger: &mut Ledger,
) -> Vec<u8> {
    let mut json = JsonWriter::with_capacity(request.estimated_bytes());
    json.begin_object().key("model").raw(&channel.model);
    // Nothing is stored at the provider: its ids mean nothing to the caller. So reasoning travels with the conversation.
    json.key("store").bool(false);
    let dialect = &channel.features.responses;
    if dialect.encrypted_reasoning {
        json.key("include").begin_array();
        json.literal("reasoning.encrypted_content").end_array();
    }
    let content = ContentWriter::new(channel, ledger);
    let instruction = only_instruction(request);
    if let Some(part) = instruction
        && let PartKind::Text(text) = &part.kind
    {
        json.key("instructions").text(text);
    }
    json.key("input").begin_array();
    let mut items = ItemWriter::new(request.protocol, content, &mut json);
    if instruction.is_none() {
        items.write_instructions(&request.instructions);
    }
    for turn in &request.turns {
        items.write_turn(turn);
    }
    items.check_end(request.turns.last());
    json.end_array();
    if json.as_bytes().ends_with(b"[]") && !request.turns.is_empty() {
        refuse_without_messages(request, ProviderFormat::Responses, ledger);
    }
    tools::write_tools(request, &mut json, ledger);
    settings::write_settings(request, dialect, &mut json, ledger);
    json.end_object();
    json.into_bytes()
}

/// The instruction of a request that has exactly one, without anything that only parts of messages have. Without a
/// conversation it is a message: the protocol demands one.
fn only_instruction<'r, 'a>(request: &'r Request<'a>) -> Option<&'r Part<'a>> {
    match request.instructions.as_slice() {
        [part] if part.cache.is_none() && !request.turns.is_empty() => Some(part),
        [_, ..] | [] => None,
    }
}
