//! Tests of callers that leave a create with a key: it continues, and its retry gets the response.

use crate::harness::paid::{CreateShape, ask_and_leave, is_replayed};
use crate::harness::{Gateway, Simulator, eventually};
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn the_first_caller_leaves_at_ten_instants_and_its_retry_gets_the_task() {
    for shape in [
        CreateShape::GenericForA,
        CreateShape::FamilyB,
        CreateShape::ImageForm,
    ] {
        let simulator = Simulator::start().await;
        let gateway = shape.gateway(&simulator, json!({})).await;
        for instant in 0..10_u32 {
            let before = shape.received(&simulator).await;
            let request = shape.keyed(&format!("left-{instant}"));
            let request = request.simulate("delay=400ms");
            ask_and_leave(&gateway, &request, Duration::from_millis(50) * instant).await;
            let response = gateway.ask(&request).await;
            assert_eq!(
                response.status,
                200,
                "{shape:?} {instant}: {}",
                response.text()
            );
            let received = shape.received(&simulator).await - before;
            assert_eq!(received, 1, "{shape:?} {instant}");
            let again = gateway.ask(&request).await;
            assert!(is_replayed(&again), "{shape:?} {instant}");
            assert_eq!(again.body, response.body, "{shape:?} {instant}");
        }
        let received = shape.received(&simulator).await;
        println!("{shape:?}: left at 10 instants, 10 retries got the task, {received} creates");
        until_idle(&gateway).await;
    }
}

#[tokio::test]
async fn waiting_duplicates_are_served_although_the_first_caller_left() {
    let simulator = Simulator::start().await;
    let shape = CreateShape::FamilyA;
    let gateway = shape.gateway(&simulator, json!({})).await;
    let request = shape.keyed("left").simulate("delay=3s");
    let (address, duplicate) = (gateway.address, request.clone());
    let mut first = gateway.connect().await;
    first.send(&request.bytes()).await.unwrap();
    let arrived = async || (shape.received(&simulator).await == 1).then_some(());
    eventually("the create", arrived).await;
    let waiting = tokio::spawn(async move {
        let mut connection = crate::harness::Connection::to(address).await;
        connection.ask(&duplicate).await
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    drop(first);
    let response = waiting.await.unwrap();
    assert!(is_replayed(&response), "{}", response.text());
    assert_eq!(shape.received(&simulator).await, 1);
    // The log shows that the first caller left.
    let line = gateway
        .log_line(|line| line["idempotency"] == "first")
        .await;
    assert_eq!(line["settlement"], "client_cancelled", "{line}");
    assert_eq!(line["status"], 499, "{line}");
    assert_eq!(line["channel"], "a", "{line}");
}

#[tokio::test]
async fn a_create_without_a_key_is_cancelled_as_ever() {
    let simulator = Simulator::start().await;
    let shape = CreateShape::FamilyA;
    let gateway = shape.gateway(&simulator, json!({})).await;
    let request = shape.request("a gate").simulate("stall");
    let mut connection = gateway.connect().await;
    connection.send(&request.bytes()).await.unwrap();
    let arrived = async || (shape.received(&simulator).await == 1).then_some(());
    eventually("the create", arrived).await;
    drop(connection);
    let left = |record: &serde_json::Value| record["ended"] == "client_left";
    simulator.record("the end of the create", left).await;
    until_idle(&gateway).await;
}

async fn until_idle(gateway: &Gateway) {
    let idle =
        async || (gateway.metrics().await.sum("headgate_in_flight", &[]) == 0.0).then_some(());
    eventually("the end of all exchanges", idle).await;
}
