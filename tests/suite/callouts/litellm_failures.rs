//! Tests of guardrail services that fail: `allow_unreachable` continues only if the service was not reached.

use crate::harness::http_response::json_response;
use crate::harness::service::{add_service, call_on_requests};
use crate::harness::{Gateway, Request, ScriptedProvider, ScriptedResponse, Simulator, config};
use headgate_protocol::Protocol;
use serde_json::json;

fn status(status: u16) -> Vec<ScriptedResponse> {
    vec![ScriptedResponse::Send(json_response(status, "{}"))]
}

#[tokio::test]
async fn a_request_continues_if_the_service_was_not_reached() {
    let service = ScriptedProvider::start(vec![ScriptedResponse::Hang]).await;
    let simulator = Simulator::start().await;
    let mut config = config::standard(&simulator.url());
    let breaker = json!({"consecutive_failures": 0});
    add_service(
        &mut config,
        &service,
        json!({"timeout": "300ms", "breaker": breaker}),
    );
    let settings = json!({"format": "litellm", "on_failure": "allow_unreachable"});
    call_on_requests(&mut config, "chat", settings);
    let gateway = Gateway::start(&config).await;
    let json = |body: &str| vec![ScriptedResponse::Send(json_response(200, body))];
    for (name, script, expected, outcome) in [
        ("slow", vec![ScriptedResponse::Hang], 200, "timeout"),
        (
            "broken",
            vec![ScriptedResponse::Close],
            200,
            "connection_closed",
        ),
        ("502", status(502), 200, "invalid_response"),
        ("503", status(503), 200, "invalid_response"),
        ("504", status(504), 200, "invalid_response"),
        ("500", status(500), 503, "invalid_response"),
        ("404", status(404), 503, "invalid_response"),
        (
            "another action",
            json(r#"{"action":"BLOCK"}"#),
            503,
            "invalid_response",
        ),
        ("no JSON", json("NONE"), 503, "invalid_response"),
        (
            "another number of texts",
            json(r#"{"texts":["a","b","c","d"]}"#),
            503,
            "invalid_response",
        ),
        ("created", status(201), 200, "continued"),
    ] {
        // A call may be repeated once, on a fresh connection.
        service.next(script.clone());
        service.next(script);
        let response = gateway.ask(&Request::ask(Protocol::Chat)).await;
        assert_eq!(response.status, expected, "{name}: {}", response.text());
        let line = gateway.log_of(&response).await;
        assert_eq!(line["callout_outcome"], outcome, "{name}: {line}");
        service.forget_turns();
    }
}

#[tokio::test]
async fn a_circuit_breaker_lets_requests_pass_only_if_the_service_was_not_reached() {
    for (script, expected) in [(status(503), 200), (status(500), 503)] {
        let service = ScriptedProvider::start(script).await;
        let simulator = Simulator::start().await;
        let mut config = config::standard(&simulator.url());
        let breaker = json!({"consecutive_failures": 2, "cool_down": "1h"});
        let limits = json!({"timeout": "5s", "breaker": breaker});
        add_service(&mut config, &service, limits);
        let settings = json!({"format": "litellm", "on_failure": "allow_unreachable"});
        call_on_requests(&mut config, "chat", settings);
        let gateway = Gateway::start(&config).await;
        for outcome in ["invalid_response", "invalid_response", "breaker_open"] {
            let response = gateway.ask(&Request::ask(Protocol::Chat)).await;
            assert_eq!(response.status, expected, "{}", response.text());
            let line = gateway.log_of(&response).await;
            assert_eq!(line["callout_outcome"], outcome, "{line}");
        }
    }
}
