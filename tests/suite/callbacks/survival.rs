//! Deliveries of gateways that are killed: continued by the next process, or by another gateway.

use crate::harness::gateway::folder_with_schemas;
use crate::harness::receiver::{
    ReceivedEvent, Receiver, callback_config, create_with_callback, free_address, has_retried,
};
use crate::harness::video::GENERIC;
use crate::harness::{Gateway, RedisServer, ScriptedResponse, Simulator};
use serde_json::{Value, json};

fn fail() -> Vec<ScriptedResponse> {
    vec![ScriptedResponse::Send(
        b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n".to_vec(),
    )]
}

/// Creates a task, and kills the gateway after an attempt to deliver has failed.
async fn failed_attempt_of_a_killed_gateway(gateway: Gateway, receiver: &Receiver) {
    receiver.0.next(fail());
    let url = receiver.url("/done");
    create_with_callback(&gateway, GENERIC, "demo-video-a", &url).await;
    receiver.wait_for(1).await;
    has_retried(&gateway).await;
    gateway.process.signal(libc::SIGKILL);
}

fn assert_same_event(events: &[ReceivedEvent]) {
    assert_eq!(events[0].id, events[1].id);
    assert_eq!(events[0].body, events[1].body);
}

#[tokio::test]
async fn an_event_survives_a_killed_process_with_a_state_file() {
    let simulator = Simulator::start().await;
    let receiver = Receiver::answering("200 OK").await;
    let mut config = callback_config(&simulator, "queue=2s;run=5m");
    let folder = folder_with_schemas();
    config["state"] = json!(format!(
        "sqlite:{}",
        folder.path().join("state.sqlite").display()
    ));
    let first = Gateway::start(&config).await;
    failed_attempt_of_a_killed_gateway(first, &receiver).await;
    let _second = Gateway::start(&config).await;
    assert_same_event(&receiver.wait_for(2).await);
}

#[tokio::test]
async fn another_gateway_delivers_what_a_killed_one_could_not() {
    let redis = RedisServer::start();
    let simulator = Simulator::start().await;
    let receiver = Receiver::answering("200 OK").await;
    let mut config = callback_config(&simulator, "queue=2s;run=5m");
    config["state"] = json!(redis.url());
    let mut other: Value = config.clone();
    other["server"]["listen"] = json!(free_address().to_string());
    let _other = Gateway::start(&other).await;
    let first = Gateway::start(&config).await;
    failed_attempt_of_a_killed_gateway(first, &receiver).await;
    assert_same_event(&receiver.wait_for(2).await);
}
