//! Tests of handshakes: which are accepted, and what the others get.

use super::started;
use crate::harness::error_shape::assert_error_body;
use crate::harness::websocket::{ACCEPT, KEY, create, handshake};
use crate::harness::{Request, TestSetup, WebSocketClient, config};
use headgate_protocol::Protocol;
use serde_json::json;

#[tokio::test]
async fn a_handshake_gets_101_and_a_line_in_the_log() {
    let world = started().await;
    for (connection, upgrade) in [
        ("Upgrade", "websocket"),
        ("upgrade", "WebSocket"),
        ("keep-alive, Upgrade", "websocket"),
        ("Upgrade", "h2c, websocket"),
    ] {
        let request = handshake()
            .without("Connection")
            .without("Upgrade")
            .header("Connection", connection)
            .header("Upgrade", upgrade);
        let client = WebSocketClient::open_by(&world.gateway, &request).await;
        let header = |name| client.headers.get(name);
        assert_eq!(header("sec-websocket-accept"), Some(ACCEPT));
        assert_eq!(header("upgrade"), Some("websocket"));
        assert_eq!(header("connection"), Some("upgrade"));
        for absent in [
            "content-length",
            "transfer-encoding",
            "sec-websocket-extensions",
            "sec-websocket-protocol",
        ] {
            assert_eq!(header(absent), None, "{absent}");
        }
        let id = header("x-request-id").unwrap().to_owned();
        let line = world.gateway.log_line(|line| line["id"] == id).await;
        assert_eq!(line["status"], 101, "{line}");
        assert_eq!(line["caller"], "ann", "{line}");
        assert_eq!(line["settlement"], "gateway_reply", "{line}");
    }
    assert_eq!(world.simulator.records().await.len(), 0);
}

#[tokio::test]
async fn a_handshake_that_cannot_be_accepted_gets_an_error_of_http_and_the_connection_stays_usable()
{
    let world = started().await;
    let with = |name: &str, value: &str| handshake().without(name).header(name, value);
    for (request, status, word) in [
        (
            handshake().without("Sec-WebSocket-Version"),
            400,
            "sec-websocket-version",
        ),
        (
            with("Sec-WebSocket-Version", "12"),
            400,
            "sec-websocket-version",
        ),
        (
            handshake().without("Sec-WebSocket-Key"),
            400,
            "sec-websocket-key",
        ),
        (
            with("Sec-WebSocket-Key", "c2hvcnQ="),
            400,
            "sec-websocket-key",
        ),
        (
            with("Sec-WebSocket-Key", "not base64"),
            400,
            "sec-websocket-key",
        ),
        (
            handshake().header("Sec-WebSocket-Key", KEY),
            400,
            "sec-websocket-key",
        ),
        (with("Connection", "keep-alive"), 400, "connection: upgrade"),
        (handshake().without("authorization"), 401, "key"),
        (handshake().key("sk-eve"), 401, "key"),
        (
            handshake().header("Origin", "https://app.example"),
            403,
            "origin",
        ),
    ] {
        let mut client = world.gateway.connect().await;
        let answer = client.ask(&request).await;
        let message = assert_error_body(Protocol::Responses, &answer, status);
        assert!(message.contains(word), "{message}");
        let is_version = word == "sec-websocket-version";
        let version = answer.headers.get("sec-websocket-version");
        assert_eq!(version, is_version.then_some("13"));
        assert_eq!(
            client.ask(&Request::ask(Protocol::Responses)).await.status,
            200
        );
    }
}

#[tokio::test]
async fn a_handshake_with_a_body_is_refused_and_no_byte_of_the_body_becomes_a_request() {
    let world = started().await;
    let inner = Request::ask(Protocol::Responses).bytes();
    let mut lengths = handshake();
    lengths.body = Some(inner.clone());
    for request in [lengths.clone(), lengths.chunked(64)] {
        let mut client = world.gateway.connect().await;
        client.send(&request.bytes()).await.unwrap();
        let answer = client.answer().await.expect("an answer");
        assert_error_body(Protocol::Responses, &answer, 400);
    }
    assert_eq!(world.simulator.records().await.len(), 0);
}

#[tokio::test]
async fn pages_of_listed_origins_may_open_websockets() {
    let world = TestSetup::with(|config| {
        let route = config::route(config, "responses");
        route["websocket"] = json!({});
        let steps = route["request"].as_array_mut().unwrap();
        steps.insert(0, json!({"cors": {"origins": ["https://app.example"]}}));
    })
    .await;
    let from = |origin| handshake().header("Origin", origin);
    let mut client = WebSocketClient::open_by(&world.gateway, &from("https://app.example")).await;
    let last = client.ask(&create("Hello", json!({}))).await;
    assert_eq!(last["type"], "response.completed", "{last}");
    let answer = world.ask(&from("https://evil.example")).await;
    assert_eq!(answer.status, 403);
}

#[tokio::test]
async fn a_handshake_follows_requests_on_its_connection_and_its_first_frame_may_come_with_it() {
    let world = started().await;
    let mut connection = world.gateway.connect().await;
    let mut bytes = Request::ask(Protocol::Responses).bytes();
    bytes.extend(handshake().bytes());
    let event = create("Hello", json!({})).to_string();
    bytes.extend(crate::harness::websocket::client_frame(
        0x81,
        event.as_bytes(),
    ));
    connection.send(&bytes).await.unwrap();
    assert_eq!(connection.answer().await.unwrap().status, 200);
    let (status, headers) = connection.head().await.unwrap();
    assert_eq!(status, 101);
    let mut client = WebSocketClient {
        connection,
        headers,
    };
    assert_eq!(
        client.response().await.pop().unwrap()["type"],
        "response.completed"
    );
}

#[tokio::test]
async fn a_post_with_the_fields_of_a_handshake_is_a_post() {
    let world = started().await;
    let request = Request::ask(Protocol::Responses)
        .header("Connection", "Upgrade")
        .header("Upgrade", "websocket");
    let answer = world.ask(&request).await;
    assert_eq!((answer.status, answer.headers.get("upgrade")), (200, None));
}
