//! Tests of what plugins see and change of requests, responses and streams.

use crate::harness::config::{self, CREDENTIALS};
use crate::harness::error_shape::assert_error_body;
use crate::harness::plugins::{declare_plugin, folder_with_plugin};
use crate::harness::request::ANN;
use crate::harness::service::respond;
use crate::harness::{Gateway, PROTOCOLS, Request, ScriptedProvider, Simulator, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// Sets a header of requests, and one of responses.
pub(super) const HEADERS: &str = r#"
  (data (i32.const 0) "x-by-plugin")
  (data (i32.const 32) "yes")
  (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
    (drop (call $set_header (i32.const 0) (i32.const 0) (i32.const 11) (i32.const 32) (i32.const 3)))
    (i32.const 0))
  (func (export "proxy_on_response_headers") (param i32 i32 i32) (result i32)
    (drop (call $set_header (i32.const 2) (i32.const 0) (i32.const 11) (i32.const 32) (i32.const 3)))
    (i32.const 0))"#;

/// Replies to every request.
const REPLY: &str = r#"
  (data (i32.const 0) "not on a sunday")
  (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
    (drop (call $reply (i32.const 403) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 15) (i32.const 0) (i32.const 0) (i32.const -1)))
    (i32.const 1))"#;

/// Replies to every request with a status only.
const BARE_REPLY: &str = r#"
  (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
    (drop (call $reply (i32.const 429) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const -1)))
    (i32.const 1))"#;

/// Writes a comment before each piece of a response body, and one at its end.
const COMMENTS: &str = r#"
  (data (i32.const 0) ": seen\n\n")
  (data (i32.const 16) ": end\n\n")
  (func (export "proxy_on_response_body") (param $context i32) (param $size i32) (param $end i32) (result i32)
    (if (local.get $end)
      (then (drop (call $set_buffer (i32.const 1) (local.get $size) (i32.const 0) (i32.const 16) (i32.const 7))))
      (else (drop (call $set_buffer (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 8)))))
    (i32.const 0))"#;

/// Holds a body until it is whole, then replaces it by its length in brackets: `[n]`, n below ten.
const HOLD: &str = r#"
  (data (i32.const 0) "{\"held\":true}")
  (func (export "proxy_on_response_body") (param $context i32) (param $size i32) (param $end i32) (result i32)
    (if (i32.eqz (local.get $end)) (then (return (i32.const 1))))
    (drop (call $set_buffer (i32.const 1) (i32.const 0) (local.get $size) (i32.const 0) (i32.const 13)))
    (i32.const 0))"#;

/// Replaces the body of requests.
const REQUEST_BODY: &str = r#"
  (data (i32.const 0) "{\"model\":\"demo-large\",\"messages\":[{\"role\":\"user\",\"content\":\"by the plugin\"}]}")
  (func (export "proxy_on_request_body") (param $context i32) (param $size i32) (param $end i32) (result i32)
    (drop (call $set_buffer (i32.const 0) (i32.const 0) (local.get $size) (i32.const 0) (i32.const 77)))
    (i32.const 0))"#;

/// Copies all that it can read of a header into the response.
const SPY: &str = r#"
  (data (i32.const 0) "authorization")
  (data (i32.const 16) "x-spied")
  (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
    (if (i32.eqz (call $get_header (i32.const 0) (i32.const 0) (i32.const 13) (i32.const 64) (i32.const 68)))
      (then (drop (call $log (i32.const 4) (i32.load (i32.const 64)) (i32.load (i32.const 68))))))
    (drop (call $set_header (i32.const 0) (i32.const 0) (i32.const 13) (i32.const 16) (i32.const 7)))
    (i32.const 0))"#;

/// Logs two headers of the request, as far as it can read them, when the exchange is over.
const LATE_SPY: &str = r#"
  (data (i32.const 0) "authorization")
  (data (i32.const 16) "x-visible")
  (func (export "proxy_on_log") (param i32)
    (if (i32.eqz (call $get_header (i32.const 0) (i32.const 0) (i32.const 13) (i32.const 64) (i32.const 68)))
      (then (drop (call $log (i32.const 4) (i32.load (i32.const 64)) (i32.load (i32.const 68))))))
    (if (i32.eqz (call $get_header (i32.const 0) (i32.const 16) (i32.const 9) (i32.const 64) (i32.const 68)))
      (then (drop (call $log (i32.const 4) (i32.load (i32.const 64)) (i32.load (i32.const 68)))))))"#;

