//! Tests of what plugins see of an exchange, what of their changes counts, and what an operator grants.

use crate::configuration::check::{GOOD, check_in};
use crate::harness::error_shape::assert_error_body;
use crate::harness::http_response::http_response;
use crate::harness::plugins::{add_plugin, declare_plugin, folder_with_plugin};
use crate::harness::{
    Gateway, PROTOCOLS, Request, ScriptedProvider, Simulator, config, eventually,
};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// Shows the caller, in headers of the response, what the plugin sees of the exchange.
pub(super) const MIRROR: &str = r#"
  (data (i32.const 0) "cookie")
  (data (i32.const 16) "x-saw-cookie")
  (data (i32.const 32) ":path")
  (data (i32.const 48) "x-saw-path")
  (data (i32.const 64) "x-region")
  (data (i32.const 80) "x-saw-region")
  (data (i32.const 96) ":scheme")
  (data (i32.const 112) "x-saw-scheme")
  (data (i32.const 128) "request\00client_region")
  (data (i32.const 160) "x-saw-property")
  (func $show (param $at i32) (param $length i32)
    (drop (call $set_header (i32.const 2) (local.get $at) (local.get $length) (i32.load (i32.const 4000)) (i32.load (i32.const 4004)))))
  (func $copy (param $map i32) (param $at i32) (param $length i32) (param $to i32) (param $to_length i32)
    (if (i32.eqz (call $get_header (local.get $map) (local.get $at) (local.get $length) (i32.const 4000) (i32.const 4004)))
      (then (call $show (local.get $to) (local.get $to_length)))))
  (func (export "proxy_on_response_headers") (param i32 i32 i32) (result i32)
    (call $copy (i32.const 0) (i32.const 0) (i32.const 6) (i32.const 16) (i32.const 12))
    (call $copy (i32.const 0) (i32.const 32) (i32.const 5) (i32.const 48) (i32.const 10))
    (call $copy (i32.const 2) (i32.const 64) (i32.const 8) (i32.const 80) (i32.const 12))
    (call $copy (i32.const 0) (i32.const 96) (i32.const 7) (i32.const 112) (i32.const 12))
    (if (i32.eqz (call $get_property (i32.const 128) (i32.const 21) (i32.const 4000) (i32.const 4004)))
      (then (call $show (i32.const 160) (i32.const 14))))
    (drop (call $remove_header (i32.const 2) (i32.const 64) (i32.const 8)))
    (i32.const 0))"#;

/// Sets `:status` of responses to a text.
fn status(text: &str) -> String {
    format!(
        r#"(data (i32.const 0) ":status") (data (i32.const 16) "{text}")
  (func (export "proxy_on_response_headers") (param i32 i32 i32) (result i32)
    (drop (call $set_header (i32.const 2) (i32.const 0) (i32.const 7) (i32.const 16) (i32.const 3)))
    (i32.const 0))"#
    )
}

/// Sets `x-api-key` of requests and `:status` of responses when it is too late.
const IN_VAIN: &str = r#"
  (data (i32.const 0) "x-api-key") (data (i32.const 16) "sk-forged-canary")
  (data (i32.const 32) ":status") (data (i32.const 48) "404")
  (data (i32.const 64) ":authority")
  (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
    (drop (call $set_header (i32.const 0) (i32.const 0) (i32.const 9) (i32.const 16) (i32.const 16)))
    (drop (call $set_header (i32.const 0) (i32.const 64) (i32.const 10) (i32.const 48) (i32.const 3)))
    (i32.const 0))
  (func (export "proxy_on_response_body") (param i32 i32 i32) (result i32)
    (drop (call $set_header (i32.const 2) (i32.const 32) (i32.const 7) (i32.const 48) (i32.const 3)))
    (i32.const 0))"#;

