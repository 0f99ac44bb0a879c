//! Tests of the headers of runs: what names a run, what tightens it, and what bad ones get in each protocol.

use super::runs::{assert_ended, chat, run_config};
use crate::configuration::check::check;
use crate::harness::error_shape::assert_error_body;
use crate::harness::{Gateway, Request, Simulator};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

#[tokio::test]
async fn a_request_tightens_its_run_and_widens_nothing() {
    let simulator = Simulator::start().await;
    let runs = json!({"calls": 4, "tokens": 100_000, "cost": 1, "time": "1h", "repeats": 9});
    let config = run_config(&simulator.url(), &json!("memory"), &runs);
    let gateway = Gateway::start(&config).await;
    for (cap, tight, wide) in [
        ("calls", "1", "1000"),
        ("tokens", "250", "9000000"),
        ("cost", "0.0015", "1000"),
        ("time", "1ms", "240h"),
        ("repeats", "1", "1000"),
    ] {
        let name = format!("job-{cap}");
        let header = format!("x-headgate-run-{cap}");
        let ask = async |value: Option<&str>| {
            let request = chat(&name, "the same");
            let request = match value {
                Some(value) => request.header(&header, value),
                None => request,
            };
            gateway
                .ask(&request.simulate("delay=5ms; body_bytes=400"))
                .await
        };
        let first = ask(Some(tight)).await;
        assert_eq!(first.status, 200, "{cap}: {}", first.text());
        // Also without the header, and with one that asks for more.
        for value in [None, Some(wide), Some(tight)] {
            assert_ended(&ask(value).await, &name, cap);
        }
    }
    // A run that asks for more than the operator's gets the operator's.
    for step in 0..4 {
        let wide = chat("wide", &step.to_string()).header("x-headgate-run-calls", "1000");
        assert_eq!(gateway.ask(&wide).await.status, 200);
    }
    let refused = gateway.ask(&chat("wide", "5")).await;
    let message = assert_ended(&refused, "wide", "calls");
    assert!(message.contains("may make 4 calls"), "{message}");
}

#[tokio::test]
async fn bad_headers_get_400_in_the_words_of_each_protocol_and_are_not_sent() {
    let simulator = Simulator::start().await;
    let config = run_config(
        &simulator.url(),
        &json!("memory"),
        &json!({"require": true}),
    );
    let gateway = Gateway::start(&config).await;
    let long = "a".repeat(129);
    let hostile = [
        ("x-headgate-run", ""),
        ("x-headgate-run", long.as_str()),
        ("x-headgate-run", "../../runs"),
        ("x-headgate-run", "a b"),
        ("x-headgate-run", "{ann}:run"),
        ("x-headgate-run", "<img src=x>"),
        ("x-headgate-run", "' OR 1=1 --"),
        ("x-headgate-run", "sk-not-a-name"),
        ("x-headgate-run", "J\u{f6}b"),
        ("x-headgate-run-calls", "-1"),
        ("x-headgate-run-tokens", "1e9"),
        ("x-headgate-run-cost", "free"),
        ("x-headgate-run-time", "forever"),
        ("x-headgate-run-repeats", "0"),
    ];
    for protocol in [Protocol::Chat, Protocol::Messages, Protocol::Responses] {
        for (header, value) in hostile {
            let mut request = Request::ask(protocol).header(header, value);
            if header != "x-headgate-run" {
                request = request.header("x-headgate-run", "job");
            }
            let refused = gateway.ask(&request).await;
            let message = assert_error_body(protocol, &refused, 400);
            assert!(message.contains(header), "{message}");
            assert!(value.len() < 4 || !message.contains(value), "{message}");
        }
        let nameless = gateway.ask(&Request::ask(protocol)).await;
        let message = assert_error_body(protocol, &nameless, 400);
        assert!(
            message.contains("missing header `x-headgate-run`"),
            "{message}"
        );
        let named = Request::ask(protocol).header("x-headgate-run", "job");
        assert_eq!(gateway.ask(&named).await.status, 200, "{protocol:?}");
    }
    assert_eq!(simulator.records().await.len(), 3);
    let listed = gateway.page("GET", "/runs").await.json();
    assert_eq!(listed["runs"].as_array().unwrap().len(), 1, "{listed}");
}

#[tokio::test]
async fn a_refusal_by_a_run_stops_the_sdks_of_each_protocol() {
    let simulator = Simulator::start().await;
    let config = run_config(&simulator.url(), &json!("memory"), &json!({"calls": 1}));
    let gateway = Gateway::start(&config).await;
    for (protocol, class) in [
        (Protocol::Chat, "insufficient_quota"),
        (Protocol::Messages, "rate_limit_error"),
        (Protocol::Responses, "insufficient_quota"),
    ] {
        let name = format!("job-{protocol:?}");
        let ask = async || {
            let request = Request::ask(protocol).header("x-headgate-run", &name);
            gateway.ask(&request).await
        };
        assert_eq!(ask().await.status, 200);
        let refused = ask().await;
        let message = assert_error_body(protocol, &refused, 429);
        assert!(message.contains("may make 1 calls (`calls`)"), "{message}");
        assert_eq!(refused.json()["error"]["type"], class);
        assert_eq!(refused.headers.get("x-should-retry"), Some("false"));
        assert_eq!(refused.headers.get("x-headgate-run"), Some(&*name));
    }
}

