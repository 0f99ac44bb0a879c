//! Tests of requests that a service edits: whatever the route checked of the caller's body, it checks of the edited one.

use crate::harness::error_shape::assert_error_body;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::service::{CONTINUE, add_service, call_on_requests, respond};
use crate::harness::{Gateway, Request, ScriptedProvider, Simulator, config};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// A gateway whose route `protocol` has `service` edit all that a service may edit, after `checks`.
async fn gateway(
    protocol: Protocol,
    service: &ScriptedProvider,
    on_failure: &str,
    checks: &[Value],
) -> (Gateway, Simulator) {
    let simulator = Simulator::start().await;
    let mut config = config::standard(&simulator.url());
    let breaker = json!({"consecutive_failures": 0});
    add_service(
        &mut config,
        service,
        json!({"timeout": "5s", "breaker": breaker}),
    );
    let chain = &mut config::route(&mut config, protocol.name())["request"];
    chain.as_array_mut().unwrap().extend_from_slice(checks);
    let members = ["/messages", "/input", "/user", "/previous_response_id"];
    let allow = json!({"edit_body": members, "set_headers": ["x-edited"]});
    let settings = json!({"allow": allow, "on_failure": on_failure});
    call_on_requests(&mut config, protocol.name(), settings);
    let folder = folder_with_schemas();
    let own = json!({"properties": {"user": {"maxLength": 4, "errorMessage": "must be short"}}});
    folder.write("own.json", own.to_string());
    (
        Gateway::start_in(folder, &format!("{config:#}")).await,
        simulator,
    )
}

/// The response that sets one member, and a header.
fn edit(pointer: &str, value: &Value) -> String {
    let edits = json!({"set": {pointer: value}});
    json!({"action": "continue", "headers": {"x-edited": "yes"}, "edits": edits}).to_string()
}

/// The protocol, what the route checks, what the service sets, and whether the edited body passes.
fn edits() -> Vec<(Protocol, Vec<Value>, &'static str, Value, bool)> {
    let own_schema = || vec![json!({"validate": {"schema": "own.json"}})];
    let small = || vec![json!({"limit_body": "1KiB"})];
    let long = |length| Value::from("x".repeat(length));
    vec![
        (Protocol::Chat, own_schema(), "/user", long(4), true),
        (Protocol::Chat, own_schema(), "/user", long(5), false),
        (Protocol::Chat, small(), "/user", long(200), true),
        (Protocol::Chat, small(), "/user", long(1100), false),
        (Protocol::Responses, Vec::new(), "/input", long(9), true),
        (
            Protocol::Responses,
            Vec::new(),
            "/previous_response_id",
            json!("resp_of_somebody_else"),
            false,
        ),
    ]
}

#[tokio::test]
async fn a_service_cannot_pass_by_what_the_route_checks() {
    let service = ScriptedProvider::start(respond(CONTINUE)).await;
    for (protocol, checks, pointer, value, passes) in edits() {
        let (gateway, simulator) = gateway(protocol, &service, "deny", &checks).await;
        service.next(respond(&edit(pointer, &value)));
        let response = gateway.ask(&Request::ask(protocol)).await;
        let line = gateway.log_of(&response).await;
        let sent = simulator.records().await.len();
        if passes {
            assert_eq!(response.status, 200, "{pointer}: {}", response.text());
            assert_eq!(
                (line["callout_outcome"].as_str(), sent),
                (Some("continued"), 1)
            );
        } else {
            assert_error_body(protocol, &response, 503);
            let outcome = line["callout_outcome"].as_str();
            assert_eq!(
                (outcome, sent),
                (Some("invalid_response"), 0),
                "{pointer}: {line}"
            );
        }
    }
}

#[tokio::test]
async fn an_edit_that_the_route_refuses_leaves_nothing_behind_where_the_service_may_fail() {
    let service = ScriptedProvider::start(respond(CONTINUE)).await;
    for (protocol, checks, pointer, value, passes) in edits() {
        let (gateway, simulator) = gateway(protocol, &service, "allow", &checks).await;
        service.next(respond(&edit(pointer, &value)));
        let response = gateway.ask(&Request::ask(protocol)).await;
        assert_eq!(response.status, 200, "{pointer}: {}", response.text());
        let record = simulator.records().await.pop().unwrap();
        let is_edited = record["headers"].to_string().contains("x-edited");
        assert_eq!(
            is_edited, passes,
            "{pointer}: half a response is never followed"
        );
        let body = simulator.body(&record["n"]).await;
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body.pointer(pointer) == Some(&value), passes, "{pointer}");
    }
}