/// Logs for each piece of a response body the media type, a header of the request, and the channel.
const CONTEXT: &str = r#"
  (data (i32.const 0) "content-type")
  (data (i32.const 16) "x-visible")
  (data (i32.const 32) "channel")
  (func (export "proxy_on_response_body") (param i32 i32 i32) (result i32)
    (if (i32.eqz (call $get_header (i32.const 2) (i32.const 0) (i32.const 12) (i32.const 64) (i32.const 68)))
      (then (drop (call $log (i32.const 4) (i32.load (i32.const 64)) (i32.load (i32.const 68))))))
    (if (i32.eqz (call $get_header (i32.const 0) (i32.const 16) (i32.const 9) (i32.const 64) (i32.const 68)))
      (then (drop (call $log (i32.const 4) (i32.load (i32.const 64)) (i32.load (i32.const 68))))))
    (if (i32.eqz (call $get_property (i32.const 32) (i32.const 7) (i32.const 64) (i32.const 68)))
      (then (drop (call $log (i32.const 4) (i32.load (i32.const 64)) (i32.load (i32.const 68))))))
    (i32.const 0))"#;

/// Calls the service `policy` for each request, and lets it continue with what the service responded.
const CALLS: &str = r#"
  (data (i32.const 0) "policy")
  (data (i32.const 16) "\02\00\00\00\07\00\00\00\03\00\00\00\05\00\00\00\06\00\00\00:method\00GET\00:path\00/check\00")
  (data (i32.const 80) "x-by-plugin")
  (data (i32.const 96) "called")
  (global $stream (mut i32) (i32.const 0))
  (func (export "proxy_on_request_headers") (param $context i32) (param i32 i32) (result i32)
    (global.set $stream (local.get $context))
    (i32.eqz (call $http_call (i32.const 0) (i32.const 6) (i32.const 16) (i32.const 45) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 1000) (i32.const 128))))
  (func (export "proxy_on_http_call_response") (param i32 i32 i32 i32 i32)
    (drop (call $set_context (global.get $stream)))
    (drop (call $set_header (i32.const 0) (i32.const 80) (i32.const 11) (i32.const 96) (i32.const 6)))
    (drop (call $continue (i32.const 0))))"#;

async fn gateway(callbacks: &str, filter: Value) -> (Gateway, Simulator) {
    let simulator = Simulator::start().await;
    let mut config = config::standard(&simulator.url());
    declare_plugin(&mut config, "tested", json!({}));
    for protocol in PROTOCOLS {
        let mut filter = filter.clone();
        filter["use"] = json!("tested");
        let chain = &mut config::route(&mut config, protocol.name())["request"];
        chain
            .as_array_mut()
            .unwrap()
            .push(json!({"plugin": filter}));
    }
    let folder = folder_with_plugin("tested", callbacks);
    let gateway = Gateway::start_in(folder, &format!("{config:#}")).await;
    (gateway, simulator)
}

async fn received(simulator: &Simulator) -> Value {
    let records = simulator.records().await;
    records
        .last()
        .expect("a request reached the provider")
        .clone()
}

#[tokio::test]
async fn a_plugin_changes_headers_in_both_directions() {
    let (gateway, simulator) = gateway(HEADERS, json!({})).await;
    for protocol in PROTOCOLS {
        let response = gateway.ask(&Request::ask(protocol)).await;
        assert_eq!(response.status, 200, "{}", response.text());
        assert_eq!(response.headers.get("x-by-plugin"), Some("yes"));
        let sent = received(&simulator).await;
        assert_eq!(sent["headers"]["x-by-plugin"], "yes", "{sent}");
    }
}

#[tokio::test]
async fn a_reply_of_a_plugin_reaches_the_caller_and_nothing_the_provider() {
    let (gateway, simulator) = gateway(REPLY, json!({})).await;
    let response = gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(
        (response.status, &*response.text()),
        (403, "not on a sunday")
    );
    assert!(simulator.records().await.is_empty());
}

#[tokio::test]
async fn an_error_without_a_body_gets_the_shape_of_the_protocol() {
    let (gateway, simulator) = gateway(BARE_REPLY, json!({})).await;
    for protocol in PROTOCOLS {
        let response = gateway.ask(&Request::ask(protocol)).await;
        let message = assert_error_body(protocol, &response, 429);
        assert!(message.contains("denied by a plugin"), "{message}");
    }
    assert!(simulator.records().await.is_empty());
}

#[tokio::test]
async fn a_plugin_gets_whole_events_and_the_end_of_the_stream() {
    let (gateway, _simulator) = gateway(COMMENTS, json!({})).await;
    for protocol in PROTOCOLS {
        let response = gateway.ask(&Request::ask_stream(protocol)).await;
        let text = response.text();
        let events = text.split("\n\n").filter(|event| event.contains("data:"));
        let seen = text.matches(": seen\n\n").count();
        assert_eq!(seen, events.count(), "{text}");
        assert!(text.ends_with(": end\n\n"), "{text}");
    }
}