/// Sets a header of responses to the configuration of the plugin.
const CONFIGURED: &str = r#"
  (data (i32.const 0) "x-config")
  (func (export "proxy_on_response_headers") (param i32 i32 i32) (result i32)
    (drop (call $get_buffer (i32.const 7) (i32.const 0) (i32.const 64) (i32.const 4000) (i32.const 4004)))
    (drop (call $set_header (i32.const 2) (i32.const 0) (i32.const 8) (i32.load (i32.const 4000)) (i32.load (i32.const 4004))))
    (i32.const 0))"#;

/// Counts requests in a metric.
const COUNTER: &str = r#"
  (data (i32.const 0) "wasm.seen-requests")
  (func (export "proxy_on_configure") (param i32 i32) (result i32)
    (i32.eqz (call $define_metric (i32.const 0) (i32.const 0) (i32.const 18) (i32.const 4000))))
  (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
    (drop (call $increment_metric (i32.load (i32.const 4000)) (i64.const 1)))
    (i32.const 0))"#;

/// Logs a line of 10,000 bytes that ends with `the reason`.
const LONG_LINE: &str = r#"
  (data (i32.const 0) "the reason")
  (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
    (memory.fill (i32.const 40000) (i32.const 97) (i32.const 9990))
    (memory.copy (i32.const 49990) (i32.const 0) (i32.const 10))
    (drop (call $log (i32.const 2) (i32.const 40000) (i32.const 10000)))
    (i32.const 0))"#;

/// Grows by 768 KiB for each request.
const GROWTH: &str = r#"
  (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
    (if (i32.eq (memory.grow (i32.const 12)) (i32.const -1)) (then unreachable))
    (i32.const 0))"#;

/// A configuration whose text routes have the plugin as their last filter, with these settings of both.
fn config(provider: &str, plugin: Value, filter: Value) -> Value {
    let mut config = config::standard(provider);
    declare_plugin(&mut config, "tested", plugin);
    for protocol in PROTOCOLS {
        let mut filter = filter.clone();
        filter["use"] = json!("tested");
        let chain = &mut config::route(&mut config, protocol.name())["request"];
        let chain = chain.as_array_mut().unwrap();
        chain.push(json!({"plugin": filter}));
    }
    config
}

async fn start(callbacks: &str, config: &Value) -> Gateway {
    let folder = folder_with_plugin("tested", callbacks);
    Gateway::start_in(folder, &format!("{config:#}")).await
}

/// A provider whose responses have headers that callers do not get.
async fn provider() -> ScriptedProvider {
    let body = r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#;
    let headers = "content-type: application/json\r\nset-cookie: a=b\r\nx-region: eu\r\n";
    ScriptedProvider::answering(http_response(200, headers, body)).await
}

#[tokio::test]
async fn a_plugin_sees_credentials_and_the_providers_headers_only_if_they_are_granted() {
    let provider = provider().await;
    let body = crate::harness::request::body_of(Protocol::Chat).to_string();
    let request = Request::post("/v1/chat/completions?token=t1&page=2", body)
        .header("cookie", "session=canary");
    let grants = json!({
        "grants": {
            "request_headers": ["Cookie"],
            "query": ["token"],
            "response_headers": ["set-cookie", "x-region"],
        },
        "properties": {"request.client_region": "DE"},
    });
    type ExpectedHeaders = [(&'static str, Option<&'static str>); 6];
    let table: [(Value, ExpectedHeaders); 2] = [
        (
            json!({}),
            [
                ("x-saw-cookie", None),
                ("x-saw-path", Some("/v1/chat/completions?page=2")),
                ("x-saw-region", None),
                ("x-saw-property", None),
                ("set-cookie", None),
                ("x-region", None),
            ],
        ),
        (
            grants,
            [
                ("x-saw-cookie", Some("session=canary")),
                ("x-saw-path", Some("/v1/chat/completions?token=t1&page=2")),
                ("x-saw-region", Some("eu")),
                ("x-saw-property", Some("DE")),
                // The plugin left it, and removed the other.
                ("set-cookie", Some("a=b")),
                ("x-region", None),
            ],
        ),
    ];
    for (plugin, expected) in table {
        let gateway = start(MIRROR, &config(&provider.url(), plugin, json!({}))).await;
        let response = gateway.ask(&request).await;
        assert_eq!(response.status, 200, "{}", response.text());
        for (name, value) in expected {
            assert_eq!(response.headers.get(name), value, "{name}");
        }
        let sent = provider.requests().pop().unwrap().to_lowercase();
        assert!(
            !sent.contains("session=canary") && !sent.contains("token=t1"),
            "{sent}"
        );
    }
}

