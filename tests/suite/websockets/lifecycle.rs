//! Tests of WebSockets over a reload, a shutdown, their maximum age, and the departure of either side.

use super::{started, with_websockets};
use crate::harness::websocket::{create, handshake};
use crate::harness::{Gateway, Simulator, WebSocketClient, config, eventually};
use serde_json::{Value, json};

#[tokio::test]
async fn a_reload_keeps_websockets_open_and_applies_to_their_next_request() {
    let simulator = Simulator::start().await;
    let mut config = config::standard(&simulator.url());
    config::route(&mut config, "responses")["websocket"] = json!({});
    let gateway = Gateway::start(&config).await;
    let mut client = WebSocketClient::open(&gateway).await;
    assert_eq!(
        client.ask(&create("One", json!({}))).await["type"],
        "response.completed"
    );
    config["channels"]["openai"]["models"]["added"] = json!("sim-large");
    gateway.reload(&config).await;
    let last = client.ask(&create("Two", json!({"model": "added"}))).await;
    assert_eq!(last["type"], "response.completed", "{last}");
    // The key is revoked.
    let callers = config["callers"].as_array_mut().unwrap();
    callers.retain(|caller| caller["name"] != "ann");
    gateway.reload(&config).await;
    let error = client.ask(&create("Three", json!({}))).await;
    assert_eq!(
        (&error["status"], &error["error"]["code"]),
        (&json!(401), &json!("invalid_api_key")),
        "{error}"
    );
    assert_eq!(client.close_code().await, Some(1008));
    let refused = async || {
        let metrics = gateway.metrics().await;
        let ended = metrics.sum("headgate_websockets_ended_total", &[("reason", "refused")]);
        (ended == 1.0).then_some(())
    };
    eventually("the end in the metrics", refused).await;
}

#[tokio::test]
async fn a_used_up_budget_refuses_the_next_request_and_closes() {
    let simulator = Simulator::start().await;
    let mut config = config::standard(&simulator.url());
    let route = config::route(&mut config, "responses");
    route["websocket"] = json!({});
    route["request"]
        .as_array_mut()
        .unwrap()
        .push(json!("rate_limit"));
    let callers = config["callers"].as_array_mut().unwrap();
    let ann = callers
        .iter_mut()
        .find(|caller| caller["name"] == "ann")
        .unwrap();
    ann["limits"] = json!({"tokens_per_day": 40});
    let gateway = Gateway::start(&config).await;
    let mut client = WebSocketClient::open(&gateway).await;
    let mut last = Value::Null;
    for _ in 0..5 {
        last = client
            .ask(&create("Hello", json!({"max_output_tokens": 20})))
            .await;
        if last["type"] == "error" {
            break;
        }
    }
    assert_eq!(
        (&last["status"], &last["error"]["code"]),
        (&json!(429), &json!("insufficient_quota")),
        "{last}"
    );
    assert_eq!(client.close_code().await, Some(1008));
}

#[tokio::test]
async fn a_shutdown_closes_idle_websockets_and_lets_responses_end() {
    let mut world = started().await;
    let mut idle = WebSocketClient::open(&world.gateway).await;
    let request = handshake().simulate("pace=50ms; events=30");
    let mut busy = WebSocketClient::open_by(&world.gateway, &request).await;
    busy.send(&create("Hello", json!({}))).await;
    assert_eq!(busy.event().await["type"], "response.created");
    world.gateway.process.signal(libc::SIGTERM);
    assert_eq!(idle.close_code().await, Some(1001));
    busy.send(&create("Later", json!({"stream_id": "late"})))
        .await;
    let mut late = None;
    let last = loop {
        let event = busy.event().await;
        match event["stream_id"].as_str() {
            Some(_) => late = Some(event),
            None if event["type"] == "response.completed" => break event,
            None => {}
        }
    };
    assert_eq!(last["response"]["status"], "completed");
    let late = late.expect("an answer to the late request");
    assert_eq!(
        late["error"]["code"], "websocket_connection_limit_reached",
        "{late}"
    );
    assert_eq!(busy.close_code().await, Some(1001));
    let ended = async || world.gateway.process.ended();
    assert!(eventually("the end of the process", ended).await.success());
}

#[tokio::test]
async fn a_websocket_of_its_maximum_age_is_closed_after_its_responses() {
    let world = with_websockets(json!({"max_age": "1s"})).await;
    let mut idle = WebSocketClient::open(&world.gateway).await;
    let request = handshake().simulate("pace=100ms; events=20");
    let mut busy = WebSocketClient::open_by(&world.gateway, &request).await;
    busy.send(&create("Hello", json!({}))).await;
    assert_eq!(idle.close_code().await, Some(1001));
    assert_eq!(
        busy.response().await.pop().unwrap()["type"],
        "response.completed"
    );
    assert_eq!(busy.close_code().await, Some(1001));
}

#[tokio::test]
async fn a_client_that_leaves_cancels_its_responses() {
    let world = started().await;
    let request = handshake().simulate("pace=50ms; events=500");
    for is_reset in [false, true] {
        let mut client = WebSocketClient::open_by(&world.gateway, &request).await;
        for stream in ["a", "b"] {
            client
                .send(&create("Hello", json!({"stream_id": stream})))
                .await;
        }
        for _ in 0..4 {
            client.event().await;
        }
        match is_reset {
            true => client.connection.reset(),
            false => drop(client),
        }
        let open = async || (world.simulator.open().await == 0).then_some(());
        eventually("the end of the provider's responses", open).await;
    }
    let cancelled = async || {
        let lines = world.gateway.log().into_iter();
        let cancelled = lines.filter(|line| line["settlement"] == "client_cancelled");
        (cancelled.count() == 4).then_some(())
    };
    eventually("four cancelled responses in the log", cancelled).await;
    assert_eq!(
        world.gateway.metrics().await.sum("headgate_in_flight", &[]),
        0.0
    );
}
