//! Tests of handles: chat callers that give back calls and no thoughts.

use crate::request::translate_request;
use crate::thinking::{ThinkingSealer, thinking_handles};
use crate::{
    ChannelSettings, FieldOutcome, Ledger, ModelFeatures, ProtocolPair, ResponseContext,
    StreamTranslator, TranslatedRequest, translate_response,
};
use bytes::Bytes;
use headgate_protocol::conversation::ConversationFormat::Chat;
use headgate_protocol::conversation::ProviderFormat::{Messages, Responses};
use headgate_protocol::json::{JsonDocument, JsonLimits};
use headgate_protocol::sse::decode_events;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

const CHAT_TO_MESSAGES: ProtocolPair = ProtocolPair {
    caller: Chat,
    channel: Messages,
};
const CHAT_TO_RESPONSES: ProtocolPair = ProtocolPair {
    caller: Chat,
    channel: Responses,
};

/// Leaves bytes as they are, and keeps them under numbers.
#[derive(Debug, Default)]
struct NumberingSealer {
    kept: Mutex<Vec<String>>,
    /// What a request finds.
    found: Vec<String>,
}

impl NumberingSealer {
    /// A sealer for the next request, which finds all that this one has kept.
    fn next(&self) -> Arc<Self> {
        let found = self.kept.lock().unwrap().clone();
        Arc::new(Self {
            kept: Mutex::default(),
            found,
        })
    }
}

impl ThinkingSealer for NumberingSealer {
    fn seal(&self, content: &[u8]) -> Vec<u8> {
        content.to_vec()
    }

    fn open(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        Some(sealed.to_vec())
    }

    fn keep(&self, seals: String) -> Option<Box<str>> {
        let mut kept = self.kept.lock().unwrap();
        kept.push(seals);
        Some(format!("{:016}", kept.len() - 1).into())
    }

    fn find_kept(&self, handle: &str) -> Option<&str> {
        let number: usize = handle.parse().ok()?;
        self.found.get(number).map(String::as_str)
    }
}

fn respond(pair: ProtocolPair, body: &Value, sealer: &Arc<NumberingSealer>) -> Value {
    let context = ResponseContext {
        model: Bytes::from_static(b"\"m\""),
        sealer: Some(sealer.clone()),
        ..ResponseContext::default()
    };
    let body = Bytes::from(body.to_string());
    let translated = translate_response(pair, &body, &context, &mut Ledger::default());
    serde_json::from_slice(&translated.unwrap()).unwrap()
}

fn request(
    pair: ProtocolPair,
    messages: &Value,
    sealer: Option<Arc<NumberingSealer>>,
) -> (Value, TranslatedRequest) {
    let body = json!({"model": "m", "messages": messages, "reasoning_effort": "high",
        "max_completion_tokens": 4000});
    let document = parsed(&body);
    let channel = ChannelSettings {
        model: Bytes::from_static(b"\"m\""),
        max_output_tokens: 4096,
        has_call_ids: true,
        features: ModelFeatures::default().into(),
        sealer: sealer.map(|sealer| sealer as Arc<dyn ThinkingSealer>),
    };
    let translated = translate_request(pair, &document, &channel);
    let body = serde_json::from_slice(&translated.body).unwrap();
    (body, translated)
}

fn parsed(body: &Value) -> JsonDocument {
    JsonDocument::parse(body.to_string().into(), &JsonLimits::default()).unwrap()
}

/// The message of a chat response as clients give it back that know nothing of thoughts, and a result for each call.
fn next_turn(response: &Value) -> Value {
    let message = &response["choices"][0]["message"];
    let calls = message["tool_calls"].as_array().unwrap();
    let mut messages = vec![
        json!({"role": "user", "content": "Look."}),
        json!({"role": "assistant", "content": message["content"], "tool_calls": calls}),
    ];
    messages.extend(
        calls
            .iter()
            .map(|call| json!({"role": "tool", "tool_call_id": call["id"], "content": "a flower"})),
    );
    Value::Array(messages)
}

fn thinking_message() -> Value {
    json!({"type": "message", "role": "assistant", "content": [
        {"type": "thinking", "thinking": "heliotrope", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "ZGF0YQ=="},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"a": 1}},
        {"type": "tool_use", "id": "toolu_2", "name": "look", "input": {}}],
        "stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 1}})
}

fn entries(translated: &TranslatedRequest) -> Vec<(&str, FieldOutcome)> {
    let entries = translated.ledger.entries().iter();
    entries
        .filter(|entry| entry.path != "reasoning_effort")
        .map(|entry| (&*entry.path, entry.outcome))
        .collect()
}

