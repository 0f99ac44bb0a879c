//! Gemini's API: whole responses, and streams of chunks.

mod body;
mod conversation;
mod response;

use super::api_error::ApiError;
use super::conversation_step::{ConversationStep, results_text};
use super::endpoint_result::SuccessfulResponse;
use super::json::object;
use super::model_call::ModelCall;
use super::model_request::{
    ModelRequest, OutputFormat, ToolChoice, ToolDefinition, list_at, text_at, text_bytes,
};
use super::query;
use super::request_context::RequestContext;
use super::text;
use response::GeneratedContent;
use serde_json::Value;

/// Responds to a request for content.
pub fn generate(
    named: ModelCall<'_>,
    body: &Value,
    call: &RequestContext,
) -> Result<SuccessfulResponse, ApiError> {
    let model = named.model();
    body::check(body, &model)?;
    let conversation = conversation::check(body, &model)?;
    let declarations = body::declarations(body);
    let ask = read(body, &declarations, &conversation);
    let thinks = body.pointer("/generationConfig/thinkingConfig/includeThoughts");
    let thinks = thinks.and_then(Value::as_bool) == Some(true);
    let content = GeneratedContent {
        response_id: call.ids.next("rsp"),
        has_call_ids: conversation::is_newest(&model),
        model: model.into_owned(),
        step: ConversationStep::to(&ask, thinks, "fc_", call),
        has_usage: !call.directives.no_usage,
    };
    if !named.is_stream {
        return Ok(SuccessfulResponse::Whole(content.json()));
    }
    let query = call.head.uri.query().unwrap_or_default();
    if !query::values(query, "alt").any(|value| value == "sse") {
        let message = "The simulated provider streams only with `alt=sse`.";
        return Err(ApiError::invalid(message));
    }
    Ok(SuccessfulResponse::Stream(Box::new(content)))
}

/// Responds to a request for the number of tokens.
pub fn count_tokens(body: &Value) -> Result<SuccessfulResponse, ApiError> {
    let counted = body.get("generateContentRequest").unwrap_or(body);
    let Some(contents) = counted.get("contents") else {
        return Err(ApiError::invalid("contents is not specified"));
    };
    let bytes = [Some(contents), counted.get("systemInstruction")];
    let bytes: usize = bytes.into_iter().flatten().map(text_bytes).sum();
    Ok(SuccessfulResponse::Whole(
        object! {"totalTokens": text::tokens(bytes) + 3},
    ))
}

fn read<'b>(
    body: &'b Value,
    declarations: &[&'b Value],
    conversation: &conversation::GeminiConversation,
) -> ModelRequest<'b> {
    let config = body.get("generationConfig").unwrap_or(&Value::Null);
    let bytes = [body.get("contents"), body.get("systemInstruction")];
    let bytes = bytes.into_iter().flatten().map(text_bytes).sum();
    let choice = body.pointer("/toolConfig/functionCallingConfig");
    let choice = choice.unwrap_or(&Value::Null);
    let allowed = list_at(choice, "allowedFunctionNames");
    let is_allowed =
        |tool: &ToolDefinition| allowed.is_empty() || allowed.iter().any(|it| it == tool.name);
    let tools = declarations.iter().map(|tool| ToolDefinition {
        name: text_at(tool, "name"),
        schema: tool
            .get("parametersJsonSchema")
            .or_else(|| tool.get("parameters")),
    });
    let results = conversation.results;
    ModelRequest {
        last_user_text: match results {
            0 => conversation.last_user_text.clone(),
            _ => results_text(results, conversation.thoughts),
        },
        input_tokens: text::tokens(bytes) + 3,
        max_tokens: config.get("maxOutputTokens").and_then(Value::as_u64),
        tools: tools.filter(is_allowed).collect(),
        tool_choice: match text_at(choice, "mode") {
            "NONE" => ToolChoice::Never,
            "ANY" => ToolChoice::Any,
            _ => ToolChoice::Auto,
        },
        tool_result_came: results > 0,
        shape: match text_at(config, "responseMimeType") {
            "application/json" => {
                let schema = config.get("responseJsonSchema");
                schema.map_or(OutputFormat::AnyObject, OutputFormat::Fitting)
            }
            _ => OutputFormat::Prose,
        },
    }
}
