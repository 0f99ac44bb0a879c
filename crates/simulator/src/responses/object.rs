//! The response object in each of its states, with the request's settings repeated.

use crate::clock;
use crate::json::{JsonText, NULL, OrderedJsonObject, object};
use crate::model_output::{ModelOutput, OutputContent, TokenCounts};
use serde_json::{Value, json};

/// The content of a response object.
pub struct ResponseObject<'r> {
    pub request: &'r Value,
    pub id: String,
    pub item_id: String,
    pub code_call: Option<CodeInterpreterCall>,
    pub call_id: String,
    /// Unix seconds.
    pub created_at: u64,
    pub reply: ModelOutput,
    pub usage: Option<TokenCounts>,
}

/// Code that ran before the reply.
pub struct CodeInterpreterCall {
    pub id: String,
    pub container_id: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseStatus {
    Queued,
    InProgress,
    Completed,
    Incomplete,
    Cancelled,
}

/// The prefix of the id of the reply's output item.
pub fn item_prefix(reply: &ModelOutput) -> &'static str {
    match reply.content {
        OutputContent::Text(_) => "msg_",
        OutputContent::ToolCall { .. } => "fc_",
    }
}

/// A text part of a message's content.
pub fn output_text(text: &str) -> JsonText {
    object! {"type": "output_text", "annotations": [NULL; 0], "logprobs": [NULL; 0], "text": text}
}

impl ResponseObject<'_> {
    /// The final state if the response is not cancelled.
    pub fn final_status(&self) -> ResponseStatus {
        if self.reply.truncated {
            ResponseStatus::Incomplete
        } else {
            ResponseStatus::Completed
        }
    }

    /// The output item, empty at its start or with all of its content.
    pub fn item(&self, status: ResponseStatus) -> JsonText {
        let is_begun = status == ResponseStatus::InProgress;
        match &self.reply.content {
            OutputContent::Text(text) => {
                let content = if is_begun {
                    vec![]
                } else {
                    vec![output_text(text)]
                };
                object! {
                    "id": self.item_id,
                    "type": "message",
                    "status": status.word(),
                    "content": content,
                    "role": "assistant",
                }
            }
            OutputContent::ToolCall { name, arguments } => object! {
                "id": self.item_id,
                "type": "function_call",
                "status": status.word(),
                "arguments": if is_begun { "" } else { arguments.as_str() },
                "call_id": self.call_id,
                "name": name,
            },
        }
    }

    /// The whole object.
    pub fn json(&self, status: ResponseStatus) -> JsonText {
        let is_final = status == self.final_status();
        let output = if is_final {
            let code_call = self.code_call.as_ref().map(|call| call.item(status));
            code_call.into_iter().chain([self.item(status)]).collect()
        } else {
            vec![]
        };
        let cut_short = object! {"reason": "max_output_tokens"};
        let mut json = OrderedJsonObject::new();
        json.member("id", &self.id);
        json.member("object", "response");
        json.member("created_at", &self.created_at);
        json.member("status", status.word());
        self.echo(&mut json, "background", &false.into());
        let completed_at = (status == ResponseStatus::Completed).then(clock::unix_seconds);
        json.member("completed_at", &completed_at);
        json.member("error", &NULL);
        let incomplete = (status == ResponseStatus::Incomplete).then_some(cut_short);
        json.member("incomplete_details", &incomplete);
        self.echo_settings(&mut json);
        if let Some(conversation) = self.request.get("conversation") {
            let id = conversation.get("id").unwrap_or(conversation);
            json.member("conversation", &object! {"id": id});
        }
        json.member("output", &output);
        let usage = self.usage.filter(|_| is_final);
        json.member("usage", &usage.map(usage_json));
        json.end()
    }

    fn echo_settings(&self, json: &mut OrderedJsonObject) {
        for (key, default) in [
            ("instructions", Value::Null),
            ("max_output_tokens", Value::Null),
            ("max_tool_calls", Value::Null),
            ("model", Value::Null),
            ("parallel_tool_calls", json!(true)),
            ("previous_response_id", Value::Null),
            ("prompt_cache_key", Value::Null),
            ("reasoning", json!({"effort": null, "summary": null})),
            ("safety_identifier", Value::Null),
        ] {
            self.echo(json, key, &default);
        }
        json.member("service_tier", "default");
        let text = json!({"format": {"type": "text"}, "verbosity": "medium"});
        for (key, default) in [
            ("store", json!(true)),
            ("temperature", json!(1.0)),
            ("text", text),
            ("tool_choice", json!("auto")),
            ("tools", json!([])),
            ("top_logprobs", json!(0)),
            ("top_p", json!(1.0)),
            ("truncation", json!("disabled")),
            ("user", Value::Null),
            ("metadata", json!({})),
        ] {
            self.echo(json, key, &default);
        }
    }

    fn echo(&self, json: &mut OrderedJsonObject, key: &'static str, default: &Value) {
        let given = self.request.get(key).filter(|given| !given.is_null());
        json.member(key, given.unwrap_or(default));
    }
}

impl CodeInterpreterCall {
    /// The call as an output item.
    pub fn item(&self, status: ResponseStatus) -> JsonText {
        object! {
            "id": self.id,
            "type": "code_interpreter_call",
            "status": status.word(),
            "code": "print(6 * 7)",
            "container_id": self.container_id,
            "outputs": NULL,
        }
    }
}

impl ResponseStatus {
    pub fn word(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Incomplete => "incomplete",
            Self::Cancelled => "cancelled",
        }
    }
}

pub(super) fn usage_json(usage: TokenCounts) -> JsonText {
    object! {
        "input_tokens": usage.input,
        "input_tokens_details": object! {"cached_tokens": 0_u64, "cache_write_tokens": 0_u64},
        "output_tokens": usage.output,
        "output_tokens_details": object! {"reasoning_tokens": 0_u64},
        "total_tokens": usage.total(),
    }
}
