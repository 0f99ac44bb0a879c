//! Tests of streamed image edits with a key: recorded as their events, or unknown.

use crate::harness::images::json_body;
use crate::harness::paid::{CreateShape, error_code, is_replayed};
use crate::harness::{Request, Simulator};
use serde_json::json;

pub fn stream(key: &str, directives: &str) -> Request {
    let mut body = json_body();
    body["stream"] = json!(true);
    body["partial_images"] = json!(2);
    let request = Request::post(crate::harness::images::PATH, body.to_string());
    request.header("Idempotency-Key", key).simulate(directives)
}

#[tokio::test]
async fn a_stream_is_replayed_as_the_same_bytes() {
    let simulator = Simulator::start().await;
    let shape = CreateShape::ImageJson;
    let gateway = shape.gateway(&simulator, json!({})).await;
    for directives in ["pace=20ms", "body_bytes=600000"] {
        let request = stream(directives, directives);
        let first = gateway.ask(&request).await;
        assert_eq!(first.status, 200, "{}", first.text());
        let is_whole = first.text().contains("image_edit.completed");
        assert!(is_whole, "{} bytes", first.body.len());
        let again = gateway.ask(&request).await;
        assert!(is_replayed(&again), "{directives}: {}", again.status);
        assert!(again.body == first.body, "{} bytes", again.body.len());
        let content_type = again.headers.get("content-type");
        assert_eq!(content_type, first.headers.get("content-type"));
    }
    assert_eq!(shape.received(&simulator).await, 2);
}

#[tokio::test]
async fn a_stream_continues_without_its_caller_and_is_replayed() {
    let simulator = Simulator::start().await;
    let shape = CreateShape::ImageJson;
    let gateway = shape.gateway(&simulator, json!({})).await;
    let request = stream("left", "pace=100ms");
    let reply = gateway.open(&request).await;
    assert_eq!(reply.status, 200);
    drop(reply);
    let response = gateway.ask(&request).await;
    assert!(is_replayed(&response), "{}", response.text());
    assert!(response.text().contains("image_edit.completed"));
    assert_eq!(shape.received(&simulator).await, 1);
}

#[tokio::test]
async fn a_stream_without_its_last_event_is_an_unknown_outcome() {
    let simulator = Simulator::start().await;
    let shape = CreateShape::ImageJson;
    let gateway = shape.gateway(&simulator, json!({})).await;
    for (directives, code) in [
        ("cut_after=1", "outcome_unknown"),
        ("end_after_events=1", "outcome_unknown"),
        ("error_event_after=1", "outcome_unknown"),
    ] {
        let request = stream(directives, directives);
        gateway.open(&request).await.rest().await;
        let response = gateway.ask(&request).await;
        assert_eq!(
            error_code(&response),
            code,
            "{directives}: {}",
            response.text()
        );
    }
    assert_eq!(shape.received(&simulator).await, 3);
}
