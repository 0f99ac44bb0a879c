//! What tests of the protocol share: a client that holds a stream to its rules.

mod from_messages;
mod message_streams;
mod round_trips;
mod thought_details;

use crate::context::ResponseContext;
use crate::ledger::Ledger;
use crate::responses::tests::context;
use crate::{ProtocolPair, StreamTranslator, UnreadableResponse, translate_response};
use headgate_protocol::conversation::{ConversationFormat, ProviderFormat};
use headgate_protocol::sse::SseEvent;
use serde_json::{Map, Value, json};

const FROM_MESSAGES: ProtocolPair = ProtocolPair {
    caller: ConversationFormat::Chat,
    channel: ProviderFormat::Messages,
};

/// A client that panics where an event contradicts the protocol or an earlier event.
#[derive(Debug, Default)]
struct ChatStreamClient {
    message: Map<String, Value>,
    finish: Option<Value>,
    usage: Option<Value>,
    error: Option<Value>,
    is_done: bool,
}

impl ChatStreamClient {
    fn from_events(events: &[SseEvent], context: &ResponseContext) -> Self {
        let mut client = Self::default();
        for event in events {
            client.take(event, context);
        }
        client
    }

    /// The same as a whole response.
    fn whole(mut self) -> Value {
        assert_eq!(self.error, None);
        assert!(self.is_done, "the stream has no end");
        for member in ["content", "refusal"] {
            let text = self.message.entry(member).or_insert(Value::Null);
            if *text == json!("") {
                *text = Value::Null;
            }
        }
        let calls = self.message.get_mut("tool_calls");
        for call in calls.and_then(Value::as_array_mut).into_iter().flatten() {
            call.as_object_mut().unwrap().remove("index");
        }
        let choice = json!({"index": 0, "message": self.message, "logprobs": null,
            "finish_reason": self.finish});
        let mut whole = json!({"id": "chatcmpl-0a1b", "object": "chat.completion",
            "created": 1_700_000_000, "model": "m", "choices": [choice]});
        if let Some(usage) = self.usage {
            whole["usage"] = usage;
        }
        whole
    }

    fn take(&mut self, event: &SseEvent, context: &ResponseContext) {
        assert_eq!(event.name(), None);
        assert!(!self.is_done && self.error.is_none(), "an event at the end");
        if event.data() == b"[DONE]" {
            assert!(self.finish.is_some());
            self.is_done = true;
            return;
        }
        let data: Value = serde_json::from_slice(event.data()).unwrap();
        if let Some(error) = data.get("error") {
            self.error = Some(error.clone());
            return;
        }
        assert_eq!(data["id"], "chatcmpl-0a1b");
        assert_eq!(data["object"], "chat.completion.chunk");
        assert_eq!(data["created"], 1_700_000_000);
        assert_eq!(data["model"], "m");
        assert_eq!(data.get("usage").is_some(), context.includes_usage);
        let Some(choice) = data["choices"].get(0) else {
            assert!(self.finish.is_some() && data["usage"].is_object());
            self.usage = Some(data["usage"].clone());
            return;
        };
        assert!(data["usage"].is_null() && self.finish.is_none());
        if !choice["finish_reason"].is_null() {
            self.finish = Some(choice["finish_reason"].clone());
        }
        let delta = choice["delta"].as_object().unwrap();
        assert_eq!(self.message.is_empty(), delta.contains_key("role"));
        for (member, value) in delta {
            match member.as_str() {
                "tool_calls" => value
                    .as_array()
                    .unwrap()
                    .iter()
                    .for_each(|it| self.call(it)),
                "reasoning_details" => {
                    let details = self.message.entry(member).or_insert(json!([]));
                    let details = details.as_array_mut().unwrap();
                    details.extend(value.as_array().unwrap().iter().cloned());
                }
                _ => append(self.message.entry(member).or_insert(json!("")), value),
            }
        }
    }

    fn call(&mut self, delta: &Value) {
        let calls = self.message.entry("tool_calls").or_insert(json!([]));
        let calls = calls.as_array_mut().unwrap();
        let index = delta["index"].as_u64().unwrap() as usize;
        if index == calls.len() {
            assert!(delta["id"].is_string());
            calls.push(delta.clone());
            return;
        }
        assert!(delta.get("id").is_none());
        let call = &mut calls[index];
        let kind = call["type"].as_str().unwrap().to_owned();
        let text = if kind == "custom" {
            "input"
        } else {
            "arguments"
        };
        append(&mut call[&kind][text], &delta[&kind][text]);
    }
}

fn append(text: &mut Value, more: &Value) {
    *text = format!("{}{}", text.as_str().unwrap(), more.as_str().unwrap()).into();
}

/// The events for those of a provider, up to one that cannot be read.
fn translated_events(
    context: &ResponseContext,
    events: &[Value],
) -> (Vec<SseEvent>, Result<(), UnreadableResponse>) {
    let mut translator = StreamTranslator::new(FROM_MESSAGES, context.clone());
    let mut translated = Vec::new();
    for event in events {
        let event = SseEvent::encoded(event["type"].as_str(), event.to_string().as_bytes());
        if let Err(error) = translator.translate(&event, &mut translated) {
            return (translated, Err(error));
        }
    }
    (translated, Ok(()))
}

/// What a caller has of a stream of messages.
fn translated(events: &[Value]) -> ChatStreamClient {
    let (events, read) = translated_events(&context(), events);
    read.unwrap();
    ChatStreamClient::from_events(&events, &context())
}

fn translated_whole(response: &Value) -> Result<Value, String> {
    translated_text(&response.to_string())
}

fn translated_text(response: &str) -> Result<Value, String> {
    let body = response.as_bytes().to_vec().into();
    let mut ledger = Ledger::default();
    let whole = translate_response(FROM_MESSAGES, &body, &context(), &mut ledger);
    let whole = whole.map_err(|error| error.reason)?;
    Ok(serde_json::from_slice(&whole).unwrap())
}

fn message_start(usage: &Value) -> Value {
    json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "model": "x",
        "role": "assistant", "content": [], "stop_reason": null, "usage": usage}})
}

fn block_start(index: u64, block: &Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, delta: &Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn text_delta(index: u64, text: &str) -> Value {
    delta(index, &json!({"type": "text_delta", "text": text}))
}

fn block_stop(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn ending(stop_reason: &str, usage: &Value) -> [Value; 2] {
    [
        json!({"type": "message_delta", "usage": usage,
            "delta": {"stop_reason": stop_reason, "stop_sequence": null}}),
        json!({"type": "message_stop"}),
    ]
}
