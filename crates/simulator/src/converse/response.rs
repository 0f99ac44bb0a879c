//! A response: whole, or as frames of a stream.

use crate::conversation_step::{ConversationStep, StepContent};
use crate::endpoint_result::EventStreamSource;
use crate::json::{JsonText, OrderedJsonObject, object};
use crate::request_record::ResponseEnd;
use crate::stream::EventSender;
use crate::thought_signature::signature;
use async_trait::async_trait;
use bytes::Bytes;
use headgate_event_stream::encode_frame;
use serde_json::{Value, json};

/// Padding that hides the length of an event, as the service sends it.
const PADDING: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJ";

/// A response to be sent whole or as a stream.
pub struct ConverseResponse {
    pub step: ConversationStep,
    pub has_usage: bool,
}

#[async_trait]
impl EventStreamSource for ConverseResponse {
    /// Sends the response as a stream.
    async fn send(&self, stream: &mut EventSender) -> Result<(), ResponseEnd> {
        stream
            .event(event("messageStart", json!({"role": "assistant"})))
            .await?;
        let mut index = 0;
        if let Some(thoughts) = self.step.thoughts {
            for piece in self.step.thought_pieces() {
                stream
                    .content(piece, |piece| thought_delta(json!({"text": piece.text})))
                    .await?;
            }
            let proof = json!({"signature": signature(thoughts)});
            stream.event(thought_delta(proof)).await?;
            stream.event(block_stop(0)).await?;
            index = 1;
        }
        match &self.step.content {
            StepContent::Text(text) => {
                for piece in self.step.pieces(text) {
                    let delta = |text: &str| block_delta(index, json!({"text": text}));
                    stream.content(piece, |piece| delta(piece.text)).await?;
                }
                stream.end_of_content().await?;
                stream.event(block_stop(index)).await?;
            }
            StepContent::Calls(calls) => {
                for (call, index) in calls.iter().zip(index..) {
                    let start = json!({"toolUse": {"toolUseId": call.id, "name": call.name}});
                    let start = json!({"contentBlockIndex": index, "start": start});
                    stream.event(event("contentBlockStart", start)).await?;
                    for piece in self.step.argument_pieces(&call.arguments.to_string()) {
                        let delta =
                            |text: &str| block_delta(index, json!({"toolUse": {"input": text}}));
                        stream.content(piece, |piece| delta(piece.text)).await?;
                    }
                    stream.event(block_stop(index)).await?;
                }
                stream.end_of_content().await?;
            }
        }
        let stop = json!({"stopReason": self.stop_reason()});
        stream.event(event("messageStop", stop)).await?;
        let mut metadata = json!({"metrics": {"latencyMs": 1}});
        if self.has_usage {
            metadata["usage"] = self.usage();
        }
        stream.event(event("metadata", metadata)).await
    }
}

impl ConverseResponse {
    pub fn json(&self) -> JsonText {
        let mut content = Vec::new();
        if let Some(thoughts) = self.step.thoughts {
            let thoughts = json!({"text": thoughts, "signature": signature(thoughts)});
            content.push(json!({"reasoningContent": {"reasoningText": thoughts}}));
        }
        match &self.step.content {
            StepContent::Text(text) => content.push(json!({"text": text})),
            StepContent::Calls(calls) => content.extend(calls.iter().map(|call| {
                json!({"toolUse": {"toolUseId": call.id, "name": call.name, "input": call.arguments}})
            })),
        }
        let mut response = OrderedJsonObject::new();
        response.member("metrics", &object! {"latencyMs": 1_u64});
        let message = json!({"content": content, "role": "assistant"});
        response.member("output", &object! {"message": message});
        response.member("stopReason", self.stop_reason());
        if self.has_usage {
            response.member("usage", &self.usage());
        }
        response.end()
    }

    fn usage(&self) -> Value {
        let usage = self.step.usage;
        let output = usage.output + usage.thoughts;
        json!({
            "inputTokens": usage.input, "outputTokens": output, "totalTokens": usage.input + output,
            "cacheReadInputTokens": 0, "cacheWriteInputTokens": 0,
        })
    }

    fn stop_reason(&self) -> &'static str {
        match self.step.content {
            StepContent::Calls(_) => "tool_use",
            StepContent::Text(_) if self.step.is_truncated => "max_tokens",
            StepContent::Text(_) => "end_turn",
        }
    }
}

fn thought_delta(delta: Value) -> Bytes {
    block_delta(0, json!({"reasoningContent": delta}))
}

fn block_delta(index: u64, delta: Value) -> Bytes {
    event(
        "contentBlockDelta",
        json!({"contentBlockIndex": index, "delta": delta}),
    )
}

fn block_stop(index: u64) -> Bytes {
    event("contentBlockStop", json!({"contentBlockIndex": index}))
}

/// A frame with an event.
fn event(name: &str, mut payload: Value) -> Bytes {
    payload["p"] = json!(&PADDING[..name.len()]);
    let headers = [
        (":event-type", name),
        (":content-type", "application/json"),
        (":message-type", "event"),
    ];
    encode_frame(&headers, payload.to_string().as_bytes())
}
