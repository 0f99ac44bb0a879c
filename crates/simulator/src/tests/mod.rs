//! Tests of the simulated provider by its responses.

mod converse;
mod faults;
mod gemini;
mod images;
mod records;
mod resource_store;
mod responses;
mod responses_of_text;
mod stream_faults;
mod streams;
mod tools;
mod vendor_callbacks;
mod vendor_credentials;
mod vendor_fixtures;
mod vendor_urls;
mod vendors;
mod video;
mod video_operations;

use super::{Simulator, SimulatorDefaults};
use crate::http_response::{BodyChunk, SimulatedBody, SimulatedResponse};
use bytes::Bytes;
use http::{HeaderMap, Request};
use serde_json::{Value, json};

/// A simulator with default options.
fn simulator() -> Simulator {
    Simulator::new(SimulatorDefaults::default())
}

/// A response that was read to its end.
struct ReadResponse {
    status: u16,
    headers: HeaderMap,
    body: Bytes,
    was_cut: bool,
}

impl ReadResponse {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The name and data of each event; data that is not JSON is a string.
    fn events(&self) -> Vec<(String, Value)> {
        let text = std::str::from_utf8(&self.body).unwrap();
        text.split_terminator("\n\n").map(event).collect()
    }

    /// The concatenated texts at `pointer` in the data of all events.
    fn joined(&self, pointer: &str) -> String {
        let events = self.events();
        let texts = events
            .iter()
            .filter_map(|(_, data)| data.pointer(pointer)?.as_str());
        texts.collect()
    }

    /// The names of the events, with repetitions collapsed.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = self.events().into_iter().map(|(name, _)| name).collect();
        names.dedup();
        names
    }
}

fn event(text: &str) -> (String, Value) {
    let mut name = String::new();
    let mut data = Value::Null;
    for line in text.lines() {
        if let Some(value) = line.strip_prefix("event: ") {
            name = value.to_owned();
        } else {
            let value = line.strip_prefix("data: ").unwrap();
            data = serde_json::from_str(value).unwrap_or_else(|_| value.into());
        }
    }
    (name, data)
}

/// A request with a credential and a version.
fn request(method: &str, path: &str, body: impl Into<Bytes>) -> Request<Bytes> {
    Request::builder()
        .method(method)
        .uri(path)
        .header("authorization", "Bearer sk-test-credential")
        .header("anthropic-version", "2023-06-01")
        .body(body.into())
        .unwrap()
}

async fn receive(response: SimulatedResponse) -> ReadResponse {
    let mut seen = ReadResponse {
        status: response.status.as_u16(),
        headers: response.headers,
        body: Bytes::new(),
        was_cut: false,
    };
    match response.body {
        SimulatedBody::Full(body) => seen.body = body,
        SimulatedBody::Stream(mut chunks) => {
            let mut body = Vec::new();
            while let Some(chunk) = chunks.recv().await {
                match chunk {
                    BodyChunk::Data(data) => body.extend_from_slice(&data),
                    BodyChunk::Cut => seen.was_cut = true,
                }
            }
            seen.body = body.into();
        }
    }
    seen
}

async fn send(simulator: &Simulator, request: Request<Bytes>) -> ReadResponse {
    receive(simulator.respond(request).await).await
}

async fn post(simulator: &Simulator, path: &str, body: &Value) -> ReadResponse {
    send(simulator, request("POST", path, body.to_string())).await
}

async fn get(simulator: &Simulator, path: &str) -> ReadResponse {
    send(simulator, request("GET", path, "")).await
}

/// A path and a simple body for each protocol.
fn ordinary() -> [(&'static str, Value); 3] {
    let messages = json!([{"role": "user", "content": "Hello there"}]);
    [
        (
            "/v1/chat/completions",
            json!({"model": "m-1", "messages": messages}),
        ),
        (
            "/v1/messages",
            json!({"model": "m-1", "max_tokens": 1000, "messages": messages}),
        ),
        (
            "/v1/responses",
            json!({"model": "m-1", "input": "Hello there"}),
        ),
    ]
}

/// `body` with the members of `more`.
fn with(body: &Value, more: &Value) -> Value {
    let mut body = body.clone();
    let members = body.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    body
}

/// The path of each protocol with directives, and its body as a stream.
fn streams(directives: &str) -> [(String, Value); 3] {
    ordinary().map(|(path, body)| {
        (
            format!("/~{directives}{path}"),
            with(&body, &json!({"stream": true})),
        )
    })
}

fn wholes(directives: &str) -> [(String, Value); 3] {
    ordinary().map(|(path, body)| (format!("/~{directives}{path}"), body))
}

const DELTA_AT: [&str; 3] = ["/choices/0/delta/content", "/delta/text", "/delta"];

/// The pointer to the text of a whole response, in each protocol.
const TEXT_AT: [&str; 3] = [
    "/choices/0/message/content",
    "/content/0/text",
    "/output/0/content/0/text",
];
