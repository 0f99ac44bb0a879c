//! Tests of Bedrock's Converse: what it responds, and what it refuses.

use super::{ReadResponse, post, send, simulator, with};
use crate::Simulator;
use bytes::Bytes;
use headgate_event_stream::{FrameDecoder, FrameKind};
use http::Request;
use serde_json::{Value, json};

const MODEL: &str = "eu.anthropic.claude-sonnet-4-20250514-v1%3A0";

fn whole() -> String {
    format!("/model/{MODEL}/converse")
}

/// The types and payloads of the frames of a stream; an exception has a `!` before its type.
async fn frames(simulator: &Simulator, directives: &str, body: &Value) -> Vec<(String, Value)> {
    let path = format!("/~{directives}/model/{MODEL}/converse-stream");
    let response = post(simulator, &path, body).await;
    assert_eq!(
        response.headers["content-type"],
        "application/vnd.amazon.eventstream"
    );
    let mut decoder = FrameDecoder::new(1 << 20);
    decoder.push(&response.body);
    let mut frames = Vec::new();
    while let Some(frame) = decoder.next().unwrap() {
        let name = match frame.kind() {
            FrameKind::Event(name) => name.to_owned(),
            FrameKind::Exception(name) => format!("!{name}"),
            other => panic!("{other:?}"),
        };
        frames.push((name, serde_json::from_slice(&frame.payload).unwrap()));
    }
    assert!(decoder.is_between_frames());
    frames
}

fn message(role: &str, content: Value) -> Value {
    json!({"role": role, "content": content})
}

fn asking(text: &str) -> Value {
    json!({"messages": [message("user", json!([{"text": text}]))]})
}

