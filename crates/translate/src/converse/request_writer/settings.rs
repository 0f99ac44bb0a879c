//! Writes limits, sampling, the form of the answer, and the tier.

use super::model_fields::NOT_WITH_THOUGHTS;
use crate::dialect::{MessagesDialect, ModelFamily};
use crate::escaped_text::EscapedText;
use crate::json_schema::write_closed;
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::messages::named_effort;
use crate::superset::{AnswerFormat, Request};
use crate::typed_value::text;
use headgate_protocol::json::DocumentNode;

pub(super) fn write_settings(
    request: &Request<'_>,
    dialect: &MessagesDialect,
    (family, thinks): (ModelFamily, bool),
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    // Only of Claude models it is known which settings they take.
    let rules = (family == ModelFamily::Claude).then_some(dialect);
    write_inference(request, rules, thinks, json, ledger);
    write_output(request, dialect, family, json, ledger);
    write_service_tier(request, json, ledger);
}

/// Writes the settings of sampling. Claude models that think take neither a temperature nor another share of the
/// probability.
fn write_inference(
    request: &Request<'_>,
    rules: Option<&MessagesDialect>,
    thinks: bool,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let sampling = &request.sampling;
    let mut config = JsonWriter::default();
    config.begin_object();
    if let Some(limit) = sampling.max_output_tokens {
        config.key("maxTokens").raw(limit.raw());
    }
    let with_top_p = rules.is_none_or(|rules| rules.temperature_with_top_p);
    let is_pair = sampling.temperature.is_some() && sampling.top_p.is_some();
    for (name, member, number) in [
        ("temperature", "temperature", sampling.temperature),
        ("topP", "top_p", sampling.top_p),
    ] {
        let Some(number) = number else {
            continue;
        };
        if thinks {
            ledger.add(number, FieldOutcome::Approximated, NOT_WITH_THOUGHTS);
        } else if name == "topP" && is_pair && !with_top_p {
            let reason =
                "is left out, since the channel's model does not take it beside a temperature";
            ledger.add(number, FieldOutcome::Approximated, reason);
        } else if rules.is_some_and(|rules| !rules.members.takes(member, Some(number), ledger)) {
            // It is in the ledger.
        } else if name == "temperature" && number.as_f64().is_none_or(|value| value > 1.0) {
            let reason = "becomes 1, the highest of the converse protocol";
            ledger.add(number, FieldOutcome::Approximated, reason);
            config.key(name).number(1);
        } else {
            config.key(name).raw(number.raw());
        }
    }
    if !sampling.stop.is_empty() {
        config.key("stopSequences").begin_array();
        for text in &sampling.stop {
            config.text(text);
        }
        config.end_array();
    }
    config.end_object();
    if config.as_bytes() != b"{}" {
        json.key("inferenceConfig").raw(config.as_bytes());
    }
}

fn write_output(
    request: &Request<'_>,
    dialect: &MessagesDialect,
    family: ModelFamily,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let effort = match family {
        ModelFamily::Claude => named_effort(request, dialect, ledger),
        // Their effort is a field of the model, or they have none.
        ModelFamily::Nova | ModelFamily::GptOss | ModelFamily::Other => None,
    };
    let format = request.output_format.as_ref();
    let format = format.filter(|format| {
        matches!(format, AnswerFormat::JsonSchema { .. }) && family.has_structured_outputs(dialect)
    });
    if effort.is_none() && format.is_none() {
        return;
    }
    json.key("outputConfig").begin_object();
    if let Some(effort) = effort {
        json.key("effort").plain(effort);
    }
    if let Some(AnswerFormat::JsonSchema {
        name,
        description,
        schema,
        ..
    }) = format
    {
        write_schema((name, description, *schema), json, ledger);
    }
    json.end_object();
}

/// Writes a schema, which is a text here. It has the form that Anthropic's own API takes: Bedrock enforces the same.
fn write_schema(
    (name, description, schema): (
        &Option<EscapedText<'_>>,
        &Option<EscapedText<'_>>,
        DocumentNode<'_>,
    ),
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let mut closed = JsonWriter::default();
    write_closed(schema, &mut closed, ledger);
    json.key("textFormat").begin_object();
    json.key("type").literal("json_schema");
    json.key("structure").begin_object();
    json.key("jsonSchema").begin_object();
    json.key("schema")
        .plain(&String::from_utf8_lossy(closed.as_bytes()));
    for (key, text) in [("name", name), ("description", description)] {
        if let Some(text) = text {
            json.key(key).text(text);
        }
    }
    json.end_object().end_object().end_object();
}

fn write_service_tier(request: &Request<'_>, json: &mut JsonWriter, ledger: &mut Ledger) {
    let node = request.body.get("service_tier");
    let (Some(node), Some(tier)) = (node, text(node, ledger)) else {
        return;
    };
    let sent = match tier.as_written() {
        "auto" => return,
        "default" => "default",
        "flex" => "flex",
        "priority" => "priority",
        "standard_only" => {
            let reason = "becomes `default`";
            ledger.add(node, FieldOutcome::Approximated, reason);
            "default"
        }
        _ => {
            let reason = "is left out, since the converse protocol has no such tier";
            ledger.add(node, FieldOutcome::Dropped, reason);
            return;
        }
    };
    json.key("serviceTier").begin_object();
    json.key("type").literal(sent).end_object();
}
