//! Tests of the messages in spans, which a route has only if it asks for them.

use super::{TracingSetup, id_of};
use crate::harness::http_response::{json_response, typed_response};
use crate::harness::otlp::ReceivedSpan;
use crate::harness::request::{ANN, body_of};
use crate::harness::{Gateway, Request, ScriptedProvider, config};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

const PROMPT: &str = "canary-prompt-77aa";
const OUTPUT: &str = "canary-output-31bb";
const KEY: &str = "sk-canary-1234567890abcdef";

fn prompt(protocol: Protocol) -> Request {
    let mut body = body_of(protocol);
    let text = json!(format!("{PROMPT} with {KEY}"));
    match protocol {
        Protocol::Responses => body["input"] = text,
        _ => body["messages"][0]["content"] = text,
    }
    Request::to(protocol, body.to_string())
}

fn response() -> Vec<u8> {
    let body = json!({"id": "chatcmpl-1", "object": "chat.completion", "choices": [
        {"index": 0, "message": {"role": "assistant", "content": OUTPUT}, "finish_reason": "stop"}
    ], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}});
    json_response(200, body)
}

async fn setup(response: Vec<u8>, traced: Option<Value>) -> TracingSetup {
    let provider = ScriptedProvider::answering(response).await;
    TracingSetup::with(provider, json!({}), |config| {
        if let Some(traced) = traced {
            config::route(config, "chat")["traced_messages"] = traced;
        }
    })
    .await
}

/// The bytes of all exports, without their heads.
fn exported(setup: &TracingSetup) -> String {
    let exports = setup.collector.0.raw_requests();
    exports
        .iter()
        .map(|export| String::from_utf8_lossy(export).into_owned())
        .collect()
}

fn messages(span: &ReceivedSpan, side: &str) -> Value {
    let text = span.get(&format!("gen_ai.{side}.messages"));
    text.as_str()
        .map_or(Value::Null, |text| serde_json::from_str(text).unwrap())
}

#[tokio::test]
async fn without_the_setting_no_byte_of_a_prompt_is_exported() {
    for traced in [None, Some(json!({})), Some(json!({"size_max": "32KiB"}))] {
        let setup = setup(response(), traced.clone()).await;
        let response = setup.gateway.ask(&prompt(Protocol::Chat)).await;
        assert!(response.text().contains(OUTPUT));
        let spans = setup.collector.exchange(id_of(&response)).await;
        assert_eq!(spans.len(), 2);
        let exported = exported(&setup);
        for text in [
            PROMPT,
            OUTPUT,
            KEY,
            "gen_ai.input",
            "gen_ai.output.messages",
        ] {
            assert!(!exported.contains(text), "{traced:?}: {text}");
        }
    }
}

#[tokio::test]
async fn only_the_spans_of_a_route_that_asks_have_messages_and_never_a_key() {
    let setup = setup(response(), Some(json!({"input": true, "output": true}))).await;
    let asking = setup.gateway.ask(&prompt(Protocol::Chat)).await;
    let spans = setup.collector.exchange(id_of(&asking)).await;
    assert_eq!(
        messages(&spans[0], "input"),
        json!([{"role": "user", "parts": [{"type": "text", "content": format!("{PROMPT} with [secret]")}]}])
    );
    assert_eq!(
        messages(&spans[0], "output"),
        json!([{"role": "assistant", "parts": [{"type": "text", "content": OUTPUT}], "finish_reason": "stop"}])
    );
    assert_eq!(*spans[0].get("headgate.messages.truncated"), Value::Null);
    assert_eq!(messages(&spans[1], "input"), Value::Null);
    let count = exported(&setup).matches(PROMPT).count();
    for protocol in [Protocol::Messages, Protocol::Responses] {
        let other = setup.gateway.ask(&prompt(protocol)).await;
        let spans = setup.collector.exchange(id_of(&other)).await;
        assert_eq!(messages(&spans[0], "input"), Value::Null, "{protocol:?}");
    }
    let exported = exported(&setup);
    assert_eq!(exported.matches(PROMPT).count(), count);
    for key in [KEY, ANN] {
        assert!(!exported.contains(key), "{key}");
    }
}