/// A question that leads to two calls.
fn two_calls() -> Value {
    let schema = json!({"type": "object", "properties": {"place": {"type": "string"}}});
    let tool = |name: &str| json!({"toolSpec": {"name": name, "inputSchema": {"json": schema}}});
    with(
        &asking("Call look and smell."),
        &json!({"toolConfig": {"tools": [tool("look"), tool("smell")]}, "inferenceConfig": {"maxTokens": 4000},
            "additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 2000}}}),
    )
}

/// The turn after the calls of `content`.
fn after(content: &Value) -> Value {
    let mut body = two_calls();
    let calls = content
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|block| block.get("toolUse"));
    let results: Vec<Value> = calls
        .map(|call| json!({"toolResult": {"toolUseId": call["toolUseId"], "content": [{"text": "wet"}]}}))
        .collect();
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(message("assistant", content.clone()));
    messages.push(message("user", json!(results)));
    body
}

async fn content(simulator: &Simulator, body: &Value) -> Value {
    let response = post(simulator, &whole(), body).await;
    assert_eq!(response.status, 200, "{:?}", response.body);
    response.json()["output"]["message"]["content"].clone()
}

#[tokio::test]
async fn the_frames_of_a_stream_are_the_whole_response() {
    let simulator = simulator();
    let body = asking("Hello there");
    let response = post(&simulator, &whole(), &body).await.json();
    let frames = frames(&simulator, "", &body).await;
    let text: String = frames
        .iter()
        .filter_map(|(_, event)| event["delta"]["text"].as_str())
        .collect();
    assert_eq!(text, response["output"]["message"]["content"][0]["text"]);
    let mut names: Vec<&str> = frames.iter().map(|(name, _)| name.as_str()).collect();
    assert!((15..50).contains(&names.len()), "{}", names.len());
    names.dedup();
    let expected = [
        "messageStart",
        "contentBlockDelta",
        "contentBlockStop",
        "messageStop",
        "metadata",
    ];
    assert_eq!(names, expected);
    let [.., (_, stop), (_, metadata)] = frames.as_slice() else {
        panic!("too few frames");
    };
    assert_eq!(
        (&stop["stopReason"], &response["stopReason"]),
        (&json!("end_turn"), &json!("end_turn"))
    );
    assert_eq!(metadata["usage"], response["usage"]);
}

#[tokio::test]
async fn calls_and_the_thoughts_before_them_come_back_in_the_next_turn() {
    let simulator = simulator();
    let first = content(&simulator, &two_calls()).await;
    assert!(first[0]["reasoningContent"]["reasoningText"]["signature"].is_string());
    assert_eq!(
        (&first[1]["toolUse"]["name"], &first[2]["toolUse"]["name"]),
        (&json!("look"), &json!("smell"))
    );
    let second = content(&simulator, &after(&first)).await;
    let text = second[1]["text"].as_str().unwrap();
    assert!(text.contains("results=2 thoughts=1"), "{text}");

    let frames = frames(&simulator, "", &two_calls()).await;
    let starts: Vec<&Value> = frames
        .iter()
        .filter(|(name, _)| name == "contentBlockStart")
        .map(|(_, event)| &event["start"]["toolUse"]["name"])
        .collect();
    assert_eq!(starts, ["look", "smell"]);
    let arguments: String = frames
        .iter()
        .filter(|(_, event)| event["contentBlockIndex"] == 2)
        .filter_map(|(_, event)| event["delta"]["toolUse"]["input"].as_str())
        .collect();
    assert_eq!(
        serde_json::from_str::<Value>(&arguments).unwrap(),
        first[2]["toolUse"]["input"]
    );
}

#[tokio::test]
async fn a_schema_for_the_answer_is_kept() {
    let schema =
        json!({"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}});
    let format =
        json!({"type": "json_schema", "structure": {"jsonSchema": {"schema": schema.to_string()}}});
    let body = with(
        &asking("Which city?"),
        &json!({"outputConfig": {"textFormat": format}}),
    );
    let content = content(&simulator(), &body).await;
    let value = serde_json::from_str(content[0]["text"].as_str().unwrap()).unwrap();
    assert!(jsonschema::is_valid(&schema, &value), "{value}");
}

#[tokio::test]
async fn what_bedrock_refuses_is_refused_with_its_words() {
    let simulator = simulator();
    let first = content(&simulator, &two_calls()).await;
    let next = after(&first);
    let changed = |place: &str, value: Value| {
        let mut body = next.clone();
        *body.pointer_mut(place).unwrap() = value;
        body
    };
    let without = |member: &str| {
        let mut body = next.clone();
        body.as_object_mut().unwrap().remove(member);
        body
    };
    let results = &next["messages"][2]["content"];
    let text = json!({"text": "And?"});
    let document = json!({"document": {"name": "a", "format": "pdf", "source": {"bytes": "AAAA"}}});
    let fields = |fields: Value| with(&next, &json!({"additionalModelRequestFields": fields}));
    for (body, message) in [
        (
            changed(
                "/messages/1/content/0/reasoningContent/reasoningText/text",
                json!("Other."),
            ),
            "Invalid `signature`",
        ),
        (
            changed("/messages/1/content", json!([first[1], first[2]])),
            "Expected `thinking`",
        ),
        (
            changed("/messages/2/content", json!([results[0]])),
            "Expected toolResult blocks at messages.2.content",
        ),
        (
            changed("/messages/2/content", json!([text, results[0], results[1]])),
            "before other content",
        ),
        (
            changed(
                "/messages/2/content",
                json!([results[0], results[1], results[1]]),
            ),
            "exceeds the number",
        ),
        (
            changed("/messages/1/content/2", first[1].clone()),
            "duplicate Ids",
        ),
        (
            changed("/messages/0/content/0", json!({"text": " "})),
            "is blank",
        ),
        (
            changed(
                "/messages/0/content/0",
                json!({"text": "a", "image": {"format": "png", "source": {"bytes": "AAAA"}}}),
            ),
            "exactly one",
        ),
        (
            changed("/messages/0/content/0", document.clone()),
            "text block must be included",
        ),
        (
            changed("/messages/0/content", json!([text, document, document])),
            "unique names",
        ),
        (
            changed("/messages/0/role", json!("assistant")),
            "must start with a user message",
        ),
        (
            changed("/messages/1", message("user", json!([text]))),
            "must alternate",
        ),
        (without("toolConfig"), "toolConfig field must be defined"),
        (
            with(&next, &json!({"model": "m"})),
            "extraneous key [model]",
        ),
        (
            with(&next, &json!({"inferenceConfig": {"maxTokens": 1500}})),
            "greater than `thinking.budget_tokens`",
        ),
        (
            with(
                &next,
                &json!({"inferenceConfig": {"maxTokens": 4000, "temperature": 0.5}}),
            ),
            "`temperature` may only be set to 1",
        ),
        (fields(json!({"seed": 1})), "extraneous key [seed]"),
        (
            fields(json!({"thinking": {"type": "enabled", "budget_tokens": 10}})),
            "budget_tokens",
        ),
        (json!({"messages": []}), "messages"),
    ] {
        let response = post(&simulator, &whole(), &body).await;
        assert_eq!(response.status, 400, "{message}: {body}");
        assert_eq!(response.headers["x-amzn-errortype"], "ValidationException");
        let error = response.json();
        assert!(
            error["message"].as_str().unwrap().contains(message),
            "{message}: {error}"
        );
    }
}

#[tokio::test]
async fn faults_have_the_form_of_bedrock() {
    let simulator = simulator();
    let refused = |response: ReadResponse| {
        (
            response.status,
            response.headers["x-amzn-errortype"].clone(),
        )
    };
    let path = format!("/~status=429{}", whole());
    let busy = post(&simulator, &path, &asking("Hi")).await;
    assert!(busy.json()["message"].is_string());
    assert_eq!(refused(busy), (429, "ThrottlingException".parse().unwrap()));
    let broken = frames(&simulator, "error_event_after=2", &asking("Hi")).await;
    let (name, payload) = broken.last().unwrap();
    assert_eq!(
        (broken.len(), name.as_str()),
        (4, "!serviceUnavailableException")
    );
    assert!(payload["message"].is_string());
    let unknown = Request::post(whole()).header("x-api-key", "k");
    let unknown = unknown.body(Bytes::from(asking("Hi").to_string())).unwrap();
    let unknown = send(&simulator, unknown).await;
    assert_eq!(
        refused(unknown),
        (403, "MissingAuthenticationTokenException".parse().unwrap())
    );
}
