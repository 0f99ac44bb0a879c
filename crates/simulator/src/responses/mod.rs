//! The responses protocol: whole responses, streams of events, and background responses.

mod object;
mod store;
mod stream;

pub use store::ResponseStore;
pub use stream::ResponseStream;

use self::object::{CodeInterpreterCall, ResponseObject, ResponseStatus};
use self::store::{BackgroundResponse, StoredResponse};
use super::api_error::ApiError;
use super::endpoint_result::SuccessfulResponse;
use super::json::object;
use super::model_output::{ModelOutput, TokenCounts};
use super::model_request::{self, ModelRequest, ToolDefinition};
use super::request_context::RequestContext;
use super::{clock, text};
use bytes::Bytes;
use serde_json::Value;
use std::time::Duration;
use tokio::time::Instant;

/// Tokens of the item that stands for a conversation.
const COMPACTION_TOKENS: u64 = 8;

/// Responds to a request for a response; `raw` is its body as received.
pub fn create(
    body: &Value,
    raw: &Bytes,
    call: &RequestContext,
    store: &ResponseStore,
) -> Result<SuccessfulResponse, ApiError> {
    let ask = read(body)?;
    if let Some(previous) = body.get("previous_response_id").and_then(Value::as_str)
        && !store.holds(call.account, previous)
    {
        let message = format!("Previous response with id '{previous}' not found.");
        let refusal = ApiError::not_found(message).param("previous_response_id");
        return Err(refusal.code("previous_response_not_found"));
    }
    call.resources.check_named(call.account, body)?;
    let in_background = model_request::is_set(body, "background");
    let stores = body.get("store") != Some(&Value::Bool(false));
    if in_background && !stores {
        return Err(ApiError::invalid("A background response must be stored.").param("background"));
    }
    let reply = ModelOutput::to(&ask, call.sizes, call.options.answer_tokens);
    let response = ResponseObject {
        request: body,
        id: call.ids.next("resp_"),
        item_id: call.ids.next(object::item_prefix(&reply)),
        code_call: code_call(body, call),
        call_id: call.ids.next("call_"),
        created_at: clock::unix_seconds(),
        usage: (!call.directives.no_usage).then_some(reply.usage),
        reply,
    };
    let finished = response.json(response.final_status());
    if stores {
        let background = in_background.then(|| BackgroundResponse {
            due: Instant::now() + Duration::from_millis(call.options.background_ms),
            running: response.json(ResponseStatus::InProgress).into(),
            cancelled: response.json(ResponseStatus::Cancelled).into(),
            is_cancelled: false,
        });
        store.put(
            call.account,
            &response.id,
            StoredResponse {
                finished: finished.clone().into(),
                request: raw.clone(),
                background,
            },
        );
    }
    if model_request::is_set(body, "stream") {
        let performance = ResponseStream::new(response, finished, in_background);
        return Ok(SuccessfulResponse::Stream(Box::new(performance)));
    }
    Ok(SuccessfulResponse::Whole(if in_background {
        response.json(ResponseStatus::Queued)
    } else {
        finished
    }))
}

/// Responds to a request to count tokens.
pub fn count_tokens(body: &Value) -> Result<SuccessfulResponse, ApiError> {
    let ask = read(body)?;
    Ok(SuccessfulResponse::Whole(
        object! {"object": "response.input_tokens", "input_tokens": ask.input_tokens},
    ))
}

/// Responds to a request for a compacted conversation: one item, which only this provider can read.
pub fn compact(body: &Value, call: &RequestContext) -> Result<SuccessfulResponse, ApiError> {
    let ask = read(body)?;
    let item = object! {
        "id": call.ids.next("cmp_"),
        "type": "compaction",
        "encrypted_content": call.ids.next("simulated-compaction-"),
    };
    let usage = TokenCounts {
        input: ask.input_tokens,
        output: COMPACTION_TOKENS,
    };
    let usage = (!call.directives.no_usage).then(|| object::usage_json(usage));
    Ok(SuccessfulResponse::Whole(object! {
        "id": call.ids.next("resp_"),
        "object": "response.compaction",
        "created_at": clock::unix_seconds(),
        "output": [item],
        "usage": usage,
    }))
}

/// The code interpreter call, if the request has the tool for it.
fn code_call(body: &Value, call: &RequestContext) -> Option<CodeInterpreterCall> {
    let mut tools = model_request::list_at(body, "tools").iter();
    let tool = tools.find(|tool| model_request::text_at(tool, "type") == "code_interpreter")?;
    let given = tool.get("container").and_then(Value::as_str);
    Some(CodeInterpreterCall {
        id: call.ids.next("ci_"),
        container_id: given.map_or_else(
            || call.resources.new_container(call.account, call.ids),
            str::to_owned,
        ),
    })
}

fn read(body: &Value) -> Result<ModelRequest<'_>, ApiError> {
    model_request::required_text(body, "model")?;
    let (last_user_text, tool_result_came) = match body.get("input") {
        Some(Value::String(text)) => (text.clone(), false),
        Some(Value::Array(items)) => last_user_text(items),
        _ if body.get("prompt").is_some() || body.get("conversation").is_some() => {
            (String::new(), false)
        }
        _ => return Err(model_request::missing("input")),
    };
    let bytes_at = |key| body.get(key).map_or(0, model_request::text_bytes);
    Ok(ModelRequest {
        last_user_text,
        input_tokens: text::tokens(bytes_at("input") + bytes_at("instructions")) + 3,
        max_tokens: body.get("max_output_tokens").and_then(Value::as_u64),
        tools: model_request::list_at(body, "tools")
            .iter()
            .filter_map(tool)
            .collect(),
        tool_choice: model_request::openai_tool_choice(body, "/name"),
        tool_result_came,
        shape: model_request::shape(body.pointer("/text/format"), "/schema"),
    })
}

/// The last user text, and whether a tool result follows it.
fn last_user_text(items: &[Value]) -> (String, bool) {
    let last_user = items
        .iter()
        .rposition(|item| model_request::text_at(item, "role") == "user");
    let since = last_user.map_or(items, |index| &items[index + 1..]);
    let is_result = |item: &Value| model_request::text_at(item, "type") == "function_call_output";
    let text = last_user.map_or_else(String::new, |index| {
        model_request::content_text(&items[index])
    });
    (text, since.iter().any(is_result))
}

fn tool(tool: &Value) -> Option<ToolDefinition<'_>> {
    if model_request::text_at(tool, "type") != "function" {
        return None;
    }
    Some(ToolDefinition {
        name: tool.get("name")?.as_str()?,
        schema: tool.get("parameters"),
    })
}