#[tokio::test]
async fn input_and_output_are_asked_for_each_by_itself() {
    for (traced, has_input, has_output) in [
        (json!({"input": true}), true, false),
        (json!({"output": true}), false, true),
    ] {
        let setup = setup(response(), Some(traced)).await;
        let response = setup.gateway.ask(&prompt(Protocol::Chat)).await;
        let spans = setup.collector.exchange(id_of(&response)).await;
        let exported = exported(&setup);
        assert_eq!(messages(&spans[0], "input").is_array(), has_input);
        assert_eq!(exported.contains(PROMPT), has_input);
        assert_eq!(messages(&spans[0], "output").is_array(), has_output);
        assert_eq!(exported.contains(OUTPUT), has_output);
    }
}

#[tokio::test]
async fn messages_above_the_limit_are_cut_and_marked() {
    let traced = json!({"input": true, "output": true, "size_max": "1KiB"});
    let setup = setup(response(), Some(traced)).await;
    let mut body = body_of(Protocol::Chat);
    body["messages"][0]["content"] = json!(format!("{PROMPT} {} end", "very ".repeat(50_000)));
    let request = Request::to(Protocol::Chat, body.to_string());
    let response = setup.gateway.ask(&request).await;
    assert_eq!(response.status, 200, "{}", response.text());
    let spans = setup.collector.exchange(id_of(&response)).await;
    let input = spans[0].get("gen_ai.input.messages").as_str().unwrap();
    assert!((900..1_100).contains(&input.len()), "{}", input.len());
    assert!(input.contains(PROMPT) && !input.contains("end"), "{input}");
    assert!(messages(&spans[0], "input").is_array());
    assert_eq!(*spans[0].get("headgate.messages.truncated"), true);
}

#[tokio::test]
async fn the_output_of_a_stream_is_the_text_of_its_events() {
    let mut events = String::new();
    for piece in ["canary-", "output-", "31bb"] {
        let event = json!({"choices": [{"index": 0, "delta": {"content": piece}}]});
        events.push_str(&format!("data: {event}\n\n"));
    }
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    events.push_str(&format!("data: {end}\n\ndata: [DONE]\n\n"));
    let response = typed_response(200, "text/event-stream", events);
    let setup = setup(response, Some(json!({"output": true}))).await;
    let response = setup
        .gateway
        .ask(&Request::ask_stream(Protocol::Chat))
        .await;
    assert!(response.text().contains("[DONE]"), "{}", response.text());
    let spans = setup.collector.exchange(id_of(&response)).await;
    assert_eq!(
        messages(&spans[0], "output"),
        json!([{"role": "assistant", "parts": [{"type": "text", "content": OUTPUT}], "finish_reason": "stop"}])
    );
}

#[tokio::test]
async fn the_input_is_what_providers_get_after_the_filters() {
    let provider = ScriptedProvider::answering(response()).await;
    let setup = TracingSetup::with(provider, json!({}), |config| {
        let route = config::route(config, "chat");
        route["traced_messages"] = json!({"input": true});
        let replace = json!({"replace": [{"in": "/messages/*/content", "match": "4711-[0-9]+", "with": "[number]"}]});
        route["request"].as_array_mut().unwrap().push(replace);
    })
    .await;
    let mut body = body_of(Protocol::Chat);
    body["messages"][0]["content"] = json!(format!("{PROMPT} 4711-0815"));
    let request = Request::to(Protocol::Chat, body.to_string());
    let response = setup.gateway.ask(&request).await;
    assert_eq!(response.status, 200, "{}", response.text());
    let spans = setup.collector.exchange(id_of(&response)).await;
    assert!(messages(&spans[0], "input").to_string().contains(PROMPT));
    assert!(!exported(&setup).contains("4711-0815"));
}

#[tokio::test]
async fn settings_that_cannot_work_are_refused_or_warned_of() {
    let provider = ScriptedProvider::answering(response()).await;
    let mut config = config::standard(&provider.url());
    let gateway = Gateway::start(&config).await;
    let reload = async |config: &Value| {
        gateway.folder.replace("routes.yaml", format!("{config:#}"));
        gateway.page("POST", "/reload").await
    };
    config::route(&mut config, "chat")["traced_messages"] = json!({"input": true});
    let warned = reload(&config).await;
    assert_eq!(warned.status, 200, "{}", warned.text());
    crate::harness::eventually("a warning", async || {
        let log = gateway.process.stderr.all().concat();
        log.contains("has no effect without `tracing`")
            .then_some(())
    })
    .await;
    config["tracing"] = json!({"endpoint": "http://127.0.0.1:1"});
    config::route(&mut config, "chat")["traced_messages"] = json!({"size_max": "33KiB"});
    let refused = reload(&config).await;
    assert_ne!(refused.status, 200);
    assert!(
        refused.text().contains("must be at most 32KiB"),
        "{}",
        refused.text()
    );
}
