//! Tests of `headgate explain` for routes that call services.

use crate::harness::process::BINARY;
use crate::harness::service::{add_service, moderation};
use crate::harness::{Gateway, Simulator, body_of, config, path_of};
use headgate_protocol::Protocol;
use serde_json::json;
use std::process::Command;

#[tokio::test]
async fn explain_lists_the_callouts_of_a_route_and_calls_nothing() {
    let (service, simulator) = (moderation().await, Simulator::start().await);
    let mut config = config::standard(&simulator.url());
    add_service(&mut config, &service, json!({}));
    let route = config::route(&mut config, "chat");
    let steps = [
        json!({"callout": {"service": "moderation", "send": {"fields": ["/messages"]}}}),
        json!({"if": "caller == 'ann'", "callout": {"service": "moderation", "on_failure": "allow"}}),
        json!({"if": "caller == 'bob'", "callout": {"service": "moderation"}}),
    ];
    let chain = route["request"].as_array_mut().unwrap();
    chain.extend(steps);
    route["response"] = json!([
        {"callout": {"service": "moderation", "streams": "refuse"}},
        {"if": "response.status == 200", "callout": {"service": "moderation", "hold": {}}},
    ]);
    let gateway = Gateway::start(&config).await;
    let file = gateway.folder.path().join("routes.yaml");
    let printed = Command::new(BINARY)
        .args(["explain", path_of(Protocol::Chat), "-c"])
        .arg(&file)
        .args(["-d", &body_of(Protocol::Chat).to_string()])
        .output()
        .unwrap();
    let text = String::from_utf8(printed.stdout).unwrap();
    let callouts: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("callout   callout service moderation, "))
        .collect();
    let expected = [
        "phase request, on_failure deny, no condition",
        "phase request, on_failure allow, condition runs",
        "phase request, on_failure deny, condition skipped",
        "phase response, on_failure deny, no condition",
        "phase response and stream, on_failure deny, condition decided for each response",
    ];
    assert_eq!(callouts, expected, "{text}");
    assert!(service.requests().is_empty());
}
