//! Writes a request in the messages protocol.

mod content;
mod conversation;
mod settings;
mod tools;

use crate::context::ChannelSettings;
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{ContentRole, PartKind, Request};
use content::write_cache_mark;
use conversation::write_conversation;
use settings::write_settings;
use tools::write_tools;

/// The provider's body for a request. What it cannot say is added to `ledger`.
pub(crate) fn write_request(
    request: &Request<'_>,
    channel: &ChannelSettings,
    ledger: &mut Ledger,
) -> Vec<u8> {
    let mut json = JsonWriter::with_capacity(request.body.raw().len() + 512);
    json.begin_object();
    json.key("model").raw(&channel.model);
    write_system(request, &mut json, ledger);
    write_conversation(request, &mut json, ledger);
    write_settings(request, channel, &mut json, ledger);
    write_tools(request, &mut json, ledger);
    if request.stream.is_some() {
        json.key("stream").bool(true);
    }
    json.end_object();
    json.into_bytes()
}

/// Instructions stand before the conversation here. Later ones are moved there, which the route must allow.
fn write_system(request: &Request<'_>, json: &mut JsonWriter, ledger: &mut Ledger) {
    let late = request
        .turns
        .iter()
        .filter(|turn| turn.role == ContentRole::System);
    for turn in late.clone() {
        let reason = "is an instruction in the middle of the conversation, which would move to its start; send it as a user, or first";
        ledger.add(turn.at, FieldOutcome::Refused, reason);
    }
    let parts = request
        .instructions
        .iter()
        .chain(late.flat_map(|turn| &turn.parts));
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return;
    }
    json.key("system").begin_array();
    for part in parts {
        let PartKind::Text(text) = &part.kind else {
            let reason = "stands in instructions, where the messages protocol takes only texts";
            ledger.add(part.at, FieldOutcome::Refused, reason);
            continue;
        };
        json.begin_object().key("type").literal("text");
        json.key("text").text(text);
        write_cache_mark(part.cache.as_ref(), json, ledger);
        json.end_object();
    }
    json.end_array();
}