#[tokio::test]
async fn a_plugin_that_holds_a_body_replaces_it_whole() {
    let (gateway, _simulator) = gateway(HOLD, json!({})).await;
    for protocol in PROTOCOLS {
        let response = gateway.ask(&Request::ask(protocol)).await;
        assert_eq!(response.status, 200);
        assert_eq!(response.text(), r#"{"held":true}"#);
    }
}

#[tokio::test]
async fn a_changed_body_of_a_request_is_checked_by_earlier_filters() {
    let (gateway, simulator) = gateway(REQUEST_BODY, json!({})).await;
    let response = gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(response.status, 200, "{}", response.text());
    let record = received(&simulator).await;
    let body = simulator.body(&record["n"]).await;
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["messages"][0]["content"], "by the plugin");
    // The model was rewritten nevertheless.
    assert_ne!(body["model"], "demo-large");
    // The body lacks what the other protocols require.
    let response = gateway.ask(&Request::ask(Protocol::Responses)).await;
    assert_error_body(Protocol::Responses, &response, 500);
    assert_eq!(simulator.records().await.len(), 1);
}

#[tokio::test]
async fn a_plugin_neither_reads_nor_sets_credentials() {
    let (gateway, simulator) = gateway(SPY, json!({})).await;
    let response = gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(response.status, 200, "{}", response.text());
    let sent = received(&simulator).await.to_string();
    assert!(!sent.contains("x-spied") && !sent.contains(ANN), "{sent}");
    assert!(
        sent.contains(CREDENTIALS[0]) || sent.contains(CREDENTIALS[1]),
        "{sent}"
    );
    let lines = gateway.process.stderr.all().concat();
    assert!(!lines.contains(ANN), "{lines}");
}

#[tokio::test]
async fn a_plugin_reads_no_credentials_when_the_exchange_is_over() {
    let (gateway, _simulator) = gateway(LATE_SPY, json!({})).await;
    let mut visible = Vec::new();
    for (at, request) in [
        Request::ask(Protocol::Chat),
        Request::ask_stream(Protocol::Messages),
        Request::to(Protocol::Chat, "no JSON"),
    ]
    .into_iter()
    .enumerate()
    {
        let value = format!("visible-{at}");
        gateway.ask(&request.header("x-visible", &value)).await;
        visible.push(value);
    }
    let lines = async || gateway.process.stderr.all().concat();
    eventually("the plugin logs the requests", async || {
        let lines = lines().await;
        visible
            .iter()
            .all(|value| lines.contains(value))
            .then_some(())
    })
    .await;
    assert!(!lines().await.contains(ANN), "{}", lines().await);
}

#[tokio::test]
async fn the_heads_and_the_channel_are_visible_while_a_stream_passes() {
    let (gateway, _simulator) = gateway(CONTEXT, json!({})).await;
    let request = Request::ask_stream(Protocol::Chat).header("x-visible", "of-the-request");
    let events = gateway.ask(&request).await.text().matches("data:").count();
    for value in ["text/event-stream", "of-the-request", "openai"] {
        // Once for each event, and once at the end.
        eventually(value, async || {
            let lines = gateway.process.stderr.all();
            let is_logged = |line: &&String| line.contains("plugin log") && line.contains(value);
            (lines.iter().filter(is_logged).count() == events + 1).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn a_plugin_holds_a_request_until_a_granted_service_has_responded() {
    let service = ScriptedProvider::start(respond("{}")).await;
    let simulator = Simulator::start().await;
    let mut config = config::standard(&simulator.url());
    config["services"]["policy"] = json!({"url": service.url()});
    declare_plugin(
        &mut config,
        "tested",
        json!({"grants": {"http_call": ["policy"]}}),
    );
    config::route(&mut config, "chat")["request"]
        .as_array_mut()
        .unwrap()
        .push(json!({"plugin": {"use": "tested"}}));
    let folder = folder_with_plugin("tested", CALLS);
    let gateway = Gateway::start_in(folder, &format!("{config:#}")).await;
    let response = gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(response.status, 200, "{}", response.text());
    assert_eq!(
        received(&simulator).await["headers"]["x-by-plugin"],
        "called"
    );
    let [call] = &service.requests()[..] else {
        panic!("{:?}", service.requests());
    };
    let call = call.to_lowercase();
    assert!(call.starts_with("get /check "), "{call}");
    assert!(!call.contains("x-request-id"), "{call}");
}

#[tokio::test]
async fn a_filter_without_body_phases_leaves_bodies_alone() {
    let (gateway, _simulator) = gateway(HOLD, json!({"phases": []})).await;
    let response = gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert!(response.text().contains("choices"), "{}", response.text());
}
