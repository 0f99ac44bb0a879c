//! Tests of requests that a channel of another protocol serves.

mod converse;
mod dialects;
mod errors;
mod explained;
mod failover;
mod gemini;
mod handles;
mod hidden_thoughts;
mod loss;
mod messages_to_chat;
mod models;
mod pairs;
mod response_loss;
mod thoughts;
mod token_counts;

use crate::harness::http_response::typed_response;
use crate::harness::{Gateway, ScriptedProvider, config};
use serde_json::{Value, json};

/// A gateway whose route `route` translates for the only channel, which speaks `channel` and is `provider`.
async fn translating(route: &str, channel: &str, provider: &str) -> Gateway {
    Gateway::start(&config_for(route, channel, provider)).await
}

fn config_for(route: &str, channel: &str, provider: &str) -> Value {
    let mut config = config::standard(provider);
    config["channels"] = json!({
        "other": config::channel(provider, &[channel], json!({"bearer": config::CREDENTIALS[0]})),
    });
    config::without_cool_downs(&mut config);
    config::route(&mut config, route)["translate"] = json!([channel]);
    config
}

/// The body of the last request that a provider got, and its head.
fn last_request(provider: &ScriptedProvider) -> (String, Value) {
    let request = provider.requests().pop().expect("a request");
    let (head, body) = request.split_once("\r\n\r\n").expect("a head");
    let body = serde_json::from_str(body).expect("a JSON body");
    (head.to_ascii_lowercase(), body)
}

/// A stream of these events, byte for byte; the connection stays open behind it.
fn stream_response(events: &[Value], end: &str) -> Vec<u8> {
    let mut body: String = events
        .iter()
        .map(|event| match event["type"].as_str() {
            Some(name) => format!("event: {name}\ndata: {event}\n\n"),
            None => format!("data: {event}\n\n"),
        })
        .collect();
    body += end;
    typed_response(200, "text/event-stream", body)
}

/// The events of a stream that a caller got, each with its name and data; `[DONE]` is a text.
fn events_of(text: &str) -> Vec<(String, Value)> {
    let blocks = text.split("\n\n").filter(|block| !block.trim().is_empty());
    let line = |block: &str, field: &str| {
        let mut lines = block.lines();
        lines
            .find_map(|line| Some(line.strip_prefix(field)?.trim().to_owned()))
            .unwrap_or_default()
    };
    blocks
        .map(|block| {
            let data = line(block, "data:");
            let value = serde_json::from_str(&data).unwrap_or(Value::String(data));
            (line(block, "event:"), value)
        })
        .collect()
}
