//! Writes a request in the messages protocol.

mod content;
mod conversation;
mod settings;
mod thinking;
mod tools;

use crate::context::ChannelSettings;
use crate::instructions::moved_instructions;
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{AnswerFormat, Part, PartKind, Request};
use content::{can_write, write_block};
use conversation::write_conversation;
use settings::write_settings;
pub(crate) use thinking::{named_effort, write_thinking};
use tools::write_tools;

/// What asks for JSON without a schema, which the protocol has no member for.
const JSON_INSTRUCTION: &str = "Answer with one JSON object and nothing else.";

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
    let mut parts = moved_instructions(request, ledger).peekable();
    let asks_for_json = matches!(request.output_format, Some(AnswerFormat::JsonObject));
    if parts.peek().is_none() && !asks_for_json {
        return;
    }
    json.key("system").begin_array();
    for part in parts {
        write_instruction(part, json, ledger);
    }
    if asks_for_json {
        json.begin_object().key("type").literal("text");
        json.key("text").literal(JSON_INSTRUCTION).end_object();
        let format = request.body.get("response_format");
        let at = format.or_else(|| request.body.pointer("/text/format"));
        let reason = "is sent as an instruction";
        ledger.add(
            at.unwrap_or(request.body),
            FieldOutcome::Approximated,
            reason,
        );
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
