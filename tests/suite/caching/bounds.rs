//! Tests of the bounds of recorded responses, and of reloads.

use crate::harness::caching::{CachingSetup, add_step, caching_config, insert_step};
use crate::harness::config::{caller, route};
use crate::harness::{Gateway, Request, Simulator};
use headgate_protocol::Protocol;
use serde_json::json;

fn request(text: &str, bytes: usize) -> Request {
    let body = json!({"model": "demo-large", "messages": [{"role": "user", "content": text}]});
    let directives = format!("body_bytes={bytes}");
    Request::to(Protocol::Chat, body.to_string()).simulate(&directives)
}

#[tokio::test]
async fn a_response_above_the_size_of_an_entry_is_sent_and_not_recorded() {
    let settings = json!({"entry_size": "4KiB", "streams": true});
    let world = CachingSetup::start(settings).await;
    for (bytes, is_recorded) in [(500, true), (8_000, false), (3_000_000, false)] {
        let mut stream = request("stream", bytes);
        let text = String::from_utf8(stream.body.take().unwrap()).unwrap();
        let text = text.replacen('{', "{\"stream\":true,\"n\":1,", 1);
        // Events take more bytes than their text.
        let events = format!("body_bytes={bytes}; events=4");
        let stream = stream
            .with_body(text.into_bytes())
            .without("x-simulate")
            .simulate(&events);
        for request in [request("json", bytes), stream] {
            let first = world.expect(&request, "miss", "first").await;
            assert!(first.whole && first.body.len() > bytes);
            let expected = if is_recorded { "hit" } else { "miss" };
            let again = world.expect(&request, expected, &bytes.to_string()).await;
            assert_eq!(again.body.len(), first.body.len());
        }
    }
}

#[tokio::test]
async fn the_least_recently_used_responses_make_room() {
    let settings = json!({"entry_size": "8KiB", "memory": "16KiB"});
    let world = CachingSetup::start(settings).await;
    let of = |text: &str| request(text, 4_000);
    for text in ["a", "b", "c"] {
        world.expect(&of(text), "miss", text).await;
    }
    world.expect(&of("a"), "hit", "a was used last").await;
    for (text, expected) in [("d", "miss"), ("a", "hit"), ("d", "hit"), ("b", "miss")] {
        world.expect(&of(text), expected, text).await;
    }
}

#[tokio::test]
async fn a_reload_keeps_responses_as_long_as_the_filters_are_the_same() {
    let simulator = Simulator::start().await;
    let base = caching_config(&simulator.url(), &json!({}));
    let gateway = Gateway::start(&base).await;
    let world = CachingSetup { gateway, simulator };
    let asked = Request::ask(Protocol::Chat);
    world.expect(&asked, "miss", "first").await;
    let mut with_caller = base.clone();
    let callers = with_caller["callers"].as_array_mut().unwrap();
    callers.push(caller("eve", "sk-eve-canary-000001", &["*"]));
    world.gateway.reload(&with_caller).await;
    world.expect(&asked, "hit", "a further caller").await;
    let mut with_filter = with_caller.clone();
    insert_step(
        &mut with_filter,
        "chat",
        json!({"set_headers": {"x-operator": "1"}}),
    );
    world.gateway.reload(&with_filter).await;
    world.expect(&asked, "miss", "another filter").await;
    world.expect(&asked, "hit", "the same filter").await;
    let mut with_response = with_filter.clone();
    route(&mut with_response, "chat")["response"] =
        json!(["pass_sse", "restore_model", "meter_usage"]);
    world.gateway.reload(&with_response).await;
    let restored = world
        .expect(&asked, "miss", "another response filter")
        .await;
    assert!(restored.text().contains("demo-large"));
    let mut with_model = with_response.clone();
    with_model["channels"]["openai"]["models"]["demo-large"] = json!("sim-other-2026-08");
    world.gateway.reload(&with_model).await;
    world
        .expect(&asked, "miss", "another model of the channel")
        .await;
    let mut without = with_model.clone();
    let chain = route(&mut without, "chat")["request"]
        .as_array_mut()
        .unwrap();
    chain.pop();
    world.gateway.reload(&without).await;
    world.expect(&asked, "none", "no cache").await;
    add_step(&mut without, "chat", json!({"cache": {"ttl": "10m"}}));
    world.gateway.reload(&without).await;
    world.expect(&asked, "miss", "other settings").await;
}
