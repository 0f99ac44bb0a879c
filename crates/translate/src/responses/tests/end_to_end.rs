//! Streams and responses of other protocols for callers of this one.

use super::{Mixing, Random, ResponsesStreamClient, context, streamed, written};
use crate::ledger::Ledger;
use crate::{ProtocolPair, StreamTranslator, translate_response};
use headgate_protocol::conversation::{ConversationFormat, ProviderFormat};
use headgate_protocol::sse::SseEvent;
use serde_json::{Value, json};

const CHAT: ProtocolPair = ProtocolPair {
    caller: ConversationFormat::Responses,
    channel: ProviderFormat::Chat,
};

/// What the caller has of a provider's events.
fn translated(pair: ProtocolPair, events: &[&str]) -> ResponsesStreamClient {
    let mut translator = StreamTranslator::new(pair, context());
    let mut translated = Vec::new();
    for event in events {
        let event = SseEvent::encoded(None, event.as_bytes());
        translator.translate(&event, &mut translated).unwrap();
    }
    translator.finish(&mut translated);
    let mut client = ResponsesStreamClient::default();
    translated.iter().for_each(|event| client.take(event));
    client
}

fn chunk(delta: &Value) -> String {
    json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "x",
        "choices": [{"index": 0, "delta": delta, "finish_reason": null}], "usage": null})
    .to_string()
}

#[test]
fn a_chat_stream_with_mixed_calls_and_thoughts_is_a_responses_stream() {
    let call = |index: u64, id: &str, name: &str| {
        json!({"tool_calls": [{"index": index, "id": id, "type": "function",
            "function": {"name": name, "arguments": ""}}]})
    };
    let more = |index: u64, arguments: &str| json!({"tool_calls": [{"index": index, "function": {"arguments": arguments}}]});
    let deltas = [
        json!({"role": "assistant", "content": ""}),
        json!({"reasoning_content": "Let me "}),
        json!({"reasoning_content": "think"}),
        json!({"content": "Two \"calls\""}),
        call(0, "c0", "f"),
        call(1, "c1", "free"),
        more(0, "{\"a\""),
        more(1, "{\"input\":\"x\\n"),
        more(0, ":1.0}"),
        more(1, "y\"}"),
    ];
    let mut events: Vec<String> = deltas.iter().map(chunk).collect();
    events.push(
        json!({"id": "chatcmpl-1", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}).to_string(),
    );
    events.push(
        json!({"id": "chatcmpl-1", "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 5,
            "total_tokens": 14, "prompt_tokens_details": {"cached_tokens": 4}}})
        .to_string(),
    );
    events.push("[DONE]".into());
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let response = translated(CHAT, &events).response.unwrap();
    let whole = json!({"id": "chatcmpl-1", "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
        "role": "assistant", "reasoning_content": "Let me think", "content": "Two \"calls\"", "tool_calls": [
            {"id": "c0", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1.0}"}},
            {"id": "c1", "type": "function", "function": {"name": "free", "arguments": "{\"input\":\"x\\ny\"}"}}]}}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14,
            "prompt_tokens_details": {"cached_tokens": 4}}});
    let mut ledger = Ledger::default();
    let body = whole.to_string().into_bytes().into();
    let whole = translate_response(CHAT, &body, &context(), &mut ledger).unwrap();
    let whole: Value = serde_json::from_slice(&whole).unwrap();
    assert_eq!(response, whole);
    let output = &response["output"];
    assert_eq!(output[0]["summary"][0]["text"], "Let me think");
    assert_eq!(output[1]["content"][0]["text"], "Two \"calls\"");
    assert_eq!(output[2]["arguments"], "{\"a\":1.0}");
    assert_eq!(output[3]["input"], "x\ny");
    assert_eq!(output.as_array().unwrap().len(), 4);
    assert_eq!(
        response["usage"]["input_tokens_details"]["cached_tokens"],
        4
    );
}

#[test]
fn text_after_the_reason_for_the_end_is_not_cut() {
    let events = [
        chunk(&json!({"content": "a"})),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}).to_string(),
        chunk(&json!({"content": "b"})),
    ];
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let response = translated(CHAT, &events).response.unwrap();
    let texts = response["output"][0]["content"].as_array().unwrap().iter();
    let text: String = texts
        .map(|content| content["text"].as_str().unwrap())
        .collect();
    assert_eq!(text, "ab");
    assert_eq!(response["status"], "completed");
}

#[test]
fn an_error_in_a_chat_stream_is_the_end_of_the_response() {
    let events = [
        chunk(&json!({"content": "a"})),
        json!({"error": {"message": "Overloaded", "type": "server_error", "code": "overloaded"}})
            .to_string(),
    ];
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let response = translated(CHAT, &events).response.unwrap();
    assert_eq!(response["status"], "failed");
    assert_eq!(
        response["error"],
        json!({"code": "overloaded", "message": "Overloaded"})
    );
}