#[tokio::test]
async fn the_scheme_is_that_of_the_client() {
    let provider = provider().await;
    let trusted = |source: &str| json!({"source": source, "trusted_proxies": ["127.0.0.0/8"]});
    let table = [
        (None, "x-forwarded-proto", "https", "http"),
        (
            Some("x_forwarded_for"),
            "x-forwarded-proto",
            "https",
            "https",
        ),
        (
            Some("x_forwarded_for"),
            "x-forwarded-proto",
            "gopher",
            "http",
        ),
        (
            Some("forwarded"),
            "forwarded",
            "for=192.0.2.1;proto=http, for=192.0.2.2;Proto=\"https\"",
            "https",
        ),
    ];
    for (source, name, value, expected) in table {
        let mut config = config(&provider.url(), json!({}), json!({}));
        if let Some(source) = source {
            config["server"]["client_address"] = trusted(source);
        }
        let gateway = start(MIRROR, &config).await;
        let request = Request::ask(Protocol::Chat).header(name, value);
        let response = gateway.ask(&request).await;
        let scheme = response.headers.get("x-saw-scheme");
        assert_eq!(scheme, Some(expected), "{source:?} {value}");
    }
}

#[tokio::test]
async fn a_status_that_a_plugin_sets_is_the_callers() {
    let simulator = Simulator::start().await;
    let heads_only = json!({"phases": ["response_headers"]});
    for filter in [json!({}), heads_only] {
        let mut config = config(&simulator.url(), json!({}), filter);
        config::without_cool_downs(&mut config);
        let gateway = start(&status("418"), &config).await;
        for protocol in PROTOCOLS {
            for request in [
                Request::ask(protocol),
                Request::ask_stream(protocol),
                Request::ask(protocol).simulate("status=400"),
            ] {
                let response = gateway.ask(&request).await;
                assert_eq!(response.status, 418, "{protocol:?} {}", response.text());
                assert!(response.whole && !response.text().is_empty());
                assert_eq!(gateway.log_of(&response).await["status"], 418);
            }
        }
    }
}

#[tokio::test]
async fn what_a_plugin_changes_in_vain_is_in_the_log() {
    let simulator = Simulator::start().await;
    let bodiless = status("204");
    let table: [(&str, &[&str]); 2] = [
        (&bodiless, &["a status of a response without a body"]),
        (
            IN_VAIN,
            &[
                "a header of the request that carries a credential",
                "`:authority` of the request",
                "the head of a response that was sent already",
            ],
        ),
    ];
    for (callbacks, expected) in table {
        let config = config(&simulator.url(), json!({}), json!({}));
        let gateway = start(callbacks, &config).await;
        for _ in 0..2 {
            let request = Request::ask_stream(Protocol::Chat);
            let response = gateway.ask(&request).await;
            assert_eq!(response.status, 200, "{}", response.text());
        }
        let log = || gateway.process.stderr.all().concat();
        for edit in expected {
            eventually(edit, async || log().contains(edit).then_some(())).await;
            assert_eq!(log().matches(edit).count(), 1, "{edit}\n{}", log());
        }
        let sent = simulator.last().await.to_string();
        assert!(!sent.contains("sk-forged-canary"), "{sent}");
    }
}

#[tokio::test]
async fn each_filter_has_its_own_configuration_of_a_plugin() {
    let simulator = Simulator::start().await;
    let mut config = config(&simulator.url(), json!({}), json!({}));
    for protocol in PROTOCOLS {
        let chain = &mut config::route(&mut config, protocol.name())["request"];
        let filter = chain.as_array_mut().unwrap().last_mut().unwrap();
        filter["plugin"]["config"] = json!(protocol.name());
    }
    let gateway = start(CONFIGURED, &config).await;
    for protocol in PROTOCOLS {
        let response = gateway.ask(&Request::ask(protocol)).await;
        assert_eq!(response.headers.get("x-config"), Some(protocol.name()));
    }
}

