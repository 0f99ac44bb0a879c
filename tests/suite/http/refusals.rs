//! Tests of refused requests: status, error format, and a clean end of the connection.

use crate::harness::config::route;
use crate::harness::error_shape::assert_error_body;
use crate::harness::{PROTOCOLS, Request, TestSetup, body_of, eventually, path_of};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

const LIMIT: usize = 20_000;

#[tokio::test]
async fn only_plain_json_in_utf8_is_taken() {
    let world = TestSetup::start().await;
    for protocol in PROTOCOLS {
        for (kind, coding, status) in [
            (Some("application/json"), None, 200),
            (Some("Application/JSON ; charset=\"UTF-8\""), None, 200),
            (Some("application/json"), Some("identity"), 200),
            (None, None, 415),
            (Some(""), None, 415),
            (Some("text/json"), None, 415),
            (Some("text/plain"), None, 415),
            (Some("application/jsonl"), None, 415),
            (Some("application/json; charset=utf-16"), None, 415),
            (Some("multipart/form-data; boundary=x"), None, 415),
            (Some("application/x-www-form-urlencoded"), None, 415),
            // What is no gzip or zstd is refused as such.
            (Some("application/json"), Some("gzip"), 400),
            (Some("application/json"), Some("br"), 415),
            (Some("application/json"), Some("zstd"), 400),
            (Some("application/json"), Some("identity, gzip"), 415),
        ] {
            let mut request = Request::ask(protocol).without("content-type");
            for (name, value) in [("Content-Type", kind), ("Content-Encoding", coding)] {
                request = match value {
                    Some(value) => request.header(name, value),
                    None => request,
                };
            }
            let answer = world.ask(&request).await;
            assert_eq!(
                answer.status,
                status,
                "{kind:?} {coding:?}: {}",
                answer.text()
            );
            if status == 415 {
                assert_error_body(protocol, &answer, 415);
            }
        }
    }
    assert_eq!(world.simulator.records().await.len(), 3 * PROTOCOLS.len());
}

#[tokio::test]
async fn a_declared_body_over_the_limit_is_refused_before_it_comes() {
    let world = with_small_limit().await;
    for protocol in PROTOCOLS {
        for expect in [None, Some("100-continue")] {
            let request = Request::to(protocol, vec![b' '; LIMIT + 1]);
            let request = match expect {
                Some(value) => request.header("Expect", value),
                None => request,
            };
            let mut connection = world.gateway.connect().await;
            connection.send(&request.head()).await.unwrap();
            // There is no interim response either: the first head is the final one.
            assert_error_body(protocol, &connection.answer().await.unwrap(), 413);
        }
        assert_eq!(
            world
                .ask(&Request::to(protocol, padded(protocol, LIMIT)))
                .await
                .status,
            200
        );
    }
    assert_eq!(world.simulator.records().await.len(), PROTOCOLS.len());
}

#[tokio::test]
async fn a_refusal_reaches_a_caller_that_is_still_sending() {
    let world = with_small_limit().await;
    for protocol in PROTOCOLS {
        let large = Request::to(protocol, vec![b' '; 8 << 20]);
        for (request, status) in [
            (large.clone(), 413),
            (large.clone().chunked(50_000), 413),
            (large.clone().key("sk-eve"), 401),
            (large.clone().key("sk-eve").chunked(50_000), 401),
            (large.without("content-type"), 415),
        ] {
            let mut connection = world.gateway.connect().await;
            // The gateway may stop reading the body, but must respond in any case.
            let _ = connection.send(&request.bytes()).await;
            assert_error_body(
                protocol,
                &connection.answer().await.expect("an answer"),
                status,
            );
            assert!(
                connection.is_over().await,
                "the connection cannot be used on"
            );
        }
    }
    assert_eq!(world.simulator.records().await.len(), 0);
}

