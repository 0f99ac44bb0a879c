//! The messages protocol: whole messages, streams of named events, and token counting.

use super::api_error::ApiError;
use super::endpoint_result::{EventStreamSource, SuccessfulResponse};
use super::event::sse;
use super::json::{JsonText, NULL, OrderedJsonObject, object};
use super::model_output::{ModelOutput, OutputContent, TokenCounts};
use super::model_request::{self, ModelRequest, ToolChoice, ToolDefinition};
use super::request_context::RequestContext;
use super::request_record::ResponseEnd;
use super::stream::EventSender;
use super::text;
use async_trait::async_trait;
use bytes::Bytes;
use serde_json::Value;

/// The model's thinking, if the request enables it.
const THOUGHT: &str = "The user wants an answer. I shall repeat what they said, so that they can \
    see it arrived, and then go on about the water until the answer is long enough.";

/// The signature of the thinking block, with a realistic length.
const SIGNATURE: &str = "EqMBCkYIARgCIkBzaW11bGF0ZWRzaW11bGF0ZWRzaW11bGF0ZWRzaW11bGF0ZWQSDHNpbXVsYXRlZHNpGgxzaW11bGF0ZWQ=";

/// Responds to a request for a message.
pub fn create(body: &Value, call: &RequestContext) -> Result<SuccessfulResponse, ApiError> {
    if body.get("max_tokens").and_then(Value::as_u64).is_none() {
        return Err(model_request::missing("max_tokens"));
    }
    let ask = read(body)?;
    call.resources.check_named(call.account, body)?;
    let reply = ModelOutput::to(&ask, call.sizes, call.options.answer_tokens);
    let thinking = body.pointer("/thinking/type").and_then(Value::as_str);
    let message = SimulatedMessage {
        id: call.ids.next("msg_"),
        tool_use_id: call.ids.next("toolu_"),
        model: model_request::text_at(body, "model").to_owned(),
        container: container(body, call),
        thinks: matches!(thinking, Some("enabled" | "adaptive")),
        usage: (!call.directives.no_usage).then_some(reply.usage),
        reply,
    };
    Ok(if model_request::is_set(body, "stream") {
        SuccessfulResponse::Stream(Box::new(message))
    } else {
        SuccessfulResponse::Whole(message.json())
    })
}

/// The container for code execution, if the request has the tool for it.
fn container(body: &Value, call: &RequestContext) -> Option<String> {
    let mut tools = model_request::list_at(body, "tools").iter();
    tools.find(|tool| model_request::text_at(tool, "type").starts_with("code_execution"))?;
    let given = body.get("container");
    let given = given.and_then(|given| given.get("id").unwrap_or(given).as_str());
    Some(given.map_or_else(
        || call.resources.new_container(call.account, call.ids),
        str::to_owned,
    ))
}

/// Responds to a request to count tokens.
pub fn count_tokens(body: &Value) -> Result<SuccessfulResponse, ApiError> {
    let ask = read(body)?;
    Ok(SuccessfulResponse::Whole(
        object! {"input_tokens": ask.input_tokens},
    ))
}

/// A message to be sent whole or as a stream.
pub struct SimulatedMessage {
    id: String,
    tool_use_id: String,
    model: String,
    container: Option<String>,
    thinks: bool,
    reply: ModelOutput,
    usage: Option<TokenCounts>,
}

#[async_trait]
impl EventStreamSource for SimulatedMessage {
    /// Sends the message as a stream.
    async fn send(&self, stream: &mut EventSender) -> Result<(), ResponseEnd> {
        let start = object! {"type": "message_start", "message": self.opening()};
        stream.event(sse(Some("message_start"), &start)).await?;
        if self.thinks {
            self.play_thought(stream).await?;
        }
        let index = u64::from(self.thinks);
        stream
            .event(block_start(index, &self.empty_block()))
            .await?;
        stream
            .event(sse(Some("ping"), &object! {"type": "ping"}))
            .await?;
        for piece in self.reply.pieces() {
            stream
                .content(piece, |delta| block_delta(index, &self.delta(delta.text)))
                .await?;
        }
        stream.end_of_content().await?;
        stream.event(block_stop(index)).await?;
        stream
            .event(sse(Some("message_delta"), &self.closing()))
            .await?;
        stream
            .event(sse(Some("message_stop"), &object! {"type": "message_stop"}))
            .await
    }
}

