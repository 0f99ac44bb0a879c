//! Writes a request.

mod content;
mod conversation;
mod marks;
mod settings;
mod thinking;
mod tools;

use super::models::GeminiModel;
use crate::context::ChannelSettings;
use crate::instructions::moved_instructions;
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{PartKind, Request};
use content::can_write;
use conversation::write_conversation;
use marks::note_mark;
use settings::write_settings;
use tools::write_tools;

/// The provider's body for a request. What it cannot say is added to `ledger`. The model, and whether the response is a
/// stream, are in the path.
pub(crate) fn write_request(
    request: &Request<'_>,
    channel: &ChannelSettings,
    ledger: &mut Ledger,
) -> Vec<u8> {
    let model = GeminiModel::from_json_name(&channel.model);
    let mut json = JsonWriter::with_capacity(request.estimated_bytes());
    json.begin_object();
    write_system(request, &mut json, ledger);
    let ids = channel.has_call_ids;
    write_conversation(request, (model, ids), &mut json, ledger);
    write_tools(request, &mut json, ledger);
    write_settings(request, model, &mut json, ledger);
    json.end_object();
    json.into_bytes()
}

/// Instructions stand before the conversation here. Later ones are moved there, which the route must allow.
fn write_system(request: &Request<'_>, json: &mut JsonWriter, ledger: &mut Ledger) {
    let mut is_open = false;
    for part in moved_instructions(request, ledger) {
        note_mark(part.cache.as_ref(), ledger);
        let PartKind::Text(text) = &part.kind else {
            let reason = "stands in instructions, where the gemini protocol takes only texts";
            ledger.add(part.at, FieldOutcome::Refused, reason);
            continue;
        };
        if !can_write(part, ledger) {
            continue;
        }
        if !std::mem::replace(&mut is_open, true) {
            json.key("systemInstruction").begin_object();
            json.key("parts").begin_array();
        }
        json.begin_object().key("text").text(text).end_object();
    }
    if is_open {
        json.end_array().end_object();
    }
}
