//! Tests of creates whose response a service denies: the provider made them, and a retry gets the same denial.

use super::recorded_streams::stream;
use crate::harness::paid::{CreateShape, is_replayed};
use crate::harness::service::{DENY, add_service, respond};
use crate::harness::{Gateway, ScriptedProvider, Simulator};
use serde_json::json;

/// A gateway with the route of `shape`, whose responses are denied.
async fn denying_gateway(
    shape: CreateShape,
    simulator: &Simulator,
    service: &ScriptedProvider,
) -> Gateway {
    let mut config = shape.config(simulator, &json!({}));
    add_service(&mut config, service, json!({"timeout": "5s"}));
    let mut check = json!({"callout": {"service": "moderation"}});
    if matches!(shape, CreateShape::ImageJson | CreateShape::ImageForm) {
        check["callout"]["hold"] = json!({});
    }
    for route in config["routes"].as_array_mut().unwrap() {
        if route["request"].to_string().contains("idempotency") {
            let mut chain = route["response"].as_array().cloned().unwrap_or_default();
            chain.push(check.clone());
            route["response"] = chain.into();
        }
    }
    Gateway::start(&config).await
}

#[tokio::test]
async fn a_retry_of_a_denied_create_gets_the_same_denial_and_makes_nothing() {
    for shape in CreateShape::ALL {
        let simulator = Simulator::start().await;
        let service = ScriptedProvider::start(respond(DENY)).await;
        let gateway = denying_gateway(shape, &simulator, &service).await;
        let request = shape.keyed("denied");
        let first = gateway.ask(&request).await;
        assert_eq!(first.status, 403, "{shape:?}: {}", first.text());
        assert!(first.text().contains("not here"), "{}", first.text());
        let again = gateway.ask(&request).await;
        assert_eq!(again.status, 403, "{shape:?}: {}", again.text());
        assert_eq!(again.text(), first.text());
        assert!(is_replayed(&again), "{shape:?}");
        assert_eq!(again.headers.get("x-should-retry"), Some("false"));
        assert_eq!(shape.received(&simulator).await, 1, "{shape:?}");
    }
}

#[tokio::test]
async fn a_retry_of_a_stream_that_was_denied_gets_the_denial() {
    let simulator = Simulator::start().await;
    let service = ScriptedProvider::start(respond(DENY)).await;
    let shape = CreateShape::ImageJson;
    let gateway = denying_gateway(shape, &simulator, &service).await;
    let request = stream("denied", "pace=1ms");
    let first = gateway.open(&request).await.rest().await;
    assert!(first.text().contains("not here"), "{}", first.text());
    let again = gateway.ask(&request).await;
    assert_eq!(again.status, 403, "{}", again.text());
    assert!(is_replayed(&again) && again.text().contains("not here"));
    assert_eq!(shape.received(&simulator).await, 1);
}
