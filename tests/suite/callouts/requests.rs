//! Tests of calls for requests: what is sent, and what the response of the service decides.

use crate::harness::config::{self, CREDENTIALS};
use crate::harness::error_shape::assert_error_body;
use crate::harness::request::ANN;
use crate::harness::service::{
    CONTINUE, SERVICE_KEY, add_service, call_on_requests, moderation, payloads, respond,
};
use crate::harness::{Gateway, PROTOCOLS, Request, ScriptedProvider, Simulator, body_of, path_of};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// A gateway whose text routes ask `service` about requests.
async fn gateway(service: &ScriptedProvider, settings: &Value) -> (Gateway, Simulator) {
    let simulator = Simulator::start().await;
    let mut config = config::standard(&simulator.url());
    let breaker = json!({"consecutive_failures": 0});
    let service_settings = json!({"timeout": "5s", "breaker": breaker});
    add_service(&mut config, service, service_settings);
    for protocol in PROTOCOLS {
        call_on_requests(&mut config, protocol.name(), settings.clone());
    }
    (Gateway::start(&config).await, simulator)
}

/// The body that the provider received last.
async fn received(simulator: &Simulator) -> String {
    let records = simulator.records().await;
    let last = records.last().expect("a request reached the provider");
    let body = simulator.body(&last["n"]).await;
    String::from_utf8(body.to_vec()).unwrap()
}

fn with_text(protocol: Protocol, text: &str) -> Request {
    let body = body_of(protocol).to_string().replace("Hello", text);
    Request::to(protocol, body)
}

#[tokio::test]
async fn a_service_sees_what_was_chosen_and_decides() {
    let service = moderation().await;
    let settings = json!({"send": {"fields": ["/messages", "/input"], "headers": ["x-tenant"]}});
    let (gateway, simulator) = gateway(&service, &settings).await;
    for protocol in PROTOCOLS {
        let allowed = gateway
            .ask(&with_text(protocol, "hi").header("x-tenant", "blue"))
            .await;
        assert_eq!(allowed.status, 200, "{}", allowed.text());
        let payload = payloads(&service).pop().unwrap();
        assert_eq!(payload["version"], 1);
        assert_eq!(payload["phase"], "request");
        let request = &payload["request"];
        assert_eq!(request["id"], allowed.headers.get("x-request-id").unwrap());
        assert_eq!(request["method"], "POST");
        assert_eq!(request["path"], path_of(protocol));
        assert_eq!(request["route"], protocol.name());
        assert_eq!(request["model"], "demo-large");
        assert_eq!(request["caller"], "ann");
        assert_eq!(request["headers"], json!({"x-tenant": "blue"}));
        assert!(request["fields"].to_string().contains("hi"), "{request}");
        let before = simulator.records().await.len();
        let denied = gateway.ask(&with_text(protocol, "a forbidden word")).await;
        let message = assert_error_body(protocol, &denied, 403);
        assert_eq!(message, "not here");
        assert_eq!(simulator.records().await.len(), before, "nothing was sent");
        let line = gateway.log_of(&denied).await;
        assert_eq!(line["error_code"], "denied", "{line}");
        assert_eq!(line["callouts"], 1, "{line}");
        assert_eq!(line["callout_outcome"], "denied", "{line}");
        assert!(line["callout_ms"].as_f64().unwrap() > 0.0, "{line}");
    }
    let metrics = gateway.metrics().await;
    for (outcome, count) in [("continued", 3.0), ("denied", 3.0)] {
        let labels = [("service", "moderation"), ("outcome", outcome)];
        assert_eq!(metrics.sum("headgate_callouts_total", &labels), count);
    }
    assert_eq!(metrics.sum("headgate_callout_breaker_open", &[]), 0.0);
    assert_eq!(
        metrics.sum("headgate_callout_duration_seconds_count", &[]),
        6.0
    );
}

