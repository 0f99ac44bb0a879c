//! End-to-end tests of `cors`: what a browser's page may read, on each kind of response.

use crate::harness::config;
use crate::harness::{Gateway, Request, Simulator, WholeResponse};
use serde_json::{Value, json};

const CHAT: &str = "/v1/chat/completions";
const PAGE: &str = "https://app.example";

/// The standard configuration, whose chat route has `cors` and takes preflight requests.
fn with_cors(simulator: &Simulator, settings: Value) -> Value {
    let mut config = config::standard(&simulator.url());
    let chat = config::route(&mut config, "chat");
    chat["match"] = json!([format!("POST {CHAT}"), format!("OPTIONS {CHAT}")]);
    let filters = chat["request"].as_array_mut().unwrap();
    filters.insert(0, json!({"cors": settings}));
    config
}

fn chat() -> Request {
    let messages = json!([{"role": "user", "content": "Hello"}]);
    let body = json!({"model": "demo-large", "messages": messages});
    Request::post(CHAT, body.to_string()).header("origin", PAGE)
}

fn preflight(origin: &str) -> Request {
    Request::new("OPTIONS", CHAT)
        .without("Authorization")
        .header("origin", origin)
        .header("access-control-request-method", "POST")
        .header(
            "access-control-request-headers",
            "authorization,content-type",
        )
}

fn header<'a>(answer: &'a WholeResponse, name: &str) -> Option<&'a str> {
    answer.headers.get(name)
}

#[tokio::test]
async fn a_preflight_needs_no_key_and_reaches_no_provider() {
    let simulator = Simulator::start().await;
    let settings = json!({"origins": [PAGE], "max_age": "1h"});
    let gateway = Gateway::start(&with_cors(&simulator, settings)).await;
    let allowed = gateway.ask(&preflight(PAGE)).await;
    assert_eq!(allowed.status, 204, "{}", allowed.text());
    for (name, value) in [
        ("access-control-allow-origin", PAGE),
        ("access-control-allow-methods", "GET, POST, DELETE"),
        ("access-control-allow-headers", "*, authorization"),
        ("access-control-max-age", "3600"),
        ("vary", "origin"),
    ] {
        assert_eq!(header(&allowed, name), Some(value), "{name}");
    }
    let refused = gateway.ask(&preflight("https://evil.example")).await;
    assert_eq!(refused.status, 403, "{}", refused.text());
    assert_eq!(header(&refused, "access-control-allow-origin"), None);
    assert!(!refused.text().contains("evil"), "{}", refused.text());
    let other_options = Request::new("OPTIONS", CHAT).with_body(chat().body.unwrap());
    let answer = gateway.ask(&other_options).await;
    assert_eq!(answer.status, 204, "{}", answer.text());
    let two = preflight(PAGE).header("origin", "https://evil.example");
    let answer = gateway.ask(&two).await;
    assert_eq!(header(&answer, "access-control-allow-origin"), None);
    assert!(simulator.records().await.is_empty());
}

#[tokio::test]
async fn responses_and_errors_can_be_read_by_pages_of_a_listed_origin_only() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&with_cors(&simulator, json!({"origins": [PAGE]}))).await;
    let broken = Request::post(CHAT, "{").header("origin", PAGE);
    let cases = [
        (chat(), 200),
        (chat().without("Authorization"), 401),
        (chat().header("x-simulate", "status=400"), 400),
        (chat().header("x-simulate", "status=500"), 500),
        (chat().header("content-type", "text/plain"), 415),
        (broken, 400),
    ];
    for (request, status) in cases {
        let answer = gateway.ask(&request).await;
        assert_eq!(answer.status, status, "{}", answer.text());
        assert_eq!(header(&answer, "access-control-allow-origin"), Some(PAGE));
        assert_eq!(header(&answer, "access-control-expose-headers"), Some("*"));
        assert_eq!(header(&answer, "access-control-allow-credentials"), None);
        assert_eq!(header(&answer, "vary"), Some("origin"));
        let other = request.without("origin");
        for other in [
            other.clone().header("origin", "https://evil.example"),
            other,
        ] {
            let answer = gateway.ask(&other).await;
            assert_eq!(answer.status, status, "{}", answer.text());
            assert_eq!(header(&answer, "access-control-allow-origin"), None);
            assert_eq!(header(&answer, "vary"), Some("origin"));
        }
    }
}

#[tokio::test]
async fn a_recorded_response_has_the_origin_of_each_request() {
    let simulator = Simulator::start().await;
    let other = "https://other.example";
    let mut config = with_cors(&simulator, json!({"origins": [PAGE, other]}));
    let chat_route = config::route(&mut config, "chat");
    let filters = chat_route["request"].as_array_mut().unwrap();
    filters.push(json!({"cache": {"ttl": "1m"}}));
    let gateway = Gateway::start(&config).await;
    for origin in [PAGE, other, PAGE] {
        let request = chat().without("origin").header("origin", origin);
        let answer = gateway.ask(&request).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(header(&answer, "access-control-allow-origin"), Some(origin));
    }
    assert_eq!(simulator.records().await.len(), 1);
}

#[tokio::test]
async fn all_origins_are_one_value_and_never_the_callers() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&with_cors(&simulator, json!({"origins": ["*"]}))).await;
    for request in [chat(), preflight("null"), chat().without("origin")] {
        let answer = gateway.ask(&request).await;
        assert_eq!(header(&answer, "access-control-allow-origin"), Some("*"));
    }
}
