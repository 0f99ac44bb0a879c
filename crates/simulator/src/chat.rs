//! The chat protocol: whole completions, and streams of chunks.

use super::api_error::ApiError;
use super::clock;
use super::endpoint_result::{EventStreamSource, SuccessfulResponse};
use super::event::sse;
use super::json::{JsonText, NULL, OrderedJsonObject, object};
use super::model_output::{ModelOutput, OutputContent, TokenCounts};
use super::model_request::{self, ModelRequest, ToolDefinition};
use super::request_context::RequestContext;
use super::request_record::ResponseEnd;
use super::stream::EventSender;
use async_trait::async_trait;
use bytes::Bytes;
use serde_json::Value;

/// The maximum number of choices.
const MAX_CHOICES: u64 = 128;

/// Padding that hides the length of each delta, as the real provider sends it.
const PADDING: &str = "aK3vTq9ZbXw0LmRc";

/// Responds to a completion request.
pub fn complete(body: &Value, call: &RequestContext) -> Result<SuccessfulResponse, ApiError> {
    let ask = read(body)?;
    let choices = body.get("n").and_then(Value::as_u64).unwrap_or(1);
    if !(1..=MAX_CHOICES).contains(&choices) {
        return Err(ApiError::invalid("'n' must be 1 to 128.")
            .param("n")
            .code("invalid_value"));
    }
    let reply = ModelOutput::to(&ask, call.sizes, call.options.answer_tokens);
    let stream_options = body.get("stream_options").unwrap_or(&Value::Null);
    let completion = ChatCompletion {
        id: call.ids.next("chatcmpl-"),
        tool_call_id: call.ids.next("call_"),
        created: clock::unix_seconds(),
        model: model_request::text_at(body, "model").to_owned(),
        choices,
        usage: (!call.directives.no_usage).then_some(reply.usage),
        reply,
        include_usage: model_request::is_set(stream_options, "include_usage"),
        obfuscate: stream_options.get("include_obfuscation") != Some(&Value::Bool(false)),
    };
    if model_request::is_set(body, "store") {
        let json = completion.json();
        call.resources
            .put_chat_completion(call.account, &completion.id, json, body);
    }
    Ok(if model_request::is_set(body, "stream") {
        SuccessfulResponse::Stream(Box::new(completion))
    } else {
        SuccessfulResponse::Whole(completion.json())
    })
}

/// A completion to be sent whole or as a stream.
pub struct ChatCompletion {
    id: String,
    tool_call_id: String,
    created: u64,
    model: String,
    choices: u64,
    reply: ModelOutput,
    usage: Option<TokenCounts>,
    include_usage: bool,
    obfuscate: bool,
}

#[async_trait]
impl EventStreamSource for ChatCompletion {
    /// Sends the completion as a stream.
    async fn send(&self, stream: &mut EventSender) -> Result<(), ResponseEnd> {
        for index in 0..self.choices {
            stream
                .event(self.chunk(index, &self.opening(), None, ""))
                .await?;
        }
        for piece in self.reply.pieces() {
            for index in 0..self.choices {
                stream
                    .content(piece, |delta| self.delta(index, delta.text))
                    .await?;
            }
        }
        stream.end_of_content().await?;
        for index in 0..self.choices {
            let reason = Some(self.finish_reason());
            stream
                .event(self.chunk(index, &object! {}, reason, ""))
                .await?;
        }
        if let Some(usage) = self.usage.filter(|_| self.include_usage) {
            let mut chunk = self.chunk_head();
            chunk.member("choices", &[NULL; 0]);
            chunk.member("usage", &self.usage_json(usage));
            stream.event(sse(None, &chunk.end())).await?;
        }
        stream.event(Bytes::from_static(b"data: [DONE]\n\n")).await
    }
}

impl ChatCompletion {
    fn json(&self) -> JsonText {
        let choices: Vec<_> = (0..self.choices).map(|index| self.choice(index)).collect();
        let mut json = self.head("chat.completion");
        json.member("choices", &choices);
        if let Some(usage) = self.usage {
            json.member("usage", &self.usage_json(usage));
        }
        json.end()
    }

    fn choice(&self, index: u64) -> JsonText {
        let message = match &self.reply.content {
            OutputContent::Text(text) => object! {
                "role": "assistant", "content": text, "refusal": NULL, "annotations": [NULL; 0],
            },
            OutputContent::ToolCall { name, arguments } => object! {
                "role": "assistant",
                "content": NULL,
                "tool_calls": [object! {
                    "id": self.tool_call_id,
                    "type": "function",
                    "function": object! {"name": name, "arguments": arguments},
                }],
                "refusal": NULL,
                "annotations": [NULL; 0],
            },
        };
        object! {
            "index": index, "message": message, "logprobs": NULL, "finish_reason": self.finish_reason(),
        }
    }