#[test]
fn thoughts_come_back_by_the_handle_in_the_ids_of_calls() {
    let sealer = Arc::new(NumberingSealer::default());
    let response = respond(CHAT_TO_MESSAGES, &thinking_message(), &sealer);
    let calls = &response["choices"][0]["message"]["tool_calls"];
    assert_eq!(calls[0]["id"], "toolu_1_hg1_0000000000000000");
    assert_eq!(calls[1]["id"], "toolu_2_hg1_0000000000000000");
    let messages = next_turn(&response);
    let handles = thinking_handles(CHAT_TO_MESSAGES, &parsed(&json!({"messages": messages})));
    assert_eq!(handles, ["0000000000000000".into()]);

    let (sent, translated) = request(CHAT_TO_MESSAGES, &messages, Some(sealer.next()));
    assert_eq!(entries(&translated), []);
    assert_eq!(
        sent["messages"][1]["content"],
        thinking_message()["content"]
    );
    let results = sent["messages"][2]["content"].as_array().unwrap();
    let ids: Vec<_> = results.iter().map(|it| &it["tool_use_id"]).collect();
    assert_eq!(ids, ["toolu_1", "toolu_2"]);
}

#[test]
fn thoughts_that_the_caller_gives_back_precede_those_of_the_handle() {
    let sealer = Arc::new(NumberingSealer::default());
    let response = respond(CHAT_TO_MESSAGES, &thinking_message(), &sealer);
    let mut messages = next_turn(&response);
    let message = &response["choices"][0]["message"];
    for member in ["reasoning_content", "reasoning_details"] {
        messages[1][member] = message[member].clone();
    }
    let handles = thinking_handles(CHAT_TO_MESSAGES, &parsed(&json!({"messages": messages})));
    assert!(handles.is_empty());
    for sealer in [sealer.next(), Arc::default()] {
        let (sent, translated) = request(CHAT_TO_MESSAGES, &messages, Some(sealer));
        assert_eq!(entries(&translated), []);
        assert_eq!(sent["messages"][1]["content"].as_array().unwrap().len(), 5);
        assert_eq!(
            sent["messages"][1]["content"][0],
            thinking_message()["content"][0]
        );
    }
}

#[test]
fn a_part_of_the_seals_is_replaced_by_all_that_are_kept_or_left_out() {
    let sealer = Arc::new(NumberingSealer::default());
    let response = respond(CHAT_TO_MESSAGES, &thinking_message(), &sealer);
    let mut messages = next_turn(&response);
    let details = &response["choices"][0]["message"]["reasoning_details"];
    assert_eq!(details.as_array().unwrap().len(), 2);
    // As the stream helper of the SDK of OpenAI for JavaScript leaves them.
    messages[1]["reasoning_content"] = json!("rope");
    messages[1]["reasoning_details"] = json!([details[1]]);
    let handles = thinking_handles(CHAT_TO_MESSAGES, &parsed(&json!({"messages": messages})));
    assert_eq!(handles, ["0000000000000000".into()]);
    let (sent, translated) = request(CHAT_TO_MESSAGES, &messages, Some(sealer.next()));
    assert_eq!(entries(&translated), []);
    assert_eq!(
        sent["messages"][1]["content"],
        thinking_message()["content"]
    );
    let (sent, translated) = request(CHAT_TO_MESSAGES, &messages, Some(Arc::default()));
    let content = sent["messages"][1]["content"].as_array().unwrap();
    let kinds: Vec<_> = content.iter().map(|block| &block["type"]).collect();
    assert_eq!(kinds, ["text", "tool_use", "tool_use"]);
    let noted = entries(&translated);
    let expected = ("messages[1].reasoning_details", FieldOutcome::Dropped);
    assert!(noted.contains(&expected), "{noted:?}");
}

#[test]
fn the_text_of_thoughts_alone_is_replaced_by_what_is_kept() {
    let sealer = Arc::new(NumberingSealer::default());
    let response = respond(CHAT_TO_MESSAGES, &thinking_message(), &sealer);
    let mut messages = next_turn(&response);
    messages[1]["reasoning_content"] = json!("violet");
    let (sent, translated) = request(CHAT_TO_MESSAGES, &messages, Some(sealer.next()));
    assert_eq!(entries(&translated), []);
    assert_eq!(
        sent["messages"][1]["content"],
        thinking_message()["content"]
    );
}

