//! Bedrock's Converse and ConverseStream: whole responses, and streams of frames.

mod body;
mod content;
mod conversation;
mod response;
mod thinking;

use super::api_error::ApiError;
use super::conversation_step::{ConversationStep, results_text};
use super::endpoint_result::SuccessfulResponse;
use super::model_call::ModelCall;
use super::model_request::{
    ModelRequest, OutputFormat, ToolChoice, ToolDefinition, list_at, text_at, text_bytes,
};
use super::request_context::RequestContext;
use super::text;
use conversation::ConverseConversation;
use response::ConverseResponse;
use serde_json::Value;

/// Responds to a request of a conversation.
pub fn converse(
    named: ModelCall<'_>,
    body: &Value,
    call: &RequestContext,
) -> Result<SuccessfulResponse, ApiError> {
    let model = named.model();
    body::check(body, &model)?;
    let conversation = conversation::check(body)?;
    let thinks = thinking::check(body)?;
    let schema = schema(body)?;
    let ask = read(body, &conversation, schema.as_ref());
    let response = ConverseResponse {
        step: ConversationStep::to(&ask, thinks, "tooluse_", call),
        has_usage: !call.directives.no_usage,
    };
    Ok(if named.is_stream {
        SuccessfulResponse::Stream(Box::new(response))
    } else {
        SuccessfulResponse::Whole(response.json())
    })
}

/// The schema of the answer, which is a text.
fn schema(body: &Value) -> Result<Option<Value>, ApiError> {
    let schema = body.pointer("/outputConfig/textFormat/structure/jsonSchema/schema");
    let Some(schema) = schema.and_then(Value::as_str) else {
        return Ok(None);
    };
    let schema = serde_json::from_str(schema);
    schema
        .map(Some)
        .map_err(|error| ApiError::invalid(format!("The schema is no JSON: {error}")))
}

fn read<'b>(
    body: &'b Value,
    conversation: &ConverseConversation,
    schema: Option<&'b Value>,
) -> ModelRequest<'b> {
    let config = body.get("toolConfig").unwrap_or(&Value::Null);
    let bytes = [body.get("messages"), body.get("system")];
    let bytes = bytes.into_iter().flatten().map(text_bytes).sum();
    let tools = list_at(config, "tools").iter();
    let tools = tools.filter_map(|tool| tool.get("toolSpec"));
    let choice = |place: &str| config.pointer(&format!("/toolChoice/{place}"));
    let own_choice = body.pointer("/additionalModelRequestFields/tool_choice");
    let is_forced = own_choice.is_some_and(|choice| text_at(choice, "type") == "any");
    let named = choice("tool")
        .or(own_choice)
        .map_or("", |tool| text_at(tool, "name"));
    let results = conversation.results;
    ModelRequest {
        last_user_text: match results {
            0 => conversation.last_user_text.clone(),
            _ => results_text(results, conversation.thoughts),
        },
        input_tokens: text::tokens(bytes) + 3,
        max_tokens: body
            .pointer("/inferenceConfig/maxTokens")
            .and_then(Value::as_u64),
        tools: tools
            .map(|tool| ToolDefinition {
                name: text_at(tool, "name"),
                schema: tool.pointer("/inputSchema/json"),
            })
            .collect(),
        tool_choice: match () {
            () if !named.is_empty() => ToolChoice::ByName(named),
            () if choice("any").is_some() || is_forced => ToolChoice::Any,
            () => ToolChoice::Auto,
        },
        tool_result_came: results > 0,
        shape: schema.map_or(OutputFormat::Prose, OutputFormat::Fitting),
    }
}
