//! Tests of Gemini's API: what it responds, and what it refuses.

use super::{ReadResponse, send, simulator, with};
use crate::Simulator;
use bytes::Bytes;
use http::Request;
use serde_json::{Value, json};

const MODEL: &str = "gemini-3-flash-preview";

async fn generate(simulator: &Simulator, path: &str, body: &Value) -> ReadResponse {
    let request = Request::post(path).header("x-goog-api-key", "AIza-1");
    let request = request.body(Bytes::from(body.to_string())).unwrap();
    send(simulator, request).await
}

fn whole(model: &str) -> String {
    format!("/v1beta/models/{model}:generateContent")
}

fn streamed(directives: &str) -> String {
    format!("/~{directives}/v1beta/models/{MODEL}:streamGenerateContent?alt=sse")
}

fn user(text: &str) -> Value {
    json!({"role": "user", "parts": [{"text": text}]})
}

fn asking(text: &str) -> Value {
    json!({"contents": [user(text)]})
}

/// A question that leads to two calls.
fn two_calls() -> Value {
    let tool = |name: &str| json!({"name": name, "parametersJsonSchema": {"type": "object", "properties": {"place": {"type": "string"}}}});
    with(
        &asking("Call look and smell."),
        &json!({"tools": [{"functionDeclarations": [tool("look"), tool("smell")]}],
            "generationConfig": {"thinkingConfig": {"includeThoughts": true, "thinkingLevel": "low"}}}),
    )
}

/// The turn after the calls of `content`.
fn after(content: &Value) -> Value {
    let mut body = two_calls();
    let calls = content["parts"].as_array().unwrap().iter();
    let calls = calls.filter_map(|part| part.get("functionCall"));
    let results: Vec<Value> = calls
        .map(|call| json!({"functionResponse": {"id": call["id"], "name": call["name"], "response": {"output": "wet"}}}))
        .collect();
    let contents = body["contents"].as_array_mut().unwrap();
    contents.push(content.clone());
    contents.push(json!({"role": "user", "parts": results}));
    body
}

#[tokio::test]
async fn the_chunks_of_a_stream_are_the_whole_response() {
    let simulator = simulator();
    let body = asking("Hello there");
    let response = generate(&simulator, &whole(MODEL), &body).await.json();
    let candidate = &response["candidates"][0];
    let part = &candidate["content"]["parts"][0];
    let stream = generate(&simulator, &streamed(""), &body).await;
    assert_eq!(stream.headers["content-type"], "text/event-stream");
    let text_at = "/candidates/0/content/parts/0/text";
    assert_eq!(stream.joined(text_at), part["text"].as_str().unwrap());
    let events = stream.events();
    assert!((15..50).contains(&events.len()), "{}", events.len());
    let (_, last) = events.last().unwrap();
    let last_part = &last["candidates"][0]["content"]["parts"][0];
    assert_eq!(last_part["thoughtSignature"], part["thoughtSignature"]);
    assert_eq!(last["usageMetadata"], response["usageMetadata"]);
    assert_eq!(
        (
            &candidate["finishReason"],
            &last["candidates"][0]["finishReason"]
        ),
        (&json!("STOP"), &json!("STOP"))
    );
    assert!(
        events[0].1["usageMetadata"]
            .get("candidatesTokenCount")
            .is_none()
    );
}

#[tokio::test]
async fn calls_and_their_signatures_come_back_in_the_next_turn() {
    let simulator = simulator();
    let first = generate(&simulator, &whole(MODEL), &two_calls())
        .await
        .json();
    let content = &first["candidates"][0]["content"];
    let parts = content["parts"].as_array().unwrap();
    assert_eq!(parts[0]["thought"], true);
    let names = |parts: &[Value]| -> Vec<Value> {
        let calls = parts.iter().filter_map(|part| part.get("functionCall"));
        calls.map(|call| call["name"].clone()).collect()
    };
    assert_eq!(names(parts), ["look", "smell"]);
    assert!(parts[1]["thoughtSignature"].is_string() && parts[2].get("thoughtSignature").is_none());
    let usage = &first["usageMetadata"];
    let count = |name: &str| usage[name].as_u64().unwrap();
    assert_eq!(
        count("totalTokenCount"),
        count("promptTokenCount") + count("candidatesTokenCount") + count("thoughtsTokenCount")
    );
    let second = generate(&simulator, &whole(MODEL), &after(content)).await;
    let text = second.json()["candidates"][0]["content"]["parts"][1]["text"].clone();
    assert!(
        text.as_str().unwrap().contains("results=2 thoughts=1"),
        "{text}"
    );

    let stream = generate(&simulator, &streamed(""), &two_calls())
        .await
        .events();
    let parts: Vec<Value> = stream
        .iter()
        .map(|(_, event)| event["candidates"][0]["content"]["parts"][0].clone())
        .collect();
    assert_eq!(names(&parts), ["look", "smell"]);
    assert!(parts.iter().any(|part| part["thought"] == true));
}

