//! What callers get of responses and streams.

use crate::{Ledger, ProtocolPair, ResponseContext, StreamTranslator, translate_response};
use bytes::Bytes;
use headgate_protocol::conversation::ConversationFormat::{self, Chat, Messages, Responses};
use headgate_protocol::conversation::ProviderFormat;
use headgate_protocol::sse::SseEvent;
use serde_json::{Value, json};

const fn pair(caller: ConversationFormat) -> ProtocolPair {
    ProtocolPair {
        caller,
        channel: ProviderFormat::Gemini,
    }
}

fn context() -> ResponseContext {
    ResponseContext {
        id: "abc".into(),
        model: Bytes::from_static(b"\"m\""),
        includes_usage: true,
        ..ResponseContext::default()
    }
}

fn whole(caller: ConversationFormat, body: &Value) -> Result<Value, String> {
    let body = Bytes::from(body.to_string());
    let written = translate_response(pair(caller), &body, &context(), &mut Ledger::default());
    let written = written.map_err(|error| error.to_string())?;
    Ok(serde_json::from_slice(&written).unwrap())
}

fn streamed(caller: ConversationFormat, chunks: &[Value]) -> Result<Vec<Value>, String> {
    let mut translator = StreamTranslator::new(pair(caller), context());
    let mut events = Vec::new();
    for chunk in chunks {
        let event = SseEvent::encoded(None, chunk.to_string().as_bytes());
        translator
            .translate(&event, &mut events)
            .map_err(|error| error.to_string())?;
    }
    translator.finish(&mut events);
    let values = events
        .iter()
        .map(|event| serde_json::from_slice(event.data()).unwrap_or_default());
    Ok(values.collect())
}

fn candidate(parts: &Value, finish: &str) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": finish}]})
}

#[test]
fn each_reason_for_the_end_has_a_word_or_is_an_error() {
    let cases = [
        ("STOP", Some(("stop", "end_turn", "completed"))),
        ("MAX_TOKENS", Some(("length", "max_tokens", "incomplete"))),
        ("SAFETY", Some(("content_filter", "refusal", "incomplete"))),
        (
            "RECITATION",
            Some(("content_filter", "refusal", "incomplete")),
        ),
        (
            "PROHIBITED_CONTENT",
            Some(("content_filter", "refusal", "incomplete")),
        ),
        ("MALFORMED_FUNCTION_CALL", None),
        ("OTHER", None),
        ("MISSING_THOUGHT_SIGNATURE", None),
        ("FINISH_REASON_UNSPECIFIED", None),
        ("ANOTHER", None),
    ];
    for (reason, words) in cases {
        let body = candidate(&json!([{"text": "a"}]), reason);
        let places = [
            (Chat, "/choices/0/finish_reason"),
            (Messages, "/stop_reason"),
            (Responses, "/status"),
        ];
        for (at, (caller, place)) in places.into_iter().enumerate() {
            let written = whole(caller, &body);
            match words {
                None => assert!(written.is_err(), "{reason}: {written:?}"),
                Some((chat, messages, responses)) => {
                    let word = [chat, messages, responses][at];
                    assert_eq!(written.unwrap().pointer(place).unwrap(), word, "{reason}");
                }
            }
        }
    }
}

#[test]
fn calls_without_ids_get_some_that_are_unique_in_all_conversations() {
    let body = candidate(
        &json!([{"functionCall": {"name": "f", "args": {"n": 1}}}, {"functionCall": {"name": "g", "id": "own"}}]),
        "STOP",
    );
    let written = whole(Chat, &body).unwrap();
    assert_eq!(written["choices"][0]["finish_reason"], "tool_calls");
    let calls = &written["choices"][0]["message"]["tool_calls"];
    assert_eq!(
        calls[0],
        json!({"id": "call_abc_0", "type": "function", "function": {"name": "f", "arguments": "{\"n\":1}"}})
    );
    assert_eq!(
        calls[1],
        json!({"id": "own", "type": "function", "function": {"name": "g", "arguments": "{}"}})
    );
    let events = streamed(Chat, &[body]).unwrap();
    let text = json!(events).to_string();
    assert!(
        text.contains("call_abc_0") && text.contains("\"own\""),
        "{text}"
    );
}

#[test]
fn a_stream_has_what_a_whole_response_has() {
    let chunk = |parts: Value| json!({"candidates": [{"content": {"parts": parts}}]});
    let chunks = [
        chunk(json!([{"text": "th", "thought": true}])),
        chunk(json!([{"text": "ought", "thought": true}, {"text": "te"}])),
        json!({"candidates": [{"index": 0}]}),
        chunk(json!([{"text": "xt"}])),
        chunk(json!([{"text": "", "thoughtSignature": "c2ln"}])),
        candidate(&json!([{"functionCall": {"name": "f"}}]), "STOP"),
        json!({"usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 2, "thoughtsTokenCount": 3}}),
    ];
    let events = streamed(Messages, &chunks).unwrap();
    let kinds: Vec<&str> = events
        .iter()
        .map(|event| match event["type"].as_str().unwrap() {
            "content_block_start" => event["content_block"]["type"].as_str().unwrap(),
            kind => kind,
        })
        .collect();
    let expected = [
        "message_start",
        "thinking",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "text",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "tool_use",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ];
    assert_eq!(kinds, expected);
    let last = &events[events.len() - 2];
    assert_eq!(last["delta"]["stop_reason"], "tool_use");
    assert_eq!(
        (
            &last["usage"]["input_tokens"],
            &last["usage"]["output_tokens"]
        ),
        (&json!(5), &json!(5))
    );
}

#[test]
fn what_is_not_of_the_protocol_is_an_error() {
    let parts = |part: Value| candidate(&json!([part]), "STOP");
    for body in [
        json!({}),
        json!({"candidates": []}),
        json!({"candidates": 7}),
        parts(json!({"functionCall": {"args": {}}})),
        parts(json!({"functionCall": {"name": "f", "args": []}})),
        parts(json!({"functionCall": {"name": "f", "willContinue": true}})),
        json!({"error": {"message": "no"}}),
    ] {
        assert!(whole(Chat, &body).is_err(), "{body}");
    }
    assert!(streamed(Chat, &[json!([1])]).is_err());
    assert!(
        streamed(
            Chat,
            &[parts(json!({"functionCall": {"name": "f", "args": 1}}))]
        )
        .is_err()
    );
    for odd in [
        json!({"candidates": [7, {"content": 1}, {"content": {"parts": [1, [], {"text": 5}]}}]}),
        json!({"usageMetadata": 4, "promptFeedback": []}),
    ] {
        streamed(Messages, &[odd]).unwrap();
    }
}
