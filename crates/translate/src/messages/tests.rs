//! What tests of the protocol share: a client that holds a stream to its rules.

mod attacks;
mod calls_from_chat;
mod from_chat;
mod round_trips;

use crate::ledger::Ledger;
use crate::responses::tests::context;
use crate::{ProtocolPair, StreamTranslator, UnreadableResponse, translate_response};
use headgate_protocol::conversation::{ConversationFormat, ProviderFormat};
use headgate_protocol::sse::SseEvent;
use serde_json::{Value, json};

const FROM_CHAT: ProtocolPair = ProtocolPair {
    caller: ConversationFormat::Messages,
    channel: ProviderFormat::Chat,
};

/// A client that panics where an event contradicts the protocol or an earlier event.
#[derive(Debug, Default)]
struct MessagesStreamClient {
    message: Value,
    error: Option<Value>,
    open: Option<usize>,
    /// The arguments of the open call.
    json: String,
    has_stopped: bool,
}

impl MessagesStreamClient {
    fn from_events(events: &[SseEvent]) -> Self {
        let mut client = Self::default();
        events.iter().for_each(|event| client.take(event));
        client
    }

    /// The message, without what differs between responses with the same content.
    fn whole(self) -> Value {
        assert_eq!(self.error, None);
        assert!(self.has_stopped, "the stream has no end");
        self.message
    }

    fn take(&mut self, event: &SseEvent) {
        let data: Value = serde_json::from_slice(event.data()).unwrap();
        let name = data["type"].as_str().unwrap();
        assert_eq!(event.name(), Some(name.as_bytes()));
        assert!(
            !self.has_stopped && self.error.is_none(),
            "{name} at the end"
        );
        assert!(self.message.is_null() == (name == "message_start") || name == "error");
        match name {
            "message_start" => self.message = data["message"].clone(),
            "content_block_start" => {
                assert_eq!(self.open, None);
                let content = self.message["content"].as_array_mut().unwrap();
                assert_eq!(data["index"], content.len());
                self.open = Some(content.len());
                content.push(data["content_block"].clone());
            }
            "content_block_delta" => self.add(&data),
            "content_block_stop" => {
                let open = self.open.take().unwrap();
                assert_eq!(data["index"], open);
                if !self.json.is_empty() {
                    let json = std::mem::take(&mut self.json);
                    let input = serde_json::from_str(&json).unwrap_or(Value::Null);
                    self.message["content"][open]["input"] = input;
                }
            }
            "message_delta" => {
                assert_eq!(self.open, None);
                for member in ["stop_reason", "stop_sequence"] {
                    self.message[member] = data["delta"][member].clone();
                }
                self.message["usage"] = data["usage"].clone();
            }
            "message_stop" => {
                assert!(self.message["stop_reason"].is_string());
                self.has_stopped = true;
            }
            "error" => self.error = Some(data["error"].clone()),
            other => panic!("{other} is unknown"),
        }
    }

    fn add(&mut self, data: &Value) {
        let open = self.open.unwrap();
        assert_eq!(data["index"], open);
        let block = &mut self.message["content"][open];
        let delta = &data["delta"];
        let kind = delta["type"].as_str().unwrap();
        let (of, member, from) = match kind {
            "text_delta" => ("text", "text", "text"),
            "thinking_delta" => ("thinking", "thinking", "thinking"),
            "signature_delta" => ("thinking", "signature", "signature"),
            "input_json_delta" => ("tool_use", "", "partial_json"),
            other => panic!("{other} is unknown"),
        };
        assert_eq!(block["type"], of);
        let more = delta[from].as_str().unwrap();
        match member {
            "" => self.json.push_str(more),
            _ => block[member] = format!("{}{more}", block[member].as_str().unwrap()).into(),
        }
    }
}

/// The events for those of a provider, up to one that cannot be read.
fn translated_events(
    pair: ProtocolPair,
    events: &[String],
) -> (Vec<SseEvent>, Result<(), UnreadableResponse>) {
    let mut translator = StreamTranslator::new(pair, context());
    let mut translated = Vec::new();
    for event in events {
        let event = SseEvent::encoded(None, event.as_bytes());
        if let Err(error) = translator.translate(&event, &mut translated) {
            return (translated, Err(error));
        }
    }
    (translated, Ok(()))
}

/// What a caller has of a chat stream.
fn translated(events: &[String]) -> MessagesStreamClient {
    let (events, read) = translated_events(FROM_CHAT, events);
    read.unwrap();
    MessagesStreamClient::from_events(&events)
}

fn translated_whole(response: &Value) -> Result<Value, String> {
    let body = response.to_string().into_bytes().into();
    let mut ledger = Ledger::default();
    let whole = translate_response(FROM_CHAT, &body, &context(), &mut ledger);
    let whole = whole.map_err(|error| error.reason)?;
    Ok(serde_json::from_slice(&whole).unwrap())
}

/// A chunk of a chat stream.
fn chunk(delta: &Value) -> String {
    json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "x",
        "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
    .to_string()
}

/// The end of a chat stream.
fn ending(finish: &str) -> [String; 2] {
    let finish = json!({"id": "chatcmpl-1", "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]});
    [finish.to_string(), "[DONE]".into()]
}
