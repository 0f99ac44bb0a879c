//! What a response loses is counted and named, and so is what a request loses.

use super::{config_for, stream_response};
use crate::harness::http_response::json_response;
use crate::harness::otlp::TraceCollector;
use crate::harness::{Gateway, Request, ScriptedProvider};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

fn ask(more: Value) -> Request {
    let mut body = json!({"model": "demo-large", "max_tokens": 9, "speed": "fast",
        "messages": [{"role": "user", "content": "Hello"}]});
    let members = body.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    Request::to(Protocol::Messages, body.to_string())
}

async fn losses(gateway: &Gateway, side: &str, outcome: &str) -> f64 {
    let labels = [
        ("pair", "messages->chat"),
        ("side", side),
        ("outcome", outcome),
    ];
    let metrics = gateway.metrics().await;
    metrics.sum("headgate_translation_losses_total", &labels)
}

#[tokio::test]
async fn an_unknown_member_of_a_response_is_counted_and_named_in_log_and_trace() {
    let answer = json!({"id": "chatcmpl-7", "object": "chat.completion", "created": 1, "model": "m", "colour": 1,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}});
    let provider = ScriptedProvider::answering(json_response(200, answer)).await;
    let collector = TraceCollector::start().await;
    let mut config = config_for("messages", "chat", &provider.url());
    collector.add_to(&mut config, json!({}));
    let gateway = Gateway::start(&config).await;
    let response = gateway.ask(&ask(json!({}))).await;
    assert_eq!(response.status, 200, "{}", response.text());
    assert!(!response.text().contains("colour"), "{}", response.text());

    let log = gateway.log_of(&response).await;
    let translation = log["translation"].as_str().unwrap();
    let (request, lost) = translation.split_once("; response: ").expect("both sides");
    assert_eq!(
        request,
        response.headers.get("x-headgate-translation").unwrap()
    );
    assert!(request.contains("dropped=speed"), "{translation}");
    assert!(lost.contains("colour"), "{translation}");
    let spans = collector
        .exchange(response.headers.get("x-request-id").unwrap())
        .await;
    assert_eq!(*spans[0].get("headgate.translation"), json!(translation));
    assert_eq!(losses(&gateway, "request", "dropped").await, 1.0);
    assert_eq!(losses(&gateway, "response", "dropped").await, 1.0);
    let labels = [("pair", "messages->chat")];
    let metrics = gateway.metrics().await;
    assert_eq!(metrics.sum("headgate_translations_total", &labels), 1.0);
}

#[tokio::test]
async fn members_of_each_event_are_counted_also_of_a_stream_that_breaks_off() {
    let chunk = json!({"id": "chatcmpl-7", "object": "chat.completion.chunk", "created": 1, "model": "m", "colour": 1,
        "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Su"}, "finish_reason": null}]});
    let stream = stream_response(&[chunk.clone(), chunk], "data: {oops\n\n");
    let provider = ScriptedProvider::answering(stream).await;
    let gateway = Gateway::start(&config_for("messages", "chat", &provider.url())).await;
    let response = gateway.ask(&ask(json!({"stream": true}))).await;
    let log = gateway.log_of(&response).await;
    let translation = log["translation"].as_str().unwrap();
    assert!(translation.contains("; response: dropped="), "{log}");
    assert!(translation.contains("colour*2"), "{log}");
    assert_eq!(losses(&gateway, "response", "dropped").await, 2.0);
}

#[tokio::test]
async fn a_second_answer_is_counted_and_named_whole_and_as_a_stream() {
    let choice = |index: u64, content: &str, text: &str| json!({"index": index, "finish_reason": "stop", content: {"role": "assistant", "content": text}});
    let head = json!({"id": "chatcmpl-7", "created": 1, "model": "m",
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}});
    let with = |object: &str, choices: Value| {
        let mut answer = head.clone();
        (answer["object"], answer["choices"]) = (json!(object), choices);
        answer
    };
    let whole = with(
        "chat.completion",
        json!([
            choice(0, "message", "First."),
            choice(1, "message", "Second.")
        ]),
    );
    let chunks = [0, 1].map(|index| {
        let text = ["First.", "Second."][usize::try_from(index).unwrap()];
        with(
            "chat.completion.chunk",
            json!([choice(index, "delta", text)]),
        )
    });
    for (is_stream, response) in [
        (false, json_response(200, whole)),
        (true, stream_response(&chunks, "data: [DONE]\n\n")),
    ] {
        let provider = ScriptedProvider::answering(response).await;
        let gateway = Gateway::start(&config_for("messages", "chat", &provider.url())).await;
        let response = gateway.ask(&ask(json!({"stream": is_stream}))).await;
        assert_eq!(response.status, 200, "{}", response.text());
        let text = response.text();
        assert!(
            text.contains("First.") && !text.contains("Second."),
            "{text}"
        );
        let log = gateway.log_of(&response).await;
        let (_, lost) = log["translation"]
            .as_str()
            .unwrap()
            .split_once("; response: ")
            .unwrap();
        assert_eq!(lost, "dropped=choices[]");
        assert_eq!(losses(&gateway, "response", "dropped").await, 1.0, "{lost}");
    }
}

#[tokio::test]
async fn a_refused_request_is_counted() {
    let provider = ScriptedProvider::answering(Vec::new()).await;
    let gateway = Gateway::start(&config_for("messages", "chat", &provider.url())).await;
    let search = json!({"tools": [{"type": "web_search_20250305", "name": "web_search"}]});
    let response = gateway.ask(&ask(search)).await;
    assert_eq!(response.status, 400, "{}", response.text());
    let log = gateway.log_of(&response).await;
    assert_eq!(log["translation"], "messages->chat; refused", "{log}");
    assert_eq!(losses(&gateway, "request", "refused").await, 1.0);
    assert_eq!(losses(&gateway, "request", "dropped").await, 0.0);
}
