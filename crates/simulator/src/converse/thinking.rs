//! The rules of Claude's models that think.

use crate::api_error::ApiError;
use crate::model_request::{list_at, text_at};
use serde_json::Value;

/// Whether the model thinks.
///
/// # Errors
/// The request does not go with thoughts, or leaves out those before calls that were made now.
pub fn check(body: &Value) -> Result<bool, ApiError> {
    let thinking = body.pointer("/additionalModelRequestFields/thinking");
    let kind = thinking.map_or("", |thinking| text_at(thinking, "type"));
    if !matches!(kind, "enabled" | "adaptive") {
        return Ok(false);
    }
    let at = |place: &str| body.pointer(place);
    let temperature = at("/inferenceConfig/temperature").and_then(Value::as_f64);
    let own_choice = at("/additionalModelRequestFields/tool_choice/type").and_then(Value::as_str);
    let is_forced = at("/toolConfig/toolChoice/any")
        .or(at("/toolConfig/toolChoice/tool"))
        .is_some()
        || matches!(own_choice, Some("any" | "tool"));
    let budget = thinking.and_then(|thinking| thinking.get("budget_tokens"));
    let limit = at("/inferenceConfig/maxTokens").and_then(Value::as_u64);
    let messages = list_at(body, "messages");
    let message = match (kind, budget.and_then(Value::as_u64)) {
        _ if temperature.is_some_and(|temperature| temperature < 1.0) => {
            "`temperature` may only be set to 1 when thinking is enabled."
        }
        _ if is_forced => "Thinking may not be enabled when tool_choice forces tool use.",
        ("enabled", None) => "thinking.enabled.budget_tokens: Field required",
        ("enabled", Some(budget)) if limit.is_some_and(|limit| limit <= budget) => {
            "`max_tokens` must be greater than `thinking.budget_tokens`."
        }
        ("enabled", _) if lacks_thoughts(messages) => {
            "Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks)."
        }
        _ if messages
            .last()
            .is_some_and(|last| text_at(last, "role") == "assistant") =>
        {
            "This model does not support assistant message prefill when it thinks. The conversation must end with a user message."
        }
        _ => return Ok(true),
    };
    let message = format!("The model returned the following errors: {message}");
    Err(ApiError::invalid(message))
}

/// Whether the results at the end are of calls that stand after no thoughts.
fn lacks_thoughts(messages: &[Value]) -> bool {
    let [.., assistant, last] = messages else {
        return false;
    };
    let mut results = list_at(last, "content").iter();
    let has_results = results.any(|block| block.get("toolResult").is_some());
    let first = assistant.pointer("/content/0/reasoningContent");
    has_results && first.is_none()
}
