//! Tests of what is never recorded: what a provider stores or continues, and whatever is no complete, good response.

use crate::harness::caching::{CachingSetup, add_step};
use crate::harness::config::route;
use crate::harness::{Request, body_of};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// A setup in which streams are recorded, too, and routes accept whatever a test sends.
async fn setup() -> CachingSetup {
    CachingSetup::with(json!({"streams": true}), |config| {
        add_step(config, "responses", json!({"cache": {"streams": true}}));
        for name in ["chat", "messages", "responses"] {
            let chain = route(config, name)["request"].as_array_mut().unwrap();
            chain.retain(|step| step != "validate" && step != "follow_ids");
        }
    })
    .await
}

#[tokio::test]
async fn requests_that_are_stored_or_continued_go_past_the_cache() {
    use Protocol::{Chat, Messages, Responses};
    let world = setup().await;
    for (protocol, members) in [
        (Chat, json!({"store": true})),
        (
            Chat,
            json!({"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_id": "file-1"}}]}]}),
        ),
        (Messages, json!({"container": "container_1"})),
        (Messages, json!({"container": {"skills": []}})),
        (
            Messages,
            json!({"messages": [{"role": "user", "content": [{"type": "container_upload", "file_id": "file_1"}]}]}),
        ),
        (Responses, json!({})),
        (Responses, json!({"store": true})),
        (Responses, json!({"store": null})),
        (Responses, json!({"store": false, "background": true})),
        (Responses, json!({"store": false, "conversation": "conv_1"})),
        (
            Responses,
            json!({"store": false, "conversation": {"id": "conv_1"}}),
        ),
        (
            Responses,
            json!({"store": false, "previous_response_id": "resp_1"}),
        ),
        (
            Responses,
            json!({"store": false, "tools": [{"type": "code_interpreter", "container": {"type": "auto"}}]}),
        ),
        (
            Responses,
            json!({"store": false, "tools": [{"type": "file_search", "vector_store_ids": ["vs_1"]}]}),
        ),
    ] {
        let mut body = body_of(protocol);
        for (name, value) in members.as_object().unwrap() {
            body[name] = value.clone();
        }
        let request = Request::to(protocol, body.to_string());
        let before = world.received().await;
        for _ in 0..2 {
            let (_, outcome) = world.ask(&request).await;
            assert_eq!(outcome, "bypass", "{protocol:?} {members}");
        }
        assert_eq!(world.received().await, before + 2, "{protocol:?} {members}");
    }
}

#[tokio::test]
async fn responses_with_ids_that_can_be_continued_are_not_recorded() {
    let world = setup().await;
    for is_stream in [false, true] {
        let mut body = body_of(Protocol::Responses);
        body["store"] = json!(false);
        body["stream"] = json!(is_stream);
        let request = Request::to(Protocol::Responses, body.to_string());
        for _ in 0..3 {
            world.expect(&request, "miss", "a response has an id").await;
        }
    }
    assert_eq!(world.received().await, 6);
}

#[tokio::test]
async fn other_responses_than_complete_good_ones_are_not_recorded() {
    let world = setup().await;
    for directives in [
        "status=500",
        "status=429",
        "status=400",
        "status=404",
        "html",
        "cut",
        "malformed",
    ] {
        let request = Request::ask(Protocol::Chat).simulate(directives);
        let before = world.received().await;
        for _ in 0..2 {
            let mut connection = world.gateway.connect().await;
            connection.send(&request.bytes()).await.unwrap();
            let response = connection.answer().await;
            let outcome =
                response.and_then(|one| one.headers.get("x-headgate-cache").map(str::to_owned));
            assert!(
                outcome.is_none_or(|outcome| outcome == "miss"),
                "{directives}"
            );
        }
        assert_eq!(world.received().await, before + 2, "{directives}");
    }
}

#[tokio::test]
async fn other_bodies_and_methods_go_past_the_cache() {
    let world = CachingSetup::start(json!({})).await;
    let stream: Value = json!({"model": "demo-large", "messages": [{"role": "user", "content": "Hello"}], "stream": true});
    // Streams are recorded only where the operator allows it.
    for _ in 0..2 {
        let request = Request::to(Protocol::Chat, stream.to_string());
        world.expect(&request, "bypass", "a stream").await;
    }
    assert_eq!(world.received().await, 2);
}
