//! A response: whole, or as chunks of a stream.

use super::conversation::{TEXT_PROOF, call_proof};
use crate::conversation_step::{ConversationStep, StepCall, StepContent, StepUsage};
use crate::endpoint_result::EventStreamSource;
use crate::event::sse;
use crate::json::{JsonText, OrderedJsonObject, object};
use crate::request_record::ResponseEnd;
use crate::stream::EventSender;
use crate::thought_signature::signature;
use async_trait::async_trait;
use bytes::Bytes;
use serde_json::{Value, json};

/// A response to be sent whole or as a stream.
pub struct GeneratedContent {
    pub response_id: String,
    pub model: String,
    pub step: ConversationStep,
    pub has_usage: bool,
    pub has_call_ids: bool,
}

#[async_trait]
impl EventStreamSource for GeneratedContent {
    /// Sends the response as a stream: calls come whole, and the end has the signature of a text.
    async fn send(&self, stream: &mut EventSender) -> Result<(), ResponseEnd> {
        for piece in self.step.thought_pieces() {
            let chunk = |text: &str| self.chunk(json!({"text": text, "thought": true}), None);
            stream.content(piece, |delta| chunk(delta.text)).await?;
        }
        let last = match &self.step.content {
            StepContent::Text(text) => {
                for piece in self.step.pieces(text) {
                    let chunk = |text: &str| self.chunk(json!({"text": text}), None);
                    stream.content(piece, |delta| chunk(delta.text)).await?;
                }
                json!({"text": "", "thoughtSignature": signature(TEXT_PROOF)})
            }
            StepContent::Calls(calls) => {
                for (number, call) in calls.iter().enumerate() {
                    let part = self.call_part(number, call);
                    stream.content("", |_| self.chunk(part, None)).await?;
                }
                json!({"text": ""})
            }
        };
        stream.end_of_content().await?;
        stream
            .event(self.chunk(last, Some(self.finish_reason())))
            .await
    }
}

impl GeneratedContent {
    pub fn json(&self) -> JsonText {
        let thoughts = self.step.thoughts;
        let mut parts: Vec<Value> = Vec::new();
        parts.extend(thoughts.map(|text| json!({"text": text, "thought": true})));
        match &self.step.content {
            StepContent::Text(text) => {
                parts.push(json!({"text": text, "thoughtSignature": signature(TEXT_PROOF)}));
            }
            StepContent::Calls(calls) => {
                let calls = calls.iter().enumerate();
                parts.extend(calls.map(|(number, call)| self.call_part(number, call)));
            }
        }
        self.response(&parts, Some(self.finish_reason()))
    }

    fn chunk(&self, part: Value, finish_reason: Option<&str>) -> Bytes {
        sse(None, &self.response(&[part], finish_reason))
    }

    fn response(&self, parts: &[Value], finish_reason: Option<&str>) -> JsonText {
        let mut candidate = OrderedJsonObject::new();
        candidate.member("content", &object! {"parts": parts, "role": "model"});
        if let Some(reason) = finish_reason {
            candidate.member("finishReason", reason);
        }
        candidate.member("index", &0_u64);
        let mut response = OrderedJsonObject::new();
        response.member("candidates", &[candidate.end()]);
        if self.has_usage {
            response.member("usageMetadata", &self.usage(finish_reason.is_some()));
        }
        response.member("modelVersion", &self.model);
        response.member("responseId", &self.response_id);
        response.end()
    }

    /// The counts, which grow in a stream: those of the output come at its end.
    fn usage(&self, is_end: bool) -> Value {
        let StepUsage {
            input,
            output,
            thoughts,
        } = self.step.usage;
        let details = json!([{"modality": "TEXT", "tokenCount": input}]);
        let mut usage = json!({"promptTokenCount": input, "totalTokenCount": input, "promptTokensDetails": details});
        if is_end {
            usage["candidatesTokenCount"] = json!(output);
            usage["totalTokenCount"] = json!(input + output + thoughts);
            if thoughts > 0 {
                usage["thoughtsTokenCount"] = json!(thoughts);
            }
        }
        usage
    }

    /// A call. The first one of a step has the signature, also where no thoughts are shown.
    fn call_part(&self, number: usize, call: &StepCall) -> Value {
        let mut function = json!({"name": call.name, "args": call.arguments});
        if self.has_call_ids {
            function["id"] = json!(call.id);
        }
        let mut part = json!({"functionCall": function});
        if number == 0 {
            part["thoughtSignature"] = json!(signature(&call_proof(&part["functionCall"])));
        }
        part
    }

    fn finish_reason(&self) -> &'static str {
        if self.step.is_truncated {
            "MAX_TOKENS"
        } else {
            "STOP"
        }
    }
}
