//! Writes a request in the messages protocol.

mod content;
mod conversation;
mod settings;
mod thinking;
mod tools;

use crate::answer_instruction::{format_node, instruction_beside_schemas};
use crate::context::ChannelSettings;
use crate::dialect::MessagesDialect;
use crate::instructions::moved_instructions;
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{Part, PartKind, Request};
use content::{can_write, write_block};
use conversation::write_conversation;
use settings::write_settings;
pub(crate) use thinking::{named_effort, write_thinking};
use tools::write_tools;

/// The provider's body for a request. What it cannot say is added to `ledger`.
pub(crate) fn write_request(
    request: &Request<'_>,
    channel: &ChannelSettings,
    ledger: &mut Ledger,
) -> Vec<u8> {
    let mut json = JsonWriter::with_capacity(request.estimated_bytes());
    json.begin_object();
    json.key("model").raw(&channel.model);
    let dialect = &channel.features.messages;
    write_system(request, dialect, &mut json, ledger);
    write_conversation(request, &mut json, ledger);
    write_settings(request, channel, &mut json, ledger);
    write_tools(request, dialect, &mut json, ledger);
    if request.stream.is_some() {
        json.key("stream").bool(true);
    }
    json.end_object();
    json.into_bytes()
}

/// Instructions stand before the conversation here. Later ones are moved there, which the route must allow.
fn write_system(
    request: &Request<'_>,
    dialect: &MessagesDialect,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let mut parts = moved_instructions(request, ledger).peekable();
    let asked = instruction_beside_schemas(request, dialect.structured_outputs);
    if parts.peek().is_none() && asked.is_none() {
        return;
    }
    json.key("system").begin_array();
    for part in parts {
        write_instruction(part, json, ledger);
    }
    if let Some(instruction) = asked {
        json.begin_object().key("type").literal("text");
        json.key("text").plain(&instruction).end_object();
        let reason = "is sent as an instruction";
        let at = format_node(request.body);
        ledger.add(at, FieldOutcome::Approximated, reason);
    }
    json.end_array();
}

fn write_instruction(part: &Part<'_>, json: &mut JsonWriter, ledger: &mut Ledger) {
    if !matches!(part.kind, PartKind::Text(_)) {
        let reason = "stands in instructions, where the messages protocol takes only texts";
        ledger.add(part.at, FieldOutcome::Refused, reason);
    } else if can_write(part, ledger) {
        write_block(part, json, ledger);
    }
}