impl SimulatedMessage {
    async fn play_thought(&self, stream: &mut EventSender) -> Result<(), ResponseEnd> {
        let block = object! {"type": "thinking", "thinking": "", "signature": ""};
        stream.event(block_start(0, &block)).await?;
        for piece in text::pieces(THOUGHT, None) {
            stream
                .content(piece, |delta| thought_delta(delta.text))
                .await?;
        }
        let signature = object! {"type": "signature_delta", "signature": SIGNATURE};
        stream.event(block_delta(0, &signature)).await?;
        stream.event(block_stop(0)).await
    }

    fn json(&self) -> JsonText {
        let mut content = Vec::with_capacity(2);
        if self.thinks {
            content.push(object! {"type": "thinking", "thinking": THOUGHT, "signature": SIGNATURE});
        }
        content.push(match &self.reply.content {
            OutputContent::Text(text) => object! {"type": "text", "text": text},
            OutputContent::ToolCall { name, arguments } => {
                let input: Value = serde_json::from_str(arguments).unwrap_or_default();
                object! {"type": "tool_use", "id": self.tool_use_id, "name": name, "input": input}
            }
        });
        let container = self.container.as_deref().map(container_json);
        self.message(
            &content,
            Some(self.stop_reason()),
            self.output_tokens(),
            container,
        )
    }

    fn opening(&self) -> JsonText {
        self.message(&[], None, 1, None)
    }

    fn message(
        &self,
        content: &[JsonText],
        stop_reason: Option<&str>,
        output_tokens: u64,
        container: Option<JsonText>,
    ) -> JsonText {
        let mut message = OrderedJsonObject::new();
        message.member("id", &self.id);
        message.member("type", "message");
        message.member("role", "assistant");
        message.member("model", &self.model);
        message.member("content", content);
        message.member("stop_reason", &stop_reason);
        message.member("stop_sequence", &NULL);
        if self.container.is_some() {
            message.member("container", &container);
        }
        if let Some(usage) = self.usage {
            let usage = object! {
                "input_tokens": usage.input,
                "cache_creation_input_tokens": 0_u64,
                "cache_read_input_tokens": 0_u64,
                "cache_creation": object! {
                    "ephemeral_5m_input_tokens": 0_u64, "ephemeral_1h_input_tokens": 0_u64,
                },
                "output_tokens": output_tokens,
                "service_tier": "standard",
            };
            message.member("usage", &usage);
        }
        message.end()
    }

    fn closing(&self) -> JsonText {
        let mut closing = OrderedJsonObject::new();
        closing.member("type", "message_delta");
        let mut delta = OrderedJsonObject::new();
        delta.member("stop_reason", self.stop_reason());
        delta.member("stop_sequence", &NULL);
        if let Some(id) = &self.container {
            delta.member("container", &container_json(id));
        }
        closing.member("delta", &delta.end());
        if let Some(usage) = self.usage {
            let usage = object! {
                "input_tokens": usage.input,
                "cache_creation_input_tokens": 0_u64,
                "cache_read_input_tokens": 0_u64,
                "output_tokens": self.output_tokens(),
            };
            closing.member("usage", &usage);
        }
        closing.end()
    }

    fn empty_block(&self) -> JsonText {
        match &self.reply.content {
            OutputContent::Text(_) => object! {"type": "text", "text": ""},
            OutputContent::ToolCall { name, .. } => object! {
                "type": "tool_use", "id": self.tool_use_id, "name": name, "input": object! {},
            },
        }
    }

