//! Writes limits, sampling, and the form of the answer.

use super::thinking::write_thinking;
use crate::gemini::models::GeminiModel;
use crate::json_schema::write_with_plain_references;
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{AnswerFormat, Request};
use crate::typed_value::number;
use headgate_protocol::conversation::ConversationFormat;

/// Texts at which a model stops, of which the protocol takes a few.
const STOP_MAX: usize = 5;

pub(super) fn write_settings(
    request: &Request<'_>,
    model: GeminiModel,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let mut config = JsonWriter::default();
    config.begin_object();
    write_sampling(request, &mut config, ledger);
    write_output_format(request.output_format.as_ref(), &mut config, ledger);
    write_thinking(request, model, &mut config, ledger);
    config.end_object();
    if config.as_bytes() != b"{}" {
        json.key("generationConfig").raw(config.as_bytes());
    }
}

fn write_sampling(request: &Request<'_>, json: &mut JsonWriter, ledger: &mut Ledger) {
    let sampling = &request.sampling;
    for (name, number) in [
        ("maxOutputTokens", sampling.max_output_tokens),
        ("temperature", sampling.temperature),
        ("topP", sampling.top_p),
        ("topK", sampling.top_k),
    ] {
        if let Some(number) = number {
            json.key(name).raw(number.raw());
        }
    }
    if request.protocol == ConversationFormat::Chat
        && let Some(seed) = number(request.body.get("seed"), ledger)
    {
        json.key("seed").raw(seed.raw());
    }
    write_stop(request, json, ledger);
}

fn write_stop(request: &Request<'_>, json: &mut JsonWriter, ledger: &mut Ledger) {
    let stop = &request.sampling.stop;
    if stop.is_empty() {
        return;
    }
    let node = request.body.get("stop_sequences");
    let node = node.or_else(|| request.body.get("stop"));
    if let Some(node) = node.filter(|_| stop.len() > STOP_MAX) {
        let reason = "has more than the five texts that the gemini protocol takes";
        ledger.add(node, FieldOutcome::Refused, reason);
    }
    json.key("stopSequences").begin_array();
    for text in stop.iter().take(STOP_MAX) {
        json.text(text);
    }
    json.end_array();
}

/// The name and the description of a schema are left out, as the tables of fields have it.
fn write_output_format(
    format: Option<&AnswerFormat<'_>>,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let schema = match format {
        None | Some(AnswerFormat::Text) => return,
        Some(AnswerFormat::JsonObject) => None,
        Some(AnswerFormat::JsonSchema { schema, .. }) => Some(schema),
    };
    json.key("responseMimeType").literal("application/json");
    if let Some(schema) = schema {
        write_with_plain_references(*schema, json.key("responseJsonSchema"), ledger);
    }
}
