//! Writes a request in the protocol. The model stands in the path.

mod content;
mod conversation;
mod document_names;
mod documents;
mod model_fields;
mod settings;
mod tools;

use crate::answer_instruction::{format_node, instruction_beside_schemas};
use crate::context::ChannelSettings;
use crate::dialect::ModelFamily;
use crate::instructions::moved_instructions;
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{PartKind, Request};
use content::write_cache_point;
use conversation::write_conversation;
use model_fields::write_model_fields;
use settings::write_settings;
use tools::ToolWriter;

/// The provider's body for a request. What it cannot say is added to `ledger`.
pub(crate) fn write_request(
    request: &Request<'_>,
    channel: &ChannelSettings,
    ledger: &mut Ledger,
) -> Vec<u8> {
    let mut json = JsonWriter::with_capacity(request.estimated_bytes());
    let family = ModelFamily::for_channel(channel);
    json.begin_object();
    // Claude models have the same rules as behind the messages protocol.
    let dialect = &channel.features.messages;
    let fields = write_model_fields(request, dialect, family, &mut json, ledger);
    let thinks = fields.thinks;
    write_settings(request, dialect, (family, thinks), &mut json, ledger);
    let structured_outputs = family.has_structured_outputs(dialect);
    write_system(request, (family, structured_outputs), &mut json, ledger);
    write_conversation(request, family, &mut json, ledger);
    let mut tools = ToolWriter {
        family,
        structured_outputs,
        json: &mut json,
        ledger,
    };
    tools.write(request, fields.has_choice);
    json.end_object();
    json.into_bytes()
}

/// Instructions stand before the conversation here. Later ones are moved there, which the route must allow.
fn write_system(
    request: &Request<'_>,
    (family, structured_outputs): (ModelFamily, bool),
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let mut is_open = false;
    for part in moved_instructions(request, ledger) {
        let PartKind::Text(text) = &part.kind else {
            let reason = "stands in instructions, where the converse protocol takes only texts";
            ledger.add(part.at, FieldOutcome::Refused, reason);
            continue;
        };
        if text.is_blank() {
            let reason = "is a text without letters, which the converse protocol does not take";
            ledger.add(part.at, FieldOutcome::Dropped, reason);
            continue;
        }
        begin_system(&mut is_open, json);
        json.begin_object().key("text").text(text).end_object();
        write_cache_point(part.cache.as_ref(), family, json, ledger);
    }
    if let Some(instruction) = instruction_beside_schemas(request, structured_outputs) {
        begin_system(&mut is_open, json);
        json.begin_object().key("text").plain(&instruction);
        json.end_object();
        let at = format_node(request.body);
        ledger.add(at, FieldOutcome::Approximated, "is sent as an instruction");
    }
    if is_open {
        json.end_array();
    }
}

fn begin_system(is_open: &mut bool, json: &mut JsonWriter) {
    if !std::mem::replace(is_open, true) {
        json.key("system").begin_array();
    }
}
