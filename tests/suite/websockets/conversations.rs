//! Tests of responses that continue others: those that the provider has not stored are continued from memory.

use super::{started, with_websockets};
use crate::harness::websocket::create;
use crate::harness::{TestSetup, WebSocketClient};
use serde_json::{Value, json};

/// The texts of the items that the provider has received last.
async fn received_items(world: &TestSetup) -> Vec<String> {
    let body: Value = serde_json::from_slice(&world.simulator.last_body().await).unwrap();
    assert_eq!(body.get("previous_response_id"), None, "{body}");
    let items = body["input"].as_array().expect("a list of items");
    items
        .iter()
        .map(|item| item["content"].to_string())
        .collect()
}

#[tokio::test]
async fn a_response_that_was_not_stored_is_continued_with_its_whole_conversation() {
    let world = started().await;
    let mut client = WebSocketClient::open(&world.gateway).await;
    let mut previous = Value::Null;
    for (turn, text) in ["First", "Second", "Third"].into_iter().enumerate() {
        let event = create(
            text,
            json!({"store": false, "previous_response_id": previous}),
        );
        let last = client.ask(&event).await;
        assert_eq!(last["type"], "response.completed", "{last}");
        previous = last["response"]["id"].clone();
        if turn > 0 {
            let items = received_items(&world).await;
            assert_eq!(items.len(), 2 * turn + 1, "{items:?}");
            assert!(
                items[0].contains("First") && items[2 * turn].contains(text),
                "{items:?}"
            );
            assert!(items[1].contains("output_text"), "{items:?}");
        }
    }
}

#[tokio::test]
async fn a_conversation_can_be_forked_on_another_stream() {
    let world = started().await;
    let mut client = WebSocketClient::open(&world.gateway).await;
    let root = client.ask(&create("Root", json!({"store": false}))).await;
    let id = &root["response"]["id"];
    for stream in ["left", "right"] {
        let event = create(
            stream,
            json!({"store": false, "previous_response_id": id, "stream_id": stream}),
        );
        assert_eq!(client.ask(&event).await["type"], "response.completed");
        let items = received_items(&world).await;
        assert!(items.len() == 3 && items[2].contains(stream), "{items:?}");
    }
}

#[tokio::test]
async fn a_warm_up_asks_no_provider_and_its_input_precedes_the_next() {
    let world = started().await;
    let mut client = WebSocketClient::open(&world.gateway).await;
    client
        .send(&create("Prepare", json!({"generate": false})))
        .await;
    let events = client.response().await;
    let kinds: Vec<_> = events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["response.created", "response.completed"]);
    let response = &events[1]["response"];
    assert_eq!(
        (&response["output"], &response["usage"]["total_tokens"]),
        (&json!([]), &json!(0))
    );
    assert_eq!(world.simulator.records().await.len(), 0);
    let event = create(
        "Go",
        json!({"store": false, "previous_response_id": response["id"]}),
    );
    assert_eq!(client.ask(&event).await["type"], "response.completed");
    let items = received_items(&world).await;
    assert!(
        items.len() == 2 && items[0].contains("Prepare") && items[1].contains("Go"),
        "{items:?}"
    );
}

#[tokio::test]
async fn a_warm_up_is_checked_and_logged_like_any_request() {
    let world = started().await;
    let mut client = WebSocketClient::open(&world.gateway).await;
    for (further, code) in [
        (json!({"model": "nope"}), "model_not_found"),
        (json!({"input": 5}), "invalid_value"),
        (json!({"temperature": "hot"}), "invalid_value"),
    ] {
        let mut event = create("Prepare", further);
        event["generate"] = false.into();
        let error = client.ask(&event).await;
        assert_eq!(error["error"]["code"], code, "{error}");
    }
    let last = client
        .ask(&create("Prepare", json!({"generate": false})))
        .await;
    assert_eq!(last["type"], "response.completed", "{last}");
    let is_warm_up = |line: &Value| line["websocket"] == true && line["status"] == 200;
    let line = world.gateway.log_line(is_warm_up).await;
    assert_eq!(
        (&line["settlement"], &line["attempts"]),
        (&json!("gateway_reply"), &json!(0)),
        "{line}"
    );
    assert_eq!(world.simulator.records().await.len(), 0);
}

#[tokio::test]
async fn what_follows_on_a_stream_comes_after_all_events_before_it() {
    let world = started().await;
    for _ in 0..40 {
        let mut client = WebSocketClient::open(&world.gateway).await;
        client.send(&create("First", json!({"store": false}))).await;
        let created = client.event().await;
        let id = &created["response"]["id"];
        client
            .send(&create(
                "Second",
                json!({"store": false, "previous_response_id": id}),
            ))
            .await;
        client
            .send(&create("Prepare", json!({"generate": false})))
            .await;
        let first = client.response().await;
        assert_eq!(first.last().unwrap()["response"]["id"], *id);
        let second = client.response().await;
        assert_eq!(
            second.last().unwrap()["type"],
            "response.completed",
            "{second:?}"
        );
        assert_eq!(client.response().await.len(), 2);
    }
    assert_eq!(received_items(&world).await.len(), 3);
}

#[tokio::test]
async fn a_response_that_the_provider_has_stored_is_continued_there() {
    let world = started().await;
    let mut client = WebSocketClient::open(&world.gateway).await;
    let first = client.ask(&create("First", json!({}))).await;
    let id = first["response"]["id"].clone();
    let next = create("Second", json!({"previous_response_id": id}));
    assert_eq!(client.ask(&next).await["type"], "response.completed");
    let body: Value = serde_json::from_slice(&world.simulator.last_body().await).unwrap();
    assert_eq!(
        (&body["previous_response_id"], &body["input"]),
        (&id, &json!("Second"))
    );
}

#[tokio::test]
async fn a_response_that_is_not_kept_any_more_is_never_continued_without_its_history() {
    let world = with_websockets(json!({"history": "4KiB"})).await;
    let mut client = WebSocketClient::open(&world.gateway).await;
    let long = "x".repeat(2_000);
    let mut ids = Vec::new();
    for _ in 0..3 {
        let last = client.ask(&create(&long, json!({"store": false}))).await;
        ids.push(last["response"]["id"].clone());
    }
    let asked = world.simulator.records().await.len();
    let next = |id: &Value| {
        create(
            "Next",
            json!({"store": false, "previous_response_id": id, "stream_id": "s"}),
        )
    };
    let error = client.ask(&next(&ids[0])).await;
    assert_eq!(
        error["error"]["code"], "previous_response_not_found",
        "{error}"
    );
    assert_eq!(
        (&error["status"], &error["stream_id"]),
        (&json!(400), &json!("s")),
        "{error}"
    );
    assert_eq!(world.simulator.records().await.len(), asked);
    assert_eq!(
        client.ask(&next(&ids[2])).await["type"],
        "response.completed"
    );
}

#[tokio::test]
async fn a_response_of_another_websocket_is_not_found() {
    let world = started().await;
    let mut one = WebSocketClient::open(&world.gateway).await;
    let last = one.ask(&create("First", json!({"store": false}))).await;
    let mut other = WebSocketClient::open(&world.gateway).await;
    for id in [json!("resp_never_made"), last["response"]["id"].clone()] {
        let event = create("Next", json!({"store": false, "previous_response_id": id}));
        let error = other.ask(&event).await;
        assert_eq!(
            error["error"]["code"], "previous_response_not_found",
            "{error}"
        );
    }
}
