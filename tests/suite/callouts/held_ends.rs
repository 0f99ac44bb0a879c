//! Tests of the ends of held streams: what the caller still gets, and when its place is free again.

use crate::harness::http_response::json_response;
use crate::harness::service::{
    CONTINUE, STREAM_HEAD, add_service, call_on_responses, payloads, respond,
};
use crate::harness::{
    Gateway, PROTOCOLS, Request, ScriptedProvider, ScriptedResponse, config, eventually,
};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Notify;

fn send(text: impl Into<Vec<u8>>) -> ScriptedResponse {
    ScriptedResponse::Send(text.into())
}

fn delta(text: &str) -> String {
    let data = json!({"choices": [{"index": 0, "delta": {"content": text}}]});
    format!("data: {data}\n\n")
}

fn completion() -> Vec<u8> {
    let choice = json!({"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"});
    let body = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]});
    json_response(200, body)
}

/// A gateway whose streams wait for their end, and whose caller may have one request in flight.
async fn gateway(provider: &ScriptedProvider, service: &ScriptedProvider) -> Gateway {
    let mut config = config::standard(&provider.url());
    config::without_cool_downs(&mut config);
    add_service(&mut config, service, json!({"timeout": "30s"}));
    config["callers"][0]["limits"] = json!({"concurrent": 1});
    let hold = json!({"events": 10_000, "time": "60s", "bytes": "16MiB"});
    for protocol in PROTOCOLS {
        call_on_responses(&mut config, protocol.name(), json!({"hold": hold}));
        let chain = &mut config::route(&mut config, protocol.name())["request"];
        chain
            .as_array_mut()
            .unwrap()
            .push(Value::from("rate_limit"));
    }
    Gateway::start(&config).await
}

#[tokio::test]
async fn a_stream_whose_provider_is_done_takes_no_place_of_its_caller() {
    let service = ScriptedProvider::start(respond(CONTINUE)).await;
    let provider = ScriptedProvider::answering(completion()).await;
    let gateway = gateway(&provider, &service).await;
    let decided = Arc::new(Notify::new());
    service.next(vec![
        ScriptedResponse::WaitFor(decided.clone()),
        send(json_response(200, CONTINUE)),
    ]);
    let finish = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    let events = format!("{}data: {finish}\n\ndata: [DONE]\n\n", delta("hello"));
    provider.next(vec![
        send(STREAM_HEAD),
        send(events),
        ScriptedResponse::Close,
    ]);
    let mut stream = gateway.open(&Request::ask_stream(Protocol::Chat)).await;
    let asked = async || (payloads(&service).len() == 1).then_some(());
    eventually("the decision about the only window", asked).await;
    let second = gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(second.status, 200, "{}", second.text());
    decided.notify_one();
    assert!(stream.until("[DONE]").await.contains("hello"));
}

#[tokio::test]
async fn events_before_one_that_is_too_large_reach_the_caller_if_they_are_allowed() {
    let service = ScriptedProvider::start(respond(CONTINUE)).await;
    let provider = ScriptedProvider::answering(completion()).await;
    let gateway = gateway(&provider, &service).await;
    let large = delta(&"x".repeat(17 << 20));
    provider.next(vec![
        send(STREAM_HEAD),
        send(delta("hello")),
        send(large),
        ScriptedResponse::Close,
    ]);
    let mut stream = gateway.open(&Request::ask_stream(Protocol::Chat)).await;
    let seen = stream.until("cannot be checked").await;
    assert!(seen.contains("hello"), "{seen}");
    let payload = payloads(&service).pop().unwrap();
    assert_eq!(payload["response"]["text"], "hello", "{payload}");
}