    fn delta(&self, piece: &str) -> JsonText {
        match self.reply.content {
            OutputContent::Text(_) => object! {"type": "text_delta", "text": piece},
            OutputContent::ToolCall { .. } => {
                object! {"type": "input_json_delta", "partial_json": piece}
            }
        }
    }

    fn stop_reason(&self) -> &'static str {
        match self.reply.content {
            OutputContent::ToolCall { .. } => "tool_use",
            OutputContent::Text(_) if self.reply.truncated => "max_tokens",
            OutputContent::Text(_) => "end_turn",
        }
    }

    fn output_tokens(&self) -> u64 {
        let thought = if self.thinks {
            text::tokens(THOUGHT.len())
        } else {
            0
        };
        self.reply.usage.output + thought
    }
}

fn container_json(id: &str) -> JsonText {
    object! {"id": id, "expires_at": "2027-01-01T00:00:00Z"}
}

fn block_start(index: u64, block: &JsonText) -> Bytes {
    let data = object! {"type": "content_block_start", "index": index, "content_block": block};
    sse(Some("content_block_start"), &data)
}

fn block_delta(index: u64, delta: &JsonText) -> Bytes {
    let data = object! {"type": "content_block_delta", "index": index, "delta": delta};
    sse(Some("content_block_delta"), &data)
}

fn thought_delta(text: &str) -> Bytes {
    block_delta(0, &object! {"type": "thinking_delta", "thinking": text})
}

fn block_stop(index: u64) -> Bytes {
    let data = object! {"type": "content_block_stop", "index": index};
    sse(Some("content_block_stop"), &data)
}

fn read(body: &Value) -> Result<ModelRequest<'_>, ApiError> {
    model_request::required_text(body, "model")?;
    let messages = model_request::required_list(body, "messages")?;
    let has = |message: &Value, kind| {
        model_request::list_at(message, "content")
            .iter()
            .any(|block| model_request::text_at(block, "type") == kind)
    };
    let is_user_text = |message: &Value| {
        model_request::text_at(message, "role") == "user"
            && !model_request::content_text(message).is_empty()
    };
    let last_user = messages.iter().rposition(is_user_text);
    // A tool result may be in the same message as text.
    let since = last_user.map_or(messages, |index| &messages[index..]);
    let system = body.get("system").map_or(0, model_request::text_bytes);
    let text_bytes = system
        + messages
            .iter()
            .map(model_request::text_bytes)
            .sum::<usize>();
    Ok(ModelRequest {
        last_user_text: last_user.map_or_else(String::new, |index| {
            model_request::content_text(&messages[index])
        }),
        input_tokens: text::tokens(text_bytes) + 3,
        max_tokens: body.get("max_tokens").and_then(Value::as_u64),
        tools: model_request::list_at(body, "tools")
            .iter()
            .filter_map(tool)
            .collect(),
        tool_choice: tool_choice(body),
        tool_result_came: since.iter().any(|message| has(message, "tool_result")),
        shape: model_request::shape(body.pointer("/output_config/format"), "/schema"),
    })
}

fn tool(tool: &Value) -> Option<ToolDefinition<'_>> {
    Some(ToolDefinition {
        name: tool.get("name")?.as_str()?,
        schema: Some(tool.get("input_schema")?),
    })
}

/// The tool choice as an object, or as a string, which some callers send.
fn tool_choice(body: &Value) -> ToolChoice<'_> {
    let choice = body.get("tool_choice").unwrap_or(&Value::Null);
    match choice
        .as_str()
        .unwrap_or_else(|| model_request::text_at(choice, "type"))
    {
        "none" => ToolChoice::Never,
        "any" => ToolChoice::Any,
        "tool" => ToolChoice::ByName(model_request::text_at(choice, "name")),
        _ => ToolChoice::Auto,
    }
}
