//! A provider of Bedrock's protocol that frames its events itself, and checks requests as Bedrock does.

use crate::harness::http_response::json_response;
use crate::harness::{ScriptedProvider, ScriptedResponse};
use serde_json::{Value, json};
use std::sync::Arc;

/// An event of a stream.
pub fn event(name: &str, payload: &Value) -> Vec<u8> {
    framed(
        &[
            (":event-type", name),
            (":content-type", "application/json"),
            (":message-type", "event"),
        ],
        &payload.to_string(),
    )
}

/// An exception in place of an event.
pub fn exception(name: &str, message: &str) -> Vec<u8> {
    framed(
        &[
            (":exception-type", name),
            (":content-type", "application/json"),
            (":message-type", "exception"),
        ],
        &json!({"message": message}).to_string(),
    )
}

/// A frame as the format has it, with checksums that are computed bit by bit.
fn framed(headers: &[(&str, &str)], payload: &str) -> Vec<u8> {
    let mut fields = Vec::new();
    for (name, text) in headers {
        fields.push(u8::try_from(name.len()).unwrap());
        fields.extend(name.as_bytes());
        fields.push(7);
        fields.extend(u16::try_from(text.len()).unwrap().to_be_bytes());
        fields.extend(text.as_bytes());
    }
    let total = u32::try_from(16 + fields.len() + payload.len()).unwrap();
    let mut frame = total.to_be_bytes().to_vec();
    frame.extend(u32::try_from(fields.len()).unwrap().to_be_bytes());
    frame.extend(checksum(&frame).to_be_bytes());
    frame.extend(fields);
    frame.extend(payload.as_bytes());
    frame.extend(checksum(&frame).to_be_bytes());
    frame
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = (sum >> 1) ^ (0xedb8_8320 * (sum & 1));
        }
    }
    !sum
}

/// The frames of a response, whose content blocks come in order.
pub fn frames(content: &Value, reason: &str) -> Vec<Vec<u8>> {
    let mut frames = vec![event(
        "messageStart",
        &json!({"role": "assistant", "p": "abc"}),
    )];
    for (index, block) in content.as_array().unwrap().iter().enumerate() {
        let delta = |delta: Value| {
            event(
                "contentBlockDelta",
                &json!({"contentBlockIndex": index, "delta": delta}),
            )
        };
        if let Some(text) = block["text"].as_str() {
            let (start, end) = text.split_at(text.len() / 2);
            frames.extend([start, end].map(|text| delta(json!({"text": text}))));
        }
        if let Some(thoughts) = block["reasoningContent"].get("reasoningText") {
            frames.push(delta(
                json!({"reasoningContent": {"text": thoughts["text"]}}),
            ));
            frames.push(delta(
                json!({"reasoningContent": {"signature": thoughts["signature"]}}),
            ));
        }
        if let Some(call) = block.get("toolUse") {
            let start = json!({"toolUse": {"toolUseId": call["toolUseId"], "name": call["name"]}});
            frames.push(event(
                "contentBlockStart",
                &json!({"contentBlockIndex": index, "start": start}),
            ));
            frames.push(delta(
                json!({"toolUse": {"input": call["input"].to_string()}}),
            ));
        }
        frames.push(event(
            "contentBlockStop",
            &json!({"contentBlockIndex": index}),
        ));
    }
    frames.push(event("messageStop", &json!({"stopReason": reason})));
    frames.push(event(
        "metadata",
        &json!({"usage": usage(), "metrics": {"latencyMs": 1}}),
    ));
    frames
}

fn usage() -> Value {
    json!({"inputTokens": 10, "outputTokens": 5, "totalTokens": 22, "cacheReadInputTokens": 4, "cacheWriteInputTokens": 3})
}

pub fn whole(content: &Value, reason: &str) -> Value {
    json!({"output": {"message": {"role": "assistant", "content": content}}, "stopReason": reason,
        "usage": usage(), "metrics": {"latencyMs": 1}})
}

/// A response of these frames. `missing` bytes of it never come.
pub fn stream_of(frames: &[Vec<u8>], missing: usize) -> Vec<u8> {
    let body = frames.concat();
    let length = body.len() + missing;
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.amazon.eventstream\r\nContent-Length: {length}\r\n\r\n"
    );
    [head.as_bytes(), &body].concat()
}

pub fn is_stream(request: &str) -> bool {
    let line = request.lines().next().unwrap_or_default();
    line.contains("/converse-stream ")
}

/// Answers each request that Bedrock would accept with this content, and others with 400.
pub async fn bedrock(content: Value, reason: &'static str) -> ScriptedProvider {
    let respond = move |request: &str| match request_fault(request) {
        Some(message) => json_response(400, json!({"message": message})),
        None if is_stream(request) => stream_of(&frames(&content, reason), 0),
        None => json_response(200, whole(&content, reason)),
    };
    ScriptedProvider::start(vec![ScriptedResponse::Call(Arc::new(respond))]).await
}

/// Sends these bytes for each request, and closes the connection.
pub async fn sending(bytes: Vec<u8>) -> ScriptedProvider {
    ScriptedProvider::start(vec![ScriptedResponse::Send(bytes), ScriptedResponse::Close]).await
}

/// Why Bedrock would refuse a request: messages alternate and end with the user, each call has its result in the next one, and
/// thoughts before calls have their signature.
fn request_fault(request: &str) -> Option<String> {
    let (_, body) = request.split_once("\r\n\r\n")?;
    let body: Value = serde_json::from_str(body).ok()?;
    let messages = body["messages"].as_array()?;
    let ids = |message: &Value, kind: &str| -> Vec<Value> {
        let content = message["content"].as_array().into_iter().flatten();
        let blocks = content.filter_map(|block| block.get(kind));
        let mut ids: Vec<Value> = blocks.map(|block| block["toolUseId"].clone()).collect();
        ids.sort_by_key(Value::to_string);
        ids
    };
    for (at, message) in messages.iter().enumerate() {
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        if message["role"] != role {
            return Some("A conversation must alternate between user and assistant roles.".into());
        }
        let calls = if at == 0 {
            Vec::new()
        } else {
            ids(&messages[at - 1], "toolUse")
        };
        if ids(message, "toolResult") != calls {
            return Some("Expected toolResult blocks for the ids of the previous turn.".into());
        }
        let first = &message["content"][0]["reasoningContent"]["reasoningText"];
        if !ids(message, "toolUse").is_empty() && first["signature"] != "c2ln" {
            return Some("Expected `thinking`, but found `tool_use`.".into());
        }
    }
    let last = messages.last()?;
    (last["role"] != "user").then(|| "A conversation must end with a user message.".into())
}