#[test]
fn a_responses_stream_is_a_messages_stream() {
    let pair = ProtocolPair {
        caller: ConversationFormat::Messages,
        channel: ProviderFormat::Responses,
    };
    let item = |name: &str, index: u64, item: Value| json!({"type": format!("response.output_item.{name}"), "output_index": index, "item": item});
    let events = [
        json!({"type": "response.created", "response": {"id": "resp_1"}}),
        item(
            "added",
            0,
            json!({"type": "reasoning", "id": "rs_1", "summary": []}),
        ),
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 0, "delta": "Hm"}),
        item(
            "done",
            0,
            json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm"}]}),
        ),
        item(
            "added",
            1,
            json!({"type": "function_call", "call_id": "c1", "name": "f", "arguments": ""}),
        ),
        json!({"type": "response.function_call_arguments.delta", "output_index": 1, "delta": "{\"a\":1.0}"}),
        item(
            "done",
            1,
            json!({"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{\"a\":1.0}"}),
        ),
        json!({"type": "response.completed", "response": {"status": "completed", "output": [],
            "usage": {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 5}}}),
    ];
    let mut translator = StreamTranslator::new(pair, context());
    let mut translated = Vec::new();
    for event in &events {
        let event = SseEvent::encoded(None, event.to_string().as_bytes());
        translator.translate(&event, &mut translated).unwrap();
    }
    let translated = translated
        .iter()
        .map(|event| String::from_utf8_lossy(event.data()));
    let translated: Vec<Value> = translated
        .map(|data| serde_json::from_str(&data).unwrap())
        .collect();
    let deltas = translated.iter().map(|event| &event["delta"]);
    let deltas: Vec<String> = deltas
        .filter(|delta| !delta.is_null())
        .map(Value::to_string)
        .collect();
    let deltas = deltas.join("");
    for expected in [
        "\"thinking\":\"Hm\"",
        r#""partial_json":"{\"a\":1.0}""#,
        "\"stop_reason\":\"tool_use\"",
    ] {
        assert!(deltas.contains(expected), "{expected} in {deltas}");
    }
    let usage = &translated[translated.len() - 2]["usage"];
    assert_eq!(usage["input_tokens"], 5);
    assert_eq!(usage["cache_read_input_tokens"], 4);
}

/// What a response says, without the borders of its texts and without what only its provider can read.
fn texts(response: &Value) -> Vec<(String, String)> {
    let mut texts: Vec<(String, String)> = Vec::new();
    let mut add = |kind: &str, text: &Value| {
        let text = text.as_str().unwrap();
        match texts.last_mut().filter(|(last, _)| last == kind) {
            Some((_, last)) => last.push_str(text),
            None => texts.push((kind.to_owned(), text.to_owned())),
        }
    };
    for item in response["output"].as_array().unwrap() {
        for content in item["content"].as_array().into_iter().flatten() {
            let member = if content["type"] == "refusal" {
                "refusal"
            } else {
                "text"
            };
            add(member, &content[member]);
        }
        for summary in item["summary"].as_array().into_iter().flatten() {
            add("thinking", &summary["text"]);
        }
        if let Some(id) = item["call_id"].as_str() {
            let input = item.get("input").or(item.get("arguments")).unwrap();
            add(&format!("{id} {}", item["name"]), input);
        }
    }
    texts
}

#[test]
fn a_stream_by_way_of_chat_is_the_same() {
    let to_chat = ProtocolPair {
        caller: ConversationFormat::Chat,
        channel: ProviderFormat::Responses,
    };
    for seed in 0..100 {
        let mut random = Random::new(seed);
        let response = random.response();
        let pieces = random.pieces(&response, Mixing::Calls);
        let expected = streamed(&pieces);
        let mut there = StreamTranslator::new(to_chat, context());
        let mut chunks = Vec::new();
        for event in written(&pieces) {
            there.translate(&event, &mut chunks).unwrap();
        }
        let mut back = StreamTranslator::new(CHAT, context());
        let mut events = Vec::new();
        for chunk in &chunks {
            back.translate(chunk, &mut events).unwrap();
        }
        let mut client = ResponsesStreamClient::default();
        events.iter().for_each(|event| client.take(event));
        let response = client.response.unwrap();
        assert_eq!(texts(&response), texts(&expected), "seed {seed}");
        assert_eq!(response["status"], expected["status"], "seed {seed}");
        assert_eq!(
            response["incomplete_details"],
            expected["incomplete_details"]
        );
        assert_eq!(response["usage"], expected["usage"], "seed {seed}");
    }
}
