//! Instructions in place of a form of answers that the provider does not enforce.

use crate::dialect::OutputFormatSupport;
use crate::superset::{AnswerFormat, Request};
use crate::typed_value::json_text;
use headgate_protocol::json::DocumentNode;

/// The instruction that asks for a form of the answer; `None` for text.
pub(crate) fn answer_instruction(format: &AnswerFormat<'_>) -> Option<String> {
    match format {
        AnswerFormat::JsonSchema { schema, .. } => Some(format!(
            "Answer with one JSON object that matches this JSON schema, and nothing else:\n{}",
            json_text(*schema)
        )),
        AnswerFormat::JsonObject => {
            Some("Answer with one JSON object and nothing else.".to_owned())
        }
        AnswerFormat::Text => None,
    }
}

/// The instruction for a form of the answer that the protocols of Anthropic and Bedrock do not enforce: they have none for
/// JSON without a schema, and `structured_outputs` is whether the model is held to schemas.
pub(crate) fn instruction_beside_schemas(
    request: &Request<'_>,
    structured_outputs: bool,
) -> Option<String> {
    let format = request.output_format.as_ref()?;
    match format {
        AnswerFormat::JsonSchema { .. } if structured_outputs => None,
        AnswerFormat::JsonSchema { .. } | AnswerFormat::JsonObject | AnswerFormat::Text => {
            answer_instruction(format)
        }
    }
}

/// What a provider must enforce for a form of the answer.
pub(crate) fn needed_support(format: &AnswerFormat<'_>) -> OutputFormatSupport {
    match format {
        AnswerFormat::Text => OutputFormatSupport::Text,
        AnswerFormat::JsonObject => OutputFormatSupport::JsonObject,
        AnswerFormat::JsonSchema { .. } => OutputFormatSupport::JsonSchema,
    }
}

/// Where the caller has the form of the answer.
pub(crate) fn format_node(body: DocumentNode<'_>) -> DocumentNode<'_> {
    let format = body.get("response_format");
    let format = format.or_else(|| body.pointer("/text/format"));
    let format = format.or_else(|| body.pointer("/output_config/format"));
    format.or_else(|| body.get("output_format")).unwrap_or(body)
}
