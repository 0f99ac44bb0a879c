//! Tests of recorded streams: the same bytes, complete, or none.

use crate::harness::caching::{CachingSetup, insert_step};
use crate::harness::http_response::typed_response;
use crate::harness::{Request, ScriptedProvider, config};
use headgate_protocol::Protocol;
use serde_json::json;

const STREAMED: [Protocol; 2] = [Protocol::Chat, Protocol::Messages];

#[tokio::test]
async fn a_recorded_stream_is_the_same_bytes() {
    let world = CachingSetup::start(json!({"streams": true})).await;
    for protocol in STREAMED {
        for directives in [
            "events=1",
            "events=200",
            "events=20; pace=5ms",
            "events=3; event_bytes=20000",
        ] {
            let request = Request::ask_stream(protocol).simulate(directives);
            let first = world.expect(&request, "miss", directives).await;
            assert!(first.whole && first.text().contains("data:"));
            let again = world.expect(&request, "hit", directives).await;
            assert!(again.body == first.body, "{protocol:?} {directives}");
            let content_type = again.headers.get("content-type").unwrap();
            assert!(
                content_type.starts_with("text/event-stream"),
                "{content_type}"
            );
            assert_eq!(Some(content_type), first.headers.get("content-type"));
        }
    }
    assert_eq!(world.received().await, STREAMED.len() * 4);
}

#[tokio::test]
async fn a_stream_is_recorded_as_filters_changed_it() {
    for (filter, absent) in [
        (json!("force_usage"), "\"total_tokens\""),
        (
            json!({"restore_model": {"streams": true}}),
            "sim-large-2026-08",
        ),
    ] {
        let world = CachingSetup::with(json!({"streams": true}), |config| {
            match filter == "force_usage" {
                true => insert_step(config, "chat", filter),
                false => {
                    let response = &mut config::route(config, "chat")["response"];
                    *response = json!(["pass_sse", filter, "meter_usage"]);
                }
            }
        })
        .await;
        let request = Request::ask_stream(Protocol::Chat).simulate("events=20");
        let first = world.expect(&request, "miss", "first").await;
        assert!(!first.text().contains(absent), "{}", first.text());
        let again = world.expect(&request, "hit", "again").await;
        assert!(again.body == first.body, "{}", again.text());
    }
}

#[tokio::test]
async fn a_broken_stream_is_never_recorded() {
    let world = CachingSetup::start(json!({"streams": true})).await;
    for protocol in STREAMED {
        for directives in [
            "events=5; cut_after=2",
            "events=5; end_after_events=2",
            "events=5; error_event_after=2",
            "error_event_first",
        ] {
            let request = Request::ask_stream(protocol).simulate(directives);
            let before = world.received().await;
            for _ in 0..2 {
                let (_, outcome) = world.ask(&request).await;
                assert_eq!(outcome, "miss", "{protocol:?} {directives}");
            }
            let sent = world.received().await - before;
            assert!(sent >= 2, "{protocol:?} {directives}: {sent}");
        }
    }
}

#[tokio::test]
async fn a_stream_that_its_caller_left_is_not_recorded() {
    let world = CachingSetup::start(json!({"streams": true})).await;
    let request = Request::ask_stream(Protocol::Chat).simulate("events=100; pace=20ms");
    let mut reply = world.gateway.open(&request).await;
    reply.until("data:").await;
    drop(reply);
    world
        .expect(&request, "miss", "after the first caller left")
        .await;
    world.expect(&request, "hit", "again").await;
}

#[tokio::test]
async fn a_stream_whose_last_event_is_not_terminated_is_sent_and_not_recorded() {
    let body = "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n";
    let response = typed_response(200, "text/event-stream", body);
    let provider = ScriptedProvider::answering(response).await;
    let world = CachingSetup::with(json!({"streams": true}), |config| {
        config["channels"]["openai"]["base_url"] = json!(provider.url());
    })
    .await;
    for _ in 0..2 {
        let request = Request::ask_stream(Protocol::Chat);
        let response = world.expect(&request, "miss", "unterminated").await;
        assert_eq!(response.text(), body);
    }
    assert_eq!(provider.requests().len(), 2);
}