#[tokio::test]
async fn a_caller_without_runs_may_send_any_header_of_runs() {
    let simulator = Simulator::start().await;
    let mut config = run_config(&simulator.url(), &json!("memory"), &json!({"calls": 1}));
    config["callers"][0]["limits"] = json!({"requests_per_minute": 100});
    let gateway = Gateway::start(&config).await;
    for name in ["job", "job", "../x"] {
        let request = chat(name, "again").header("x-headgate-run-calls", "none");
        let response = gateway.ask(&request).await;
        assert_eq!(response.status, 200);
        assert_eq!(gateway.log_of(&response).await["run"], Value::Null);
    }
}

#[tokio::test]
async fn the_trace_id_names_a_run_where_the_operator_lets_it() {
    let simulator = Simulator::start().await;
    let parent = |span: u8| format!("00-{TRACE}-b7ad6b71692033{span:02x}-01");
    for (takes_trace_id, expected) in [(true, 429), (false, 200)] {
        let runs = json!({"calls": 2, "trace_id": takes_trace_id});
        let config = run_config(&simulator.url(), &json!("memory"), &runs);
        let gateway = Gateway::start(&config).await;
        for span in 0..2 {
            let request = Request::ask(Protocol::Chat).header("traceparent", &parent(span));
            assert_eq!(gateway.ask(&request).await.status, 200);
        }
        let third = Request::ask(Protocol::Chat).header("traceparent", &parent(3));
        let third = gateway.ask(&third).await;
        assert_eq!(third.status, expected, "{}", third.text());
        if takes_trace_id {
            assert_ended(&third, TRACE, "calls");
            let own = Request::ask(Protocol::Chat).header("traceparent", &parent(4));
            let own = own.header("x-headgate-run", "own");
            assert_eq!(gateway.ask(&own).await.status, 200);
        }
    }
}

#[tokio::test]
async fn a_caller_with_all_of_its_runs_waits_until_one_is_forgotten() {
    let simulator = Simulator::start().await;
    let config = run_config(&simulator.url(), &json!("memory"), &json!({"live": 2}));
    let gateway = Gateway::start(&config).await;
    for name in ["a", "b", "a"] {
        assert_eq!(gateway.ask(&chat(name, "step")).await.status, 200);
    }
    let refused = gateway.ask(&chat("c", "step")).await;
    let message = assert_error_body(Protocol::Chat, &refused, 429);
    assert!(message.contains("may have 2 runs at a time"), "{message}");
    assert_eq!(refused.json()["error"]["code"], "rate_limit_exceeded");
    let wait: u64 = refused.headers.get("retry-after").unwrap().parse().unwrap();
    assert!((3_500..=3_600).contains(&wait), "{wait}");
    assert_eq!(refused.headers.get("x-headgate-run-cap"), Some("live"));
    let without = chat("c", "step").without("x-headgate-run");
    assert_eq!(gateway.ask(&without).await.status, 200);
}

#[test]
fn runs_that_cannot_be_kept_are_reported_with_their_places() {
    let standard = |runs: Value| {
        let mut config = run_config("https://provider.test/v1", &json!("memory"), &runs);
        config["callers"].as_array_mut().unwrap().truncate(1);
        config
    };
    type Change = fn(&mut Value);
    let cases: [(Value, Change, &str); 6] = [
        (json!({"calls": 0}), |_| {}, "calls"),
        (json!({"live": 10_001}), |_| {}, "live"),
        (
            json!({"idle": "30s"}),
            |_| {},
            "expected a duration from 1m to 720h",
        ),
        (
            json!({"cost": 1}),
            |config| drop(config.as_object_mut().unwrap().remove("prices")),
            "a budget in money requires `prices`",
        ),
        (
            json!({"cost": 1}),
            |config| config["models"]["demo-large"] = json!({}),
            "no `max_output_tokens`",
        ),
        (
            json!({"cost": 9_000_001}),
            |_| {},
            "expected at most 9000000",
        ),
    ];
    for (runs, change, reason) in cases {
        let mut config = standard(runs.clone());
        change(&mut config);
        let output = check(&format!("{config:#}"));
        let text = output.stdout + &output.stderr;
        assert!(!output.success && text.contains(reason), "{runs}: {text}");
        assert!(text.contains("runs"), "{runs}: {text}");
    }
    let output = check(&format!(
        "{:#}",
        standard(json!({"calls": 1, "cost": 1, "idle": "1m"}))
    ));
    assert!(output.success, "{}", output.stderr);
}