#[test]
fn handles_of_nothing_are_in_the_ledger_and_calls_keep_the_ids_of_the_provider() {
    let sealer = Arc::new(NumberingSealer::default());
    let response = respond(CHAT_TO_MESSAGES, &thinking_message(), &sealer);
    let messages = next_turn(&response);
    for sealer in [Some(Arc::default()), None] {
        let has_sealer = sealer.is_some();
        let (sent, translated) = request(CHAT_TO_MESSAGES, &messages, sealer);
        let mut expected = vec![("messages[1].tool_calls[0].id", FieldOutcome::Dropped)];
        if has_sealer {
            expected.push(("messages[1].reasoning_details", FieldOutcome::Dropped));
        }
        assert_eq!(entries(&translated), expected);
        let content = sent["messages"][1]["content"].as_array().unwrap();
        let kinds: Vec<_> = content.iter().map(|block| &block["type"]).collect();
        assert_eq!(kinds, ["text", "tool_use", "tool_use"]);
        assert_eq!(content[1]["id"], "toolu_1");
        assert_eq!(sent["messages"][2]["content"][0]["tool_use_id"], "toolu_1");
    }
}

#[test]
fn each_call_has_the_thoughts_directly_before_it() {
    let item = |text: &str, sealed: &str| {
        json!({"type": "reasoning", "id": format!("rs_{text}"), "encrypted_content": sealed,
            "summary": [{"type": "summary_text", "text": text}]})
    };
    let call = |id: &str| {
        json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": "look",
            "arguments": "{}", "status": "completed"})
    };
    let output = json!([
        item("a", "c2E="),
        call("call_1"),
        item("b", "c2I="),
        call("call_2")
    ]);
    let body = json!({"id": "resp_1", "object": "response", "status": "completed",
        "output": output, "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}});
    let sealer = Arc::new(NumberingSealer::default());
    let response = respond(CHAT_TO_RESPONSES, &body, &sealer);
    let (sent, translated) = request(
        CHAT_TO_RESPONSES,
        &next_turn(&response),
        Some(sealer.next()),
    );
    assert_eq!(entries(&translated), []);
    let items = sent["input"].as_array().unwrap();
    let shown: Vec<_> = items
        .iter()
        .map(|item| {
            let text = ["encrypted_content", "call_id", "role"];
            text.into_iter()
                .find_map(|name| item[name].as_str())
                .unwrap()
        })
        .collect();
    assert_eq!(
        shown,
        [
            "user", "c2E=", "call_1", "c2I=", "call_2", "call_1", "call_2"
        ]
    );
}

#[test]
fn a_stream_has_handles_too() {
    let events = [
        json!({"type": "message_start", "message": {"id": "msg_1", "usage": {"input_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "heliotrope"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}}),
    ];
    let sealer = Arc::new(NumberingSealer::default());
    let context = ResponseContext {
        model: Bytes::from_static(b"\"m\""),
        sealer: Some(sealer.clone()),
        ..ResponseContext::default()
    };
    let mut translator = StreamTranslator::new(CHAT_TO_MESSAGES, context);
    let mut translated = Vec::new();
    for event in events {
        let name = event["type"].as_str().unwrap();
        let bytes = Bytes::from(format!("event: {name}\ndata: {event}\n\n"));
        for received in &decode_events(&bytes, 1 << 20) {
            translator.translate(received, &mut translated).unwrap();
        }
    }
    let last: Value = serde_json::from_slice(translated.last().unwrap().data()).unwrap();
    assert_eq!(
        last["choices"][0]["delta"]["tool_calls"][0]["id"],
        "toolu_1_hg1_0000000000000000"
    );
    assert_eq!(sealer.kept.lock().unwrap().len(), 1);
}

#[test]
fn thoughts_too_large_to_be_kept_have_a_handle_of_nothing() {
    let mut message = thinking_message();
    message["content"][0]["thinking"] = json!("x".repeat(100 << 10));
    let sealer = Arc::new(NumberingSealer::default());
    respond(CHAT_TO_MESSAGES, &message, &sealer);
    assert_eq!(*sealer.kept.lock().unwrap(), [String::new()]);
}

#[test]
fn turns_without_calls_have_their_absent_thoughts_in_the_ledger() {
    let messages = json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"}]);
    let (_, translated) = request(CHAT_TO_MESSAGES, &messages, Some(Arc::default()));
    let expected = [("messages[1].reasoning_details", FieldOutcome::Dropped)];
    assert_eq!(entries(&translated), expected);
}