#[tokio::test]
async fn a_connection_is_used_again_behind_a_refusal() {
    let world = TestSetup::start().await;
    let mut connection = world.gateway.connect().await;
    for (request, status) in [
        (Request::to(Protocol::Chat, "{"), 400),
        (Request::get("/v1/nothing"), 404),
        (Request::get(path_of(Protocol::Chat)), 405),
        (Request::get("/v1/models").key("sk-eve"), 401),
        (Request::to(Protocol::Chat, "{}").chunked(1), 400),
        (Request::ask(Protocol::Chat), 200),
    ] {
        assert_eq!(
            connection.ask(&request).await.status,
            status,
            "{}",
            request.target
        );
    }
}

#[tokio::test]
async fn a_caller_that_waits_for_leave_to_send_gets_it() {
    let world = TestSetup::start().await;
    for protocol in PROTOCOLS {
        let request = Request::ask(protocol).header("Expect", "100-continue");
        let mut connection = world.gateway.connect().await;
        connection.send(&request.head()).await.unwrap();
        assert_eq!(connection.head().await.unwrap().0, 100);
        connection.send(&request.framed_body()).await.unwrap();
        assert_eq!(connection.answer().await.unwrap().status, 200);
        assert_eq!(
            world.simulator.last().await["headers"]["expect"],
            Value::Null
        );
        for refused in [
            request.clone().key("sk-eve"),
            request.without("content-type"),
        ] {
            let mut connection = world.gateway.connect().await;
            connection.send(&refused.head()).await.unwrap();
            let answer = connection.answer().await.unwrap();
            assert!(matches!(answer.status, 401 | 415), "{}", answer.text());
        }
    }
}

#[tokio::test]
async fn the_messages_protocol_wants_a_date_for_its_version() {
    let world = TestSetup::start().await;
    let bare = Request::ask(Protocol::Messages).without("anthropic-version");
    let message = assert_error_body(Protocol::Messages, &world.ask(&bare).await, 400);
    assert!(message.contains("anthropic-version"), "{message}");
    for (date, status) in [
        ("2023-01-01", 200),
        ("2023-06-01", 200),
        ("2026-10-21", 200),
        ("2099-12-31", 200),
        ("", 400),
        ("latest", 400),
        ("2023-6-1", 400),
        ("2023-13-01", 400),
        ("2023-00-01", 400),
        ("2023-01-32", 400),
        ("20230601", 400),
        ("2023-06-01T00:00:00Z", 400),
        ("2023-06-01, 2023-06-01", 400),
    ] {
        let answer = world
            .ask(&bare.clone().header("anthropic-version", date))
            .await;
        assert_eq!(answer.status, status, "`{date}`: {}", answer.text());
        if status == 200 {
            assert_eq!(
                world.simulator.last().await["headers"]["anthropic-version"],
                date
            );
        } else {
            assert_error_body(Protocol::Messages, &answer, 400);
        }
    }
}

#[tokio::test]
async fn a_method_that_is_not_allowed_gets_the_allowed_methods_in_the_shape_of_its_path() {
    let world = TestSetup::start().await;
    for (method, path, protocol, allow) in [
        ("GET", "/v1/chat/completions", Protocol::Chat, "POST"),
        ("DELETE", "/v1/messages", Protocol::Messages, "POST"),
        (
            "PUT",
            "/v1/responses/resp_1",
            Protocol::Responses,
            "GET, DELETE",
        ),
        ("POST", "/v1/models", Protocol::Chat, "GET"),
        ("OPTIONS", "/v1/models", Protocol::Chat, "GET"),
    ] {
        let answer = world.ask(&Request::new(method, path)).await;
        assert_error_body(protocol, &answer, 405);
        assert_eq!(answer.headers.get("allow"), Some(allow), "{method} {path}");
    }
}

#[tokio::test]
async fn an_unknown_path_is_not_found_in_the_callers_shape() {
    let world = TestSetup::start().await;
    for path in [
        "/",
        "/v1",
        "/v1/",
        "/v1/chat/completions/",
        "/v1/Messages",
        "/v2/models",
        "/metrics",
    ] {
        assert_error_body(Protocol::Chat, &world.ask(&Request::get(path)).await, 404);
        let messages = Request::get(path).header("anthropic-version", "2023-06-01");
        assert_error_body(Protocol::Messages, &world.ask(&messages).await, 404);
    }
}

