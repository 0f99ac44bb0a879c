//! The responses protocol: responses whole, as a stream of events, or made in the background.

mod object;
mod play;
mod stored;

pub use play::Performance;
pub use stored::Store;

use self::object::{CodeCall, ResponseObject, Status};
use self::stored::{Background, Stored};
use super::ask::{self, Ask, Tool};
use super::call::Call;
use super::outcome::Outcome;
use super::refusal::Refusal;
use super::reply::Reply;
use super::{clock, text};
use bytes::Bytes;
use serde_json::Value;
use std::time::Duration;
use tokio::time::Instant;

/// Answers a request for a response; `raw` is its body as received.
pub fn create(body: &Value, raw: &Bytes, call: &Call, store: &Store) -> Result<Outcome, Refusal> {
    let ask = read(body)?;
    if let Some(previous) = body.get("previous_response_id").and_then(Value::as_str)
        && !store.holds(call.account, previous)
    {
        let message = format!("Previous response with id '{previous}' not found.");
        let refusal = Refusal::not_found(message).param("previous_response_id");
        return Err(refusal.code("previous_response_not_found"));
    }
    call.shelves.check_named(call.account, body)?;
    let in_background = ask::is_set(body, "background");
    let stores = body.get("store") != Some(&Value::Bool(false));
    if in_background && !stores {
        return Err(Refusal::invalid("A background response must be stored.").param("background"));
    }
    let reply = Reply::to(&ask, call.sizes, call.options.answer_tokens);
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
        let background = in_background.then(|| Background {
            due: Instant::now() + Duration::from_millis(call.options.background_ms),
            running: response.json(Status::InProgress).into(),
            cancelled: response.json(Status::Cancelled).into(),
            is_cancelled: false,
        });
        store.put(
            call.account,
            &response.id,
            Stored {
                finished: finished.clone().into(),
                request: raw.clone(),
                background,
            },
        );
    }
    if ask::is_set(body, "stream") {
        let performance = Performance::new(response, finished, in_background);
        return Ok(Outcome::Stream(Box::new(performance)));
    }
    Ok(Outcome::Whole(if in_background {
        response.json(Status::Queued)
    } else {
        finished
    }))
}

/// What runs in a container, where the request brings the tool for it.
fn code_call(body: &Value, call: &Call) -> Option<CodeCall> {
    let mut tools = ask::list_at(body, "tools").iter();
    let tool = tools.find(|tool| ask::text_at(tool, "type") == "code_interpreter")?;
    let given = tool.get("container").and_then(Value::as_str);
    Some(CodeCall {
        id: call.ids.next("ci_"),
        container_id: given.map_or_else(
            || call.shelves.new_container(call.account, call.ids),
            str::to_owned,
        ),
    })
}

fn read(body: &Value) -> Result<Ask<'_>, Refusal> {
    ask::required_text(body, "model")?;
    let (last_user_text, tool_result_came) = match body.get("input") {
        Some(Value::String(text)) => (text.clone(), false),
        Some(Value::Array(items)) => last_user_text(items),
        _ if body.get("prompt").is_some() || body.get("conversation").is_some() => {
            (String::new(), false)
        }
        _ => return Err(ask::missing("input")),
    };
    let bytes_at = |key| body.get(key).map_or(0, ask::text_bytes);
    Ok(Ask {
        last_user_text,
        input_tokens: text::tokens(bytes_at("input") + bytes_at("instructions")) + 3,
        max_tokens: body.get("max_output_tokens").and_then(Value::as_u64),
        tools: ask::list_at(body, "tools")
            .iter()
            .filter_map(tool)
            .collect(),
        tool_choice: ask::openai_tool_choice(body, "/name"),
        tool_result_came,
        shape: ask::shape(body.pointer("/text/format"), "/schema"),
    })
}

/// The last user text, and whether a tool's result came after it.
fn last_user_text(items: &[Value]) -> (String, bool) {
    let last_user = items
        .iter()
        .rposition(|item| ask::text_at(item, "role") == "user");
    let since = last_user.map_or(items, |index| &items[index + 1..]);
    let is_result = |item: &Value| ask::text_at(item, "type") == "function_call_output";
    let text = last_user.map_or_else(String::new, |index| ask::content_text(&items[index]));
    (text, since.iter().any(is_result))
}

fn tool(tool: &Value) -> Option<Tool<'_>> {
    if ask::text_at(tool, "type") != "function" {
        return None;
    }
    Some(Tool {
        name: tool.get("name")?.as_str()?,
        schema: tool.get("parameters"),
    })
}