    fn opening(&self) -> JsonText {
        match &self.reply.content {
            OutputContent::Text(_) => object! {"role": "assistant", "content": "", "refusal": NULL},
            OutputContent::ToolCall { name, .. } => object! {
                "role": "assistant",
                "content": NULL,
                "tool_calls": [object! {
                    "index": 0_u64,
                    "id": self.tool_call_id,
                    "type": "function",
                    "function": object! {"name": name, "arguments": ""},
                }],
                "refusal": NULL,
            },
        }
    }

    fn delta(&self, index: u64, text: &str) -> Bytes {
        let delta = match &self.reply.content {
            OutputContent::Text(_) => object! {"content": text},
            OutputContent::ToolCall { .. } => object! {
                "tool_calls": [object! {"index": 0_u64, "function": object! {"arguments": text}}],
            },
        };
        self.chunk(index, &delta, None, text)
    }

    fn chunk(
        &self,
        index: u64,
        delta: &JsonText,
        finish_reason: Option<&str>,
        text: &str,
    ) -> Bytes {
        let mut chunk = self.chunk_head();
        let choice = object! {
            "index": index, "delta": delta, "logprobs": NULL, "finish_reason": finish_reason,
        };
        chunk.member("choices", &[choice]);
        if self.include_usage && self.usage.is_some() {
            chunk.member("usage", &NULL);
        }
        if self.obfuscate {
            chunk.member("obfuscation", &PADDING[text.len() % PADDING.len()..]);
        }
        sse(None, &chunk.end())
    }

    fn chunk_head(&self) -> OrderedJsonObject {
        self.head("chat.completion.chunk")
    }

    fn head(&self, object: &str) -> OrderedJsonObject {
        let mut json = OrderedJsonObject::new();
        json.member("id", &self.id);
        json.member("object", object);
        json.member("created", &self.created);
        json.member("model", &self.model);
        json.member("service_tier", "default");
        json.member("system_fingerprint", "fp_simulated");
        json
    }

    fn finish_reason(&self) -> &'static str {
        match self.reply.content {
            OutputContent::ToolCall { .. } => "tool_calls",
            OutputContent::Text(_) if self.reply.truncated => "length",
            OutputContent::Text(_) => "stop",
        }
    }

    fn usage_json(&self, usage: TokenCounts) -> JsonText {
        let output = usage.output * self.choices;
        object! {
            "prompt_tokens": usage.input,
            "completion_tokens": output,
            "total_tokens": usage.input + output,
            "prompt_tokens_details": object! {"cached_tokens": 0_u64, "audio_tokens": 0_u64},
            "completion_tokens_details": object! {
                "reasoning_tokens": 0_u64,
                "audio_tokens": 0_u64,
                "accepted_prediction_tokens": 0_u64,
                "rejected_prediction_tokens": 0_u64,
            },
        }
    }
}

fn read(body: &Value) -> Result<ModelRequest<'_>, ApiError> {
    model_request::required_text(body, "model")?;
    let messages = model_request::required_list(body, "messages")?;
    let last_user = messages
        .iter()
        .rposition(|message| model_request::text_at(message, "role") == "user");
    let since = last_user.map_or(messages, |index| &messages[index + 1..]);
    let is_result =
        |message: &Value| matches!(model_request::text_at(message, "role"), "tool" | "function");
    let limit = |key| body.get(key).and_then(Value::as_u64);
    let text_bytes = messages
        .iter()
        .map(model_request::text_bytes)
        .sum::<usize>();
    Ok(ModelRequest {
        last_user_text: last_user.map_or_else(String::new, |index| {
            model_request::content_text(&messages[index])
        }),
        input_tokens: super::text::tokens(text_bytes) + 3,
        max_tokens: limit("max_completion_tokens").or_else(|| limit("max_tokens")),
        tools: model_request::list_at(body, "tools")
            .iter()
            .filter_map(tool)
            .collect(),
        tool_choice: model_request::openai_tool_choice(body, "/function/name"),
        tool_result_came: since.iter().any(is_result),
        shape: model_request::shape(body.get("response_format"), "/json_schema/schema"),
    })
}

fn tool(tool: &Value) -> Option<ToolDefinition<'_>> {
    let function = tool.get("function")?;
    Some(ToolDefinition {
        name: function.get("name")?.as_str()?,
        schema: function.get("parameters"),
    })
}