#[tokio::test]
async fn no_credential_reaches_a_service_by_any_way() {
    let service = moderation().await;
    let settings = json!({"send": {"fields": [""], "headers": ["x-copy", "x-tenant"]}});
    let (gateway, _simulator) = gateway(&service, &settings).await;
    let request = with_text(Protocol::Chat, &format!("my key is {ANN}, is that right?"))
        .header("x-copy", &format!("Bearer {ANN}"))
        .header("x-tenant", "blue");
    assert_eq!(gateway.ask(&request).await.status, 200);
    let payload = service.requests().pop().unwrap();
    for secret in [ANN, CREDENTIALS[0], CREDENTIALS[1]] {
        assert!(!payload.contains(secret), "{payload}");
    }
    assert!(
        payload
            .to_ascii_lowercase()
            .contains(&format!("x-service-key: {SERVICE_KEY}"))
    );
    let payload = payloads(&service).pop().unwrap();
    assert_eq!(payload["request"]["headers"], json!({"x-tenant": "blue"}));
    assert!(
        payload.to_string().contains("my key is [secret], is"),
        "{payload}"
    );
}

#[tokio::test]
async fn a_key_that_is_written_with_escapes_is_masked_too() {
    let service = moderation().await;
    let (gateway, _simulator) = gateway(&service, &json!({"send": {"fields": [""]}})).await;
    let (first, rest) = ANN.split_at(1);
    let code = u32::from(first.chars().next().unwrap());
    let escaped = format!("\\u{code:04x}{rest}");
    let nested = format!(r#"{{\"a\":\"\{escaped}\"}}"#);
    for written in [escaped, nested] {
        let request = with_text(Protocol::Chat, &format!("is {written} a key?"));
        let received = gateway.ask(&request).await;
        assert_eq!(received.status, 200, "{written}: {}", received.text());
        let payload = payloads(&service).pop().unwrap().to_string();
        assert!(payload.contains("[secret]"), "{payload}");
        assert!(!payload.contains(rest), "{payload}");
    }
}

#[tokio::test]
async fn a_denial_has_the_status_of_the_service_in_the_format_of_the_protocol() {
    let service = moderation().await;
    let settings = json!({"send": {"fields": ["/messages", "/input"]}});
    let (gateway, simulator) = gateway(&service, &settings).await;
    for protocol in PROTOCOLS {
        for status in [400, 401, 403, 404, 429, 451] {
            let denial = json!({"action": "deny", "status": status, "message": "because"});
            service.next(respond(&denial.to_string()));
            let denied = gateway.ask(&Request::ask(protocol)).await;
            assert_eq!(assert_error_body(protocol, &denied, status), "because");
            let retried = denied.headers.get("x-should-retry");
            assert_eq!(retried, (status != 429).then_some("false"), "{status}");
        }
        service.next(respond(r#"{"action":"deny"}"#));
        let denied = gateway.ask(&Request::ask(protocol)).await;
        let message = assert_error_body(protocol, &denied, 403);
        assert!(message.contains("denied by a policy"), "{message}");
    }
    assert!(simulator.records().await.is_empty());
}

#[tokio::test]
async fn a_service_sets_the_headers_that_it_may_set() {
    let service = ScriptedProvider::start(respond(
        r#"{"action":"continue","headers":{"X-Risk":"low"}}"#,
    ))
    .await;
    let settings = json!({"allow": {"set_headers": ["x-risk"]}});
    let (gateway, simulator) = gateway(&service, &settings).await;
    let request = Request::ask(Protocol::Chat).header("x-risk", "of the caller");
    assert_eq!(gateway.ask(&request).await.status, 200);
    let records = simulator.records().await;
    let headers = records.last().unwrap()["headers"].to_string();
    assert!(
        headers.contains("low") && !headers.contains("of the caller"),
        "{headers}"
    );
    // Nothing of the body was chosen, so that the service was called before it was read.
    let payload = payloads(&service).pop().unwrap();
    assert_eq!(payload["request"]["fields"], json!({}));
    assert_eq!(payload["request"]["model"], Value::Null);
    for changes in [
        r#"{"action":"continue","headers":{"x-other":"1"}}"#,
        r#"{"action":"continue","headers":{"authorization":"Bearer x"}}"#,
        r#"{"action":"continue","headers":{"x-risk":"a\nb"}}"#,
        r#"{"action":"continue","edits":{"set":{"/user":"x"}}}"#,
    ] {
        service.next(respond(changes));
        let refused = gateway.ask(&Request::ask(Protocol::Chat)).await;
        assert_error_body(Protocol::Chat, &refused, 503);
        assert_eq!(simulator.records().await.len(), 1, "{changes}");
    }
}

#[tokio::test]
async fn a_service_edits_the_values_that_it_may_edit_and_all_other_bytes_stay() {
    let service = ScriptedProvider::start(respond(CONTINUE)).await;
    let settings = json!({"send": {"fields": ["/messages"]}, "allow": {"edit_body": ["/messages/0", "/user"]}});
    let (gateway, simulator) = gateway(&service, &settings).await;
    let body = r#"{"model": "demo-large",  "messages": [{"role": "user","content":"a"},{"role":"user", "content":"b"}], "temperature":1.0}"#;
    let request = Request::to(Protocol::Chat, body);
    service.next(respond(
        r#"{"action":"continue","edits":{"set":{"/messages/0/content":"masked","/user":"u1"}}}"#,
    ));
    let edited = gateway.ask(&request).await;
    assert_eq!(edited.status, 200, "{}", edited.text());
    let expected = body
        .replace("demo-large", "sim-large-2026-08")
        .replace(r#""a""#, r#""masked""#)
        .replace("1.0}", r#"1.0,"user":"u1"}"#);
    assert_eq!(received(&simulator).await, expected);
    for (edits, reason) in [
        (r#"{"/messages/1/content":"x"}"#, "beyond `allow`"),
        (r#"{"/model":"demo-small"}"#, "beyond `allow`"),
        (r#"{"":{}}"#, "beyond `allow`"),
        (r#"{"/messages/0/a/b":1}"#, "no such place"),
        (r#"{"/messages/0":7}"#, "invalid by the schema"),
        (r#"{"/user":{"a":1,"a":2}}"#, "not strict JSON"),
    ] {
        let sent = simulator.records().await.len();
        let changes = format!(r#"{{"action":"continue","edits":{{"set":{edits}}}}}"#);
        service.next(respond(&changes));
        let refused = gateway.ask(&request).await;
        assert_error_body(Protocol::Chat, &refused, 503);
        let line = gateway.log_of(&refused).await;
        assert_eq!(
            line["callout_outcome"], "invalid_response",
            "{reason}: {line}"
        );
        assert_eq!(simulator.records().await.len(), sent, "{reason}");
    }
}

#[tokio::test]
async fn a_service_that_may_not_deny_cannot() {
    let service = ScriptedProvider::start(respond(r#"{"action":"deny"}"#)).await;
    let settings = json!({"allow": {"deny": false}, "on_failure": "allow"});
    let (gateway, _simulator) = gateway(&service, &settings).await;
    let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let line = gateway.log_of(&answer).await;
    assert_eq!(line["callout_outcome"], "invalid_response", "{line}");
}

#[tokio::test]
async fn strangers_cause_no_calls() {
    let service = moderation().await;
    let (gateway, _simulator) = gateway(&service, &json!({})).await;
    let refused = gateway
        .ask(&Request::ask(Protocol::Chat).key("sk-stranger-000000"))
        .await;
    assert_eq!(refused.status, 401);
    assert!(service.requests().is_empty());
}

#[tokio::test]
async fn a_payload_that_is_too_large_is_not_sent() {
    let service = moderation().await;
    for on_failure in ["deny", "allow"] {
        let settings = json!({
            "send": {"fields": ["/messages"], "max_bytes": "1KiB"}, "on_failure": on_failure,
        });
        let (gateway, _simulator) = gateway(&service, &settings).await;
        let settled = service.requests().len();
        for protocol in [Protocol::Chat, Protocol::Messages] {
            let large = with_text(protocol, &"x".repeat(2000));
            let answer = gateway.ask(&large).await;
            assert_error_body(protocol, &answer, 413);
            let limit = "`/messages` exceeds the limit of 1024 bytes";
            assert!(answer.text().contains(limit), "{}", answer.text());
            let line = gateway.log_of(&answer).await;
            assert_eq!(line["callout_outcome"], "not_sent", "{line}");
        }
        assert_eq!(service.requests().len(), settled);
    }
}