#[tokio::test]
async fn a_schema_violation_is_reported_with_its_field_and_reason() {
    let world = TestSetup::start().await;
    for (protocol, key, value, expected, detail) in [
        (
            Protocol::Chat,
            "temperature",
            json!(3),
            "`temperature` must be at most 2, received a larger number",
            "/temperature: maximum",
        ),
        (
            Protocol::Chat,
            "messages",
            json!("Hello"),
            "`messages` must be an array, received a string",
            "/messages: type",
        ),
        (
            Protocol::Messages,
            "max_tokens",
            json!("9"),
            "`max_tokens` must be an integer, received a string",
            "/max_tokens: type",
        ),
        (
            Protocol::Messages,
            "messages",
            json!([{"role": "owner", "content": "x"}]),
            "`messages.0.role` must be one of \"user\", \"assistant\", \"system\", received another string",
            "/messages/0/role: enum",
        ),
        (
            Protocol::Chat,
            "messages",
            json!([]),
            "`messages` must not be empty",
            "/messages: minItems",
        ),
        (
            Protocol::Chat,
            "stream_options",
            json!({"include_usage": true}),
            "`stream_options` requires `stream: true`; add it, or remove `stream_options`",
            "/stream_options: type",
        ),
        (
            Protocol::Responses,
            "top_logprobs",
            json!(21),
            "`top_logprobs` must be at most 20, received a larger number",
            "/top_logprobs: maximum",
        ),
    ] {
        let mut body = body_of(protocol);
        body[key] = value;
        let answer = world.ask(&Request::to(protocol, body.to_string())).await;
        let message = assert_error_body(protocol, &answer, 400);
        assert!(message.starts_with(expected), "{message}");
        let line = world.gateway.log_of(&answer).await;
        assert_eq!(line["error_detail"], detail);
        assert!(
            !message.contains("Hello") && !message.contains("owner"),
            "{message}"
        );
        if protocol != Protocol::Messages {
            assert_eq!(answer.json()["error"]["param"], key);
        }
    }
    let mut body = body_of(Protocol::Chat);
    body["messages"] = json!(vec![json!({"role": "owner", "content": 1}); 30]);
    let answer = world
        .ask(&Request::to(Protocol::Chat, body.to_string()))
        .await;
    let message = assert_error_body(Protocol::Chat, &answer, 400);
    assert_eq!(message.matches(" must be ").count(), 8, "{message}");
    assert_eq!(world.simulator.records().await.len(), 0);
    let counted = async || {
        let metrics = world.gateway.metrics().await;
        (metrics.sum("headgate_validation_failures_total", &[]) == 8.0).then_some(())
    };
    eventually("eight validation failures", counted).await;
}

async fn with_small_limit() -> TestSetup {
    TestSetup::with(|config| {
        config["chains"]["body"] =
            json!(["require_json", "authenticate", {"limit_body": LIMIT}, "route_model"]);
        assert_eq!(route(config, "chat")["request"][0]["use"], "body");
    })
    .await
}

/// A valid body of exactly `bytes` bytes.
fn padded(protocol: Protocol, bytes: usize) -> String {
    let mut body = body_of(protocol).to_string();
    body.push_str(&" ".repeat(bytes - body.len()));
    body
}

#[tokio::test]
async fn the_reply_to_a_malformed_head_announces_that_the_connection_closes() {
    let world = TestSetup::start().await;
    for path in ["/v1/models/a%5cb", "/v1/chat/a%2fb"] {
        let answer = world.ask(&Request::get(path)).await;
        assert_eq!(answer.status, 400, "{}", answer.text());
        assert_eq!(answer.headers.get("connection"), Some("close"));
    }
}
