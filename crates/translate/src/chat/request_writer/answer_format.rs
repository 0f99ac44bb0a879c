//! What asks for a form of answers that the provider does not enforce.

use crate::dialect::{ChatDialect, OutputFormatSupport};
use crate::escaped_text::EscapedText;
use crate::superset::{AnswerFormat, Part, PartKind, Request};

/// The instruction that asks for the form of the answer; `None` if the provider enforces it.
pub(super) fn format_instruction<'a>(
    request: &Request<'a>,
    dialect: &ChatDialect,
) -> Option<Part<'a>> {
    let text = match &request.output_format {
        Some(AnswerFormat::JsonSchema { schema, .. })
            if dialect.output_format < OutputFormatSupport::JsonSchema =>
        {
            format!(
                "Answer with one JSON object that matches this JSON schema, and nothing else:\n{schema}"
            )
        }
        Some(AnswerFormat::JsonObject)
            if dialect.output_format < OutputFormatSupport::JsonObject =>
        {
            "Answer with one JSON object and nothing else.".into()
        }
        Some(AnswerFormat::JsonSchema { .. } | AnswerFormat::JsonObject | AnswerFormat::Text)
        | None => return None,
    };
    Some(Part {
        at: request.body,
        kind: PartKind::Text(EscapedText::plain(&text)),
        cache: None,
    })
}
