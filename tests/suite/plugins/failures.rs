//! Tests of plugins that trap, loop, grow or answer garbage: the proxy lives, and each outcome is as the settings have it.

use crate::harness::error_shape::assert_error_body;
use crate::harness::plugins::{declare_plugin, folder_with_plugin};
use crate::harness::{Gateway, PROTOCOLS, Request, Simulator, config};
use headgate_protocol::Protocol;
use serde_json::json;

const TRAP_IN_REQUEST: &str = r#"
  (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32) unreachable)"#;
const TRAP_IN_BODY: &str = r#"
  (func (export "proxy_on_request_body") (param i32 i32 i32) (result i32) unreachable)"#;
const TRAP_IN_RESPONSE: &str = r#"
  (func (export "proxy_on_response_headers") (param i32 i32 i32) (result i32) unreachable)"#;
const TRAP_IN_RESPONSE_BODY: &str = r#"
  (func (export "proxy_on_response_body") (param i32 i32 i32) (result i32) unreachable)"#;
const LOOP: &str = r#"
  (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32) (loop $again (br $again)) (i32.const 0))"#;
const RECURSION: &str = r#"
  (func $deeper (param i32) (result i32) (i32.add (local.get 0) (call $deeper (i32.add (local.get 0) (i32.const 1)))))
  (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32) (call $deeper (i32.const 0)))"#;
const OUT_OF_BOUNDS: &str = r#"
  (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32) (i32.load (i32.const -4)))"#;
const GROWTH: &str = r#"
  (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
    (loop $again (br_if $again (i32.ne (memory.grow (i32.const 64)) (i32.const -1))))
    unreachable)"#;
const LYING_LENGTHS: &str = r#"
  (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
    (if (i32.eqz (call $set_header (i32.const 0) (i32.const 0) (i32.const -1) (i32.const 0) (i32.const -1)))
      (then unreachable))
    (if (i32.eqz (call $log (i32.const 2) (i32.const 131000) (i32.const 1000))) (then unreachable))
    (i32.const 0))"#;

async fn gateway(callbacks: &str, on_failure: &str) -> (Gateway, Simulator) {
    let simulator = Simulator::start().await;
    let mut config = config::standard(&simulator.url());
    declare_plugin(&mut config, "tested", json!({}));
    for protocol in PROTOCOLS {
        let filter = json!({"plugin": {"use": "tested", "on_failure": on_failure}});
        let chain = &mut config::route(&mut config, protocol.name())["request"];
        chain.as_array_mut().unwrap().push(filter);
    }
    let folder = folder_with_plugin("tested", callbacks);
    let gateway = Gateway::start_in(folder, &format!("{config:#}")).await;
    (gateway, simulator)
}

#[tokio::test]
async fn a_request_whose_plugin_fails_ends_with_an_error_or_continues_as_the_settings_have_it() {
    let table = [
        ("a trap", TRAP_IN_REQUEST),
        ("a trap in the body", TRAP_IN_BODY),
        ("a loop", LOOP),
        ("deep recursion", RECURSION),
        ("out of bounds", OUT_OF_BOUNDS),
        ("growth", GROWTH),
    ];
    for (name, callbacks) in table {
        let (denying, simulator) = gateway(callbacks, "deny").await;
        for protocol in PROTOCOLS {
            let response = denying.ask(&Request::ask(protocol)).await;
            let message = assert_error_body(protocol, &response, 503);
            assert!(
                message.contains("a plugin of this gateway"),
                "{name}: {message}"
            );
        }
        assert!(simulator.records().await.is_empty(), "{name}");
        let metrics = denying.metrics().await;
        let labels = [("plugin", "tested")];
        let failures = metrics.sum("headgate_plugin_failures_total", &labels);
        assert_eq!(failures, 3.0, "{name}");
        let (allowing, _simulator) = gateway(callbacks, "allow").await;
        for protocol in PROTOCOLS {
            let response = allowing.ask(&Request::ask(protocol)).await;
            assert_eq!(response.status, 200, "{name}: {}", response.text());
        }
    }
}

#[tokio::test]
async fn a_response_whose_plugin_fails_never_passes_unless_the_settings_let_it() {
    for callbacks in [TRAP_IN_RESPONSE, TRAP_IN_RESPONSE_BODY] {
        let (denying, _simulator) = gateway(callbacks, "deny").await;
        let response = denying.ask(&Request::ask(Protocol::Chat)).await;
        assert_error_body(Protocol::Chat, &response, 503);
        let (allowing, _simulator) = gateway(callbacks, "allow").await;
        let response = allowing.ask(&Request::ask(Protocol::Chat)).await;
        assert_eq!(response.status, 200);
        assert!(response.text().contains("choices"), "{}", response.text());
    }
}

#[tokio::test]
async fn a_stream_whose_plugin_fails_ends_with_an_error_event_or_continues_unchanged() {
    let (denying, _simulator) = gateway(TRAP_IN_RESPONSE_BODY, "deny").await;
    let (allowing, _allowed) = gateway(TRAP_IN_RESPONSE_BODY, "allow").await;
    for protocol in PROTOCOLS {
        let stream = Request::ask_stream(protocol);
        let ended = denying.ask(&stream).await;
        let text = ended.text();
        assert!(
            text.contains("check_unavailable") || text.contains("api_error"),
            "{text}"
        );
        assert!(!ended.whole, "{text}");
        let whole = allowing.ask(&stream).await;
        assert!(whole.whole);
        assert!(
            whole.text().matches("data:").count() > 3,
            "{}",
            whole.text()
        );
    }
}

#[tokio::test]
async fn lying_lengths_are_refused_without_a_trap() {
    let (gateway, _simulator) = gateway(LYING_LENGTHS, "deny").await;
    let response = gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(response.status, 200, "{}", response.text());
}

#[tokio::test]
async fn after_repeated_failures_requests_fail_at_once() {
    let (gateway, _simulator) = gateway(LOOP, "deny").await;
    for _ in 0..8 {
        let response = gateway.ask(&Request::ask(Protocol::Chat)).await;
        assert_error_body(Protocol::Chat, &response, 503);
    }
    let metrics = gateway.metrics().await;
    let of = |reason| metrics.sum("headgate_plugin_failures_total", &[("reason", reason)]);
    assert_eq!(of("time"), 5.0);
    assert_eq!(of("disabled"), 3.0);
}