#[tokio::test]
async fn metrics_of_a_plugin_are_in_the_metrics_under_a_prefix() {
    let simulator = Simulator::start().await;
    let gateway = start(COUNTER, &config(&simulator.url(), json!({}), json!({}))).await;
    for protocol in PROTOCOLS {
        gateway.ask(&Request::ask(protocol)).await;
    }
    let name = "headgate_plugin_custom_wasm_seen_requests_total";
    let metrics = gateway.metrics().await;
    assert_eq!(metrics.sum(name, &[("plugin", "tested")]), 3.0);
}

#[tokio::test]
async fn a_long_line_of_a_plugins_log_is_there_to_its_end() {
    let simulator = Simulator::start().await;
    let gateway = start(LONG_LINE, &config(&simulator.url(), json!({}), json!({}))).await;
    gateway.ask(&Request::ask(Protocol::Chat)).await;
    let logged = || gateway.process.stderr.all().concat();
    let is_there = async || logged().contains("the reason").then_some(());
    eventually("the end of the line", is_there).await;
    assert!(logged().matches('a').count() >= 9990, "{}", logged());
}

#[tokio::test]
async fn all_instances_together_have_no_more_memory_than_the_operator_sets() {
    let simulator = Simulator::start().await;
    let mut config = config::standard(&simulator.url());
    config["server"]["limits"] = json!({"plugin_memory": "1MiB"});
    let folder = folder_with_plugin("first", GROWTH);
    add_plugin(&folder, "second", GROWTH);
    for name in ["first", "second"] {
        declare_plugin(&mut config, name, json!({"limits": {"memory": "1MiB"}}));
        let chain = &mut config::route(&mut config, "chat")["request"];
        let filter = json!({"plugin": {"use": name}});
        chain.as_array_mut().unwrap().push(filter);
    }
    let gateway = Gateway::start_in(folder, &format!("{config:#}")).await;
    let response = gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_error_body(Protocol::Chat, &response, 503);
    let metrics = gateway.metrics().await;
    let failures = |plugin, reason| {
        let labels = [("plugin", plugin), ("reason", reason)];
        metrics.sum("headgate_plugin_failures_total", &labels)
    };
    assert_eq!(failures("second", "memory"), 1.0);
    assert_eq!(failures("first", "memory"), 0.0);
    assert!(metrics.sum("headgate_plugin_memory_bytes", &[]) <= f64::from(1 << 20));
}

#[test]
fn settings_of_plugins_that_cannot_work_are_errors_with_their_place() {
    let (head, rest) = GOOD.split_once("callers:").unwrap();
    let table = [
        (
            "  limits: {plugin_memory: 32MiB}\n",
            "{wasm: plugins/tested.wasm}",
            [
                "plugins.tested.limits.memory",
                "server.limits.plugin_memory",
            ],
        ),
        (
            "",
            "{wasm: plugins/tested.wasm, grants: {response_headers: [etag, Content-Length]}}",
            [
                "plugins.tested.grants.response_headers",
                "`Content-Length` is not a header",
            ],
        ),
        (
            "",
            "{wasm: plugins/tested.wasm, grants: {request_headers: ['a b']}}",
            [
                "plugins.tested.grants.request_headers",
                "`a b` is not a header",
            ],
        ),
    ];
    for (server, plugin, expected) in table {
        let folder = folder_with_plugin("tested", "");
        let text = format!("{head}{server}plugins: {{tested: {plugin}}}\ncallers:{rest}");
        let output = check_in(&folder, &text);
        assert!(!output.success, "{text}");
        let printed = format!("{}{}", output.stdout, output.stderr);
        for part in expected {
            assert!(printed.contains(part), "{part}\n{printed}");
        }
    }
}
