//! The chat protocol: completions whole or as a stream of chunks.

use super::ask::{self, Ask, Tool};
use super::call::Call;
use super::clock;
use super::event::sse;
use super::json::{Json, NULL, Object, object};
use super::outcome::{Outcome, Script};
use super::record::Ending;
use super::refusal::Refusal;
use super::reply::{Content, Reply, Usage};
use super::stream::EventStream;
use async_trait::async_trait;
use bytes::Bytes;
use serde_json::Value;

/// The most choices a request may ask for.
const MAX_CHOICES: u64 = 128;

/// Padding that, as with the real provider, hides the length of each delta.
const PADDING: &str = "aK3vTq9ZbXw0LmRc";

/// Answers a completion request.
pub fn complete(body: &Value, call: &Call) -> Result<Outcome, Refusal> {
    let ask = read(body)?;
    let choices = body.get("n").and_then(Value::as_u64).unwrap_or(1);
    if !(1..=MAX_CHOICES).contains(&choices) {
        return Err(Refusal::invalid("'n' must be 1 to 128.")
            .param("n")
            .code("invalid_value"));
    }
    let reply = Reply::to(&ask, call.sizes, call.options.answer_tokens);
    let stream_options = body.get("stream_options").unwrap_or(&Value::Null);
    let completion = Completion {
        id: call.ids.next("chatcmpl-"),
        tool_call_id: call.ids.next("call_"),
        created: clock::unix_seconds(),
        model: ask::text_at(body, "model").to_owned(),
        choices,
        usage: (!call.directives.no_usage).then_some(reply.usage),
        reply,
        include_usage: ask::is_set(stream_options, "include_usage"),
        obfuscate: stream_options.get("include_obfuscation") != Some(&Value::Bool(false)),
    };
    Ok(if ask::is_set(body, "stream") {
        Outcome::Stream(Box::new(completion))
    } else {
        Outcome::Whole(completion.json())
    })
}

/// A completion, ready to be sent.
pub struct Completion {
    id: String,
    tool_call_id: String,
    created: u64,
    model: String,
    choices: u64,
    reply: Reply,
    usage: Option<Usage>,
    include_usage: bool,
    obfuscate: bool,
}

#[async_trait]
impl Script for Completion {
    /// Sends the completion as a stream.
    async fn play(&self, stream: &mut EventStream) -> Result<(), Ending> {
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

impl Completion {
    fn json(&self) -> Json {
        let choices: Vec<_> = (0..self.choices).map(|index| self.choice(index)).collect();
        let mut json = self.head("chat.completion");
        json.member("choices", &choices);
        if let Some(usage) = self.usage {
            json.member("usage", &self.usage_json(usage));
        }
        json.end()
    }

    fn choice(&self, index: u64) -> Json {
        let message = match &self.reply.content {
            Content::Text(text) => object! {
                "role": "assistant", "content": text, "refusal": NULL, "annotations": [NULL; 0],
            },
            Content::ToolCall { name, arguments } => object! {
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

    fn opening(&self) -> Json {
        match &self.reply.content {
            Content::Text(_) => object! {"role": "assistant", "content": "", "refusal": NULL},
            Content::ToolCall { name, .. } => object! {
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
            Content::Text(_) => object! {"content": text},
            Content::ToolCall { .. } => object! {
                "tool_calls": [object! {"index": 0_u64, "function": object! {"arguments": text}}],
            },
        };
        self.chunk(index, &delta, None, text)
    }

    fn chunk(&self, index: u64, delta: &Json, finish_reason: Option<&str>, text: &str) -> Bytes {
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

    fn chunk_head(&self) -> Object {
        self.head("chat.completion.chunk")
    }

    fn head(&self, object: &str) -> Object {
        let mut json = Object::new();
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
            Content::ToolCall { .. } => "tool_calls",
            Content::Text(_) if self.reply.truncated => "length",
            Content::Text(_) => "stop",
        }
    }

    fn usage_json(&self, usage: Usage) -> Json {
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

fn read(body: &Value) -> Result<Ask<'_>, Refusal> {
    ask::required_text(body, "model")?;
    let messages = ask::required_list(body, "messages")?;
    let last_user = messages
        .iter()
        .rposition(|message| ask::text_at(message, "role") == "user");
    let since = last_user.map_or(messages, |index| &messages[index + 1..]);
    let is_result = |message: &Value| matches!(ask::text_at(message, "role"), "tool" | "function");
    let limit = |key| body.get(key).and_then(Value::as_u64);
    let text_bytes = messages.iter().map(ask::text_bytes).sum::<usize>();
    Ok(Ask {
        last_user_text: last_user
            .map_or_else(String::new, |index| ask::content_text(&messages[index])),
        input_tokens: super::text::tokens(text_bytes) + 3,
        max_tokens: limit("max_completion_tokens").or_else(|| limit("max_tokens")),
        tools: ask::list_at(body, "tools")
            .iter()
            .filter_map(tool)
            .collect(),
        tool_choice: ask::openai_tool_choice(body, "/function/name"),
        tool_result_came: since.iter().any(is_result),
        shape: ask::shape(body.get("response_format"), "/json_schema/schema"),
    })
}

fn tool(tool: &Value) -> Option<Tool<'_>> {
    let function = tool.get("function")?;
    Some(Tool {
        name: function.get("name")?.as_str()?,
        schema: function.get("parameters"),
    })
}
