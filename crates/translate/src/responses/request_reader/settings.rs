//! Reads how much a model should think, and the form of its answer.

use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{AnswerFormat, ReasoningSettings};
use crate::typed_value::{boolean, object, present, read_effort, required_text, text};
use headgate_protocol::json::DocumentNode;

pub(super) fn read_reasoning<'a>(
    reasoning: Option<DocumentNode<'a>>,
    ledger: &mut Ledger,
) -> ReasoningSettings<'a> {
    let Some(reasoning) = object(reasoning, ledger) else {
        return ReasoningSettings::default();
    };
    let [effort, summary, old_summary] =
        reasoning.get_each(["effort", "summary", "generate_summary"]);
    let summary = text(summary, ledger);
    let old_summary = text(old_summary, ledger);
    ReasoningSettings {
        effort: read_effort(effort, ledger),
        budget: None,
        is_enabled: None,
        summary: summary.or(old_summary),
    }
}

pub(super) fn read_output_format<'a>(
    text_settings: Option<DocumentNode<'a>>,
    ledger: &mut Ledger,
) -> Option<AnswerFormat<'a>> {
    let format = object(text_settings, ledger)?.get("format");
    let format = object(format, ledger)?;
    let [kind, name, schema, strict, description] =
        format.get_each(["type", "name", "schema", "strict", "description"]);
    match required_text(format, "type", kind, ledger)?.as_written() {
        "text" => Some(AnswerFormat::Text),
        "json_object" => Some(AnswerFormat::JsonObject),
        "json_schema" => {
            if present(schema).is_none() {
                ledger.add_missing(format, "schema");
            }
            Some(AnswerFormat::JsonSchema {
                name: required_text(format, "name", name, ledger),
                description: text(description, ledger),
                schema: object(schema, ledger)?,
                strict: boolean(strict, ledger),
            })
        }
        other => {
            let reason = format!("is of type `{other:.64}`, which no other protocol has");
            ledger.add(format, FieldOutcome::Refused, reason);
            None
        }
    }
}