#[tokio::test]
async fn a_schema_for_the_answer_is_kept() {
    let schema =
        json!({"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}});
    let config = json!({"generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": schema}});
    let body = with(&asking("Which city?"), &config);
    let json = generate(&simulator(), &whole(MODEL), &body).await.json();
    let text = json["candidates"][0]["content"]["parts"][0]["text"]
        .as_str()
        .unwrap();
    let value = serde_json::from_str(text).unwrap();
    assert!(jsonschema::is_valid(&schema, &value), "{text}");
}

#[tokio::test]
async fn what_google_refuses_is_refused_with_its_words() {
    let simulator = simulator();
    let first = generate(&simulator, &whole(MODEL), &two_calls())
        .await
        .json();
    let content = &first["candidates"][0]["content"];
    let next = after(content);
    let changed = |place: &str, value: Value| {
        let mut body = next.clone();
        let slot = body.pointer_mut(place).unwrap();
        *slot = value;
        body
    };
    let without = |place: &str, member: &str| {
        let mut body = next.clone();
        let parent = body.pointer_mut(place).unwrap();
        parent.as_object_mut().unwrap().remove(member);
        body
    };
    let model_turn = json!({"role": "model", "parts": [{"text": "Hi."}]});
    for (body, message) in [
        (
            without("/contents/1/parts/1", "thoughtSignature"),
            "missing a thought_signature",
        ),
        (
            changed("/contents/1/parts/1/thoughtSignature", json!("c2ln")),
            "Corrupted thought signature",
        ),
        (
            changed(
                "/contents/1/parts/1/functionCall/args",
                json!({"place": "moon"}),
            ),
            "Corrupted thought signature",
        ),
        (
            changed(
                "/contents/2/parts",
                json!([next["contents"][2]["parts"][0]]),
            ),
            "number of function response parts",
        ),
        (
            changed("/contents/2/parts/0/functionResponse/id", json!("x")),
            "the name and the id",
        ),
        (
            changed("/contents/2/parts/0/functionResponse/name", json!("smell")),
            "the name and the id",
        ),
        (
            changed("/contents/2", user("No results.")),
            "number of function response parts",
        ),
        (
            changed("/contents/1", model_turn.clone()),
            "immediately after a function call turn",
        ),
        (
            changed(
                "/contents/0/parts/0",
                json!({"text": "a", "inlineData": {"mimeType": "image/png", "data": "AAAA"}}),
            ),
            "oneof field 'data'",
        ),
        (
            changed("/contents/0/parts/0", json!({"text": "a", "cache": 1})),
            "Unknown name \"cache\" at 'contents.0.parts.0'",
        ),
        (
            with(&next, &json!({"model": "m"})),
            "Unknown name \"model\"",
        ),
        (
            with(
                &next,
                &json!({"generationConfig": {"thinkingConfig": {"thinkingLevel": "low", "thinkingBudget": 1}}}),
            ),
            "only one of thinking budget",
        ),
        (
            with(
                &next,
                &json!({"generationConfig": {"stopSequences": ["1", "2", "3", "4", "5", "6"]}}),
            ),
            "stopSequences",
        ),
        (
            with(
                &next,
                &json!({"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["x"]}}}),
            ),
            "not declared",
        ),
        (json!({"contents": [user("a"), user("b")]}), "alternate"),
        (json!({"contents": [model_turn]}), "alternate"),
        (
            json!({"contents": [user("a"), model_turn]}),
            "end with a user role",
        ),
        (
            json!({"contents": [{"role": "system", "parts": [{"text": "a"}]}]}),
            "valid role",
        ),
        (json!({"contents": []}), "contents"),
    ] {
        let response = generate(&simulator, &whole(MODEL), &body).await;
        let error = &response.json()["error"];
        assert_eq!(
            (response.status, &error["status"]),
            (400, &json!("INVALID_ARGUMENT")),
            "{message}: {body}"
        );
        assert!(
            error["message"].as_str().unwrap().contains(message),
            "{message}: {error}"
        );
    }
    // Older models demand no signatures, and another model's calls have none.
    let unsigned = without("/contents/1/parts/1", "thoughtSignature");
    let budget = with(
        &unsigned,
        &json!({"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}),
    );
    assert_eq!(
        generate(&simulator, &whole("gemini-2.5-flash"), &budget)
            .await
            .status,
        200
    );
    let skipped = changed(
        "/contents/1/parts/1/thoughtSignature",
        json!("skip_thought_signature_validator"),
    );
    let skipped = generate(&simulator, &whole(MODEL), &skipped).await.json();
    let text = skipped["candidates"][0]["content"]["parts"][1]["text"].clone();
    assert!(
        text.as_str().unwrap().contains("results=2 thoughts=0"),
        "{text}"
    );
}

#[tokio::test]
async fn faults_have_the_form_of_google() {
    let simulator = simulator();
    let path = format!("/~status=429;retry_after=7{}", whole(MODEL));
    let busy = generate(&simulator, &path, &asking("Hi")).await;
    let error = &busy.json()["error"];
    assert_eq!(
        (busy.status, &error["code"], &error["status"]),
        (429, &json!(429), &json!("RESOURCE_EXHAUSTED"))
    );
    assert_eq!(error["details"][0]["retryDelay"], "7s");
    assert!(!busy.headers.contains_key("retry-after"));
    let broken = generate(&simulator, &streamed("error_event_after=2"), &asking("Hi"))
        .await
        .events();
    assert_eq!(broken.len(), 3);
    assert_eq!(broken[2].1["error"]["status"], "UNAVAILABLE");
    let unknown = Request::post(whole(MODEL))
        .body(Bytes::from(asking("Hi").to_string()))
        .unwrap();
    let unknown = send(&simulator, unknown).await;
    assert_eq!(
        (unknown.status, &unknown.json()["error"]["status"]),
        (403, &json!("PERMISSION_DENIED"))
    );
    let path = format!("/~no_usage{}", whole(MODEL));
    let without_usage = generate(&simulator, &path, &asking("Hi")).await.json();
    assert!(without_usage.get("usageMetadata").is_none());
}
