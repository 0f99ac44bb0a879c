//! Tests of vendors whose own APIs answer with URLs, and of callback URLs of callers: none gets through.

use crate::harness::config;
use crate::harness::http_response::{http_response, json_response};
use crate::harness::native_apis::{NativeApi, assert_urls_are_the_gateways, native_apis};
use crate::harness::{Gateway, ScriptedProvider, ScriptedResponse, Simulator};
use serde_json::json;
use tokio::net::TcpListener;

const QUEUED: &str = "queue=60m";
/// Where a caller is called back.
const CALLER: &str = "https://127.0.0.1/caller";

/// A provider that answers each request with the next of `bodies`, in which `BASE` is its base URL.
async fn hostile(api: &NativeApi, answers: &[(u16, &str)]) -> (ScriptedProvider, Gateway) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let provider = ScriptedProvider::on(listener, Vec::new());
    for (status, body) in answers {
        let answer = json_response(*status, body.replace("BASE", &base));
        provider.next(vec![ScriptedResponse::Send(answer)]);
    }
    let gateway = Gateway::start(&api.config_at(&base)).await;
    (provider, gateway)
}

#[tokio::test]
async fn a_vendors_urls_in_unexpected_members_reach_no_caller() {
    let mixed = r#""web": "https://evil.example/1", "list": ["//evil.example/2", 1],
        "deep": {"links": [{"self": "HTTPS:\\evil.example/3", "n": 1}]}, "https://evil.example/4": 1,
        "note": "see https://evil.example/5 for more""#;
    for (family, created, polled) in [
        (
            "runway",
            format!(r#"{{"id": "r-12345678", {mixed}}}"#),
            format!(r#"{{"id": "r-12345678", "status": "RUNNING", {mixed}}}"#),
        ),
        (
            "replicate",
            format!(
                r#"{{"id": "p-12345678", "status": "starting", "urls": {{"get": "https://evil.example/6"}}, {mixed}}}"#
            ),
            format!(
                r#"{{"id": "p-12345678", "status": "succeeded", "output": "http://169.254.169.254/x", {mixed}}}"#
            ),
        ),
        (
            "fal",
            format!(
                r#"{{"request_id": "1", "response_url": "BASE/fal-ai/x/requests/1",
                "status_url": "https://evil.example/7", {mixed}}}"#
            ),
            format!(
                r#"{{"request_id": "1", "status": "IN_PROGRESS", "response_url": "https://evil.example/fal-ai/x/requests/1", {mixed}}}"#
            ),
        ),
        (
            "luma",
            format!(r#"{{"id": "g-12345678", "state": "queued", {mixed}}}"#),
            format!(
                r#"{{"id": "g-12345678", "state": "completed", "assets": {{"video": "http://10.0.0.1/x",
                "image": "https://user@evil.example/9"}}, {mixed}}}"#
            ),
        ),
    ] {
        let mut apis = native_apis().into_iter();
        let api = apis.find(|api| api.family == family).unwrap();
        let (_provider, gateway) = hostile(&api, &[(200, &created), (200, &polled)]).await;
        let created = gateway.ask(&api.create_request()).await;
        let id = api.id_in(&created);
        let polled = gateway.ask(&api.query_request(&id)).await;
        for answer in [&created, &polled] {
            let text = answer.text();
            assert_eq!(answer.status, 200, "{family}: {text}");
            assert!(
                !text.contains("evil") && !text.contains("12345678"),
                "{family}: {text}"
            );
            assert!(
                !text.contains("169.254") && !text.contains("10.0.0.1"),
                "{family}: {text}"
            );
            assert!(
                text.contains("see [URL removed] for more"),
                "{family}: {text}"
            );
            assert!(text.contains(r#""n": 1"#), "{family}: {text}");
            assert_urls_are_the_gateways(&api, answer, None);
        }
        let metrics = gateway.metrics().await;
        let removed = metrics.sum("headgate_task_urls_removed_total", &[]);
        assert!(removed >= 8.0, "{family}: {removed}");
    }
}

#[tokio::test]
async fn a_vendors_url_in_an_error_reaches_no_caller() {
    let mut apis = native_apis().into_iter();
    let api = apis.find(|api| api.family == "runway").unwrap();
    let error =
        r#"{"error": "not allowed, see https://evil.example/1", "docs": "https://evil.example/2"}"#;
    // Not in the vendor's format.
    let other = r#"{"message": "not allowed, see https://evil.example/1"}"#;
    let created = r#"{"id": "r-12345678"}"#;
    let answers = [(400, error), (400, other), (200, created), (400, error)];
    let (_provider, gateway) = hostile(&api, &answers).await;
    let refused = gateway.ask(&api.create_request()).await;
    let refused_otherwise = gateway.ask(&api.create_request()).await;
    let id = api.id_in(&gateway.ask(&api.create_request()).await);
    let polled = gateway.ask(&api.query_request(&id)).await;
    for answer in [refused, refused_otherwise, polled] {
        assert_eq!(answer.status, 400, "{}", answer.text());
        assert!(!answer.text().contains("evil"), "{}", answer.text());
        assert!(
            answer.text().contains("not allowed, see [URL removed]"),
            "{}",
            answer.text()
        );
    }
}

#[tokio::test]
async fn the_callback_url_of_a_caller_is_not_the_vendors() {
    let simulator = Simulator::start().await;
    for (family, body, query) in [
        (
            "replicate",
            json!({"input": {"prompt": "a gate"}, "webhook": CALLER}),
            "",
        ),
        (
            "fal",
            json!({"prompt": "a gate"}),
            "?fal_webhook=https%3A%2F%2F127.0.0.1%2Fcaller",
        ),
        (
            "luma",
            json!({"model": "MODEL", "prompt": "a gate", "callback_url": CALLER}),
            "",
        ),
    ] {
        let mut apis = native_apis().into_iter();
        let mut api = apis.find(|api| api.family == family).unwrap();
        api.body = body;
        let mut config = api.config(&simulator, QUEUED);
        config["server"]["public_url"] = json!("https://gate.example");
        for (mode, status) in [("deliver", 200), ("refuse", 400)] {
            let steps = &mut config::route(&mut config, family)["request"];
            let steps = steps.as_array_mut().unwrap();
            steps.retain(|step| step.get("callbacks").is_none());
            let last = steps.len() - 1;
            steps.insert(last, json!({"callbacks": {"mode": mode}}));
            let gateway = Gateway::start(&config).await;
            let mut request = api.create_request();
            request.target += query;
            let answer = gateway.ask(&request).await;
            let is_expected = answer.status == status || status == 200 && answer.status == 201;
            assert!(is_expected, "{family} {mode}: {}", answer.text());
        }
        let record = simulator.records().await.into_iter().next_back().unwrap();
        let sent = record.to_string() + &String::from_utf8_lossy(&simulator.last_body().await);
        assert!(sent.contains("gate.example"), "{family}: {sent}");
        assert!(
            !sent.contains("127.0.0.1/caller") && !sent.contains("2Fcaller"),
            "{family}: {sent}"
        );
    }
}

#[tokio::test]
async fn a_vendors_url_in_a_header_or_a_body_that_is_no_json_reaches_no_caller() {
    let mut apis = native_apis().into_iter();
    let api = apis.find(|api| api.family == "runway").unwrap();
    let headers = "Location: https://evil.example/1\r\nLink: </evil>; rel=next\r\nX-Docs: see https://evil.example/2\r\n";
    for (status, kind, body, expected) in [
        (200, "application/json", r#"{"id": "r-12345678"}"#, 200),
        (302, "application/json", "{}", 502),
        (
            302,
            "text/html",
            "<a href='https://evil.example/3'>moved</a>",
            502,
        ),
        (307, "text/html", "", 502),
        (429, "application/json", r#"{"error": "slow down"}"#, 429),
        (500, "text/plain", "see https://evil.example/4", 502),
        (
            200,
            "text/event-stream",
            "data: {\"u\": \"https://evil.example/5\"}\n\n",
            502,
        ),
        (200, "text/html", "<a href='https://evil.example/6'>", 502),
    ] {
        let headers = format!("Content-Type: {kind}\r\n{headers}");
        let response = http_response(status, &headers, body);
        let provider = ScriptedProvider::answering(response).await;
        let base = format!("http://{}", provider.address);
        let gateway = Gateway::start(&api.config_at(&base)).await;
        let answer = gateway.ask(&api.create_request()).await;
        let text = answer.text();
        assert_eq!(answer.status, expected, "{status} {kind}: {text}");
        let names = ["location", "link", "x-docs"];
        let left = names.iter().find(|name| answer.headers.get(name).is_some());
        assert!(
            left.is_none() && !text.contains("evil"),
            "{status} {kind}: {left:?} {text}"
        );
    }
}
