//! Tests of WebSocket handshakes: the client is told at once to send a POST.

use crate::harness::certificates::Authority;
use crate::harness::error_shape::assert_error_body;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::{Gateway, Http2, PROTOCOLS, Request, TestSetup, config, path_of};
use headgate_protocol::Protocol;

/// Handshakes as clients write them, in other cases and with other protocols in the list.
const HANDSHAKES: &[(&str, &str)] = &[
    ("Upgrade", "websocket"),
    ("upgrade", "WebSocket"),
    ("keep-alive, Upgrade", "websocket"),
    ("Upgrade, close", "websocket"),
    ("Upgrade", "h2c, websocket"),
    ("Upgrade", "websocket/13"),
];

#[tokio::test]
async fn a_websocket_to_a_post_only_path_is_refused_with_a_reason() {
    let world = TestSetup::start().await;
    for protocol in PROTOCOLS {
        for (connection, upgrade) in HANDSHAKES {
            let request = handshake(path_of(protocol), connection, upgrade);
            let request = match protocol {
                Protocol::Messages => request.header("anthropic-version", "2023-06-01"),
                _ => request,
            };
            let mut client = world.gateway.connect().await;
            let answer = client.ask(&request).await;
            let message = assert_error_body(protocol, &answer, 426);
            assert!(message.contains("POST"), "{message}");
            let header = |name| answer.headers.get(name);
            assert_eq!(header("connection"), Some("upgrade, close"));
            assert_eq!(header("upgrade"), Some("HTTP/1.1"));
            assert_eq!(header("x-should-retry"), Some("false"));
            assert!(header("date").is_some());
            for name in ["connection", "upgrade", "content-length", "date"] {
                let times = answer.headers.names().filter(|sent| *sent == name);
                assert_eq!(times.count(), 1, "{name}");
            }
            assert!(client.is_over().await, "the connection says that it closes");
            let line = world.gateway.log_of(&answer).await;
            assert_eq!(line["status"], 426, "{line}");
        }
    }
    assert_eq!(world.simulator.records().await.len(), 0);
}

#[tokio::test]
async fn a_handshake_needs_no_key_and_may_bring_a_body() {
    let world = TestSetup::start().await;
    let request = handshake("/v1/responses", "Upgrade", "websocket");
    for request in [
        request.clone().without("authorization"),
        request.clone().key("sk-eve"),
        request.with_body(vec![b'x'; 100_000]),
    ] {
        // Body bytes after the response are discarded.
        let mut client = world.gateway.connect().await;
        let _ = client.send(&request.bytes()).await;
        assert_eq!(client.answer().await.expect("an answer").status, 426);
    }
}

#[tokio::test]
async fn all_other_upgrades_are_answered_as_ever() {
    let world = TestSetup::start().await;
    let post = |fields: &[(&str, &str)]| {
        fields
            .iter()
            .fold(Request::ask(Protocol::Chat), |request, (name, value)| {
                request.header(name, value)
            })
    };
    for (request, status) in [
        (handshake("/v1/nothing", "Upgrade", "websocket"), 404),
        (handshake("/v1/realtime", "Upgrade", "websocket"), 404),
        (handshake("/v1/chat/completions", "Upgrade", "h2c"), 405),
        (
            handshake("/v1/chat/completions", "Upgrade", "xwebsocket"),
            405,
        ),
        (Request::get("/v1/chat/completions"), 405),
        (handshake("/v1/models", "Upgrade", "websocket"), 200),
        (
            post(&[("Connection", "Upgrade"), ("Upgrade", "websocket")]),
            200,
        ),
    ] {
        let answer = world.ask(&request).await;
        assert_eq!(answer.status, status, "{}", request.target);
        assert_eq!(answer.headers.get("upgrade"), None, "{}", request.target);
    }
    let mut put = handshake("/v1/chat/completions", "Upgrade", "websocket");
    put.method = "PUT".into();
    assert_eq!(world.ask(&put).await.status, 405);
    // HTTP/1.0 has no upgrades.
    let mut old = world.gateway.connect().await;
    old.send(b"GET /v1/responses HTTP/1.0\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        .await
        .unwrap();
    assert_eq!(old.answer().await.unwrap().status, 405);
}

#[tokio::test]
async fn http2_has_no_upgrades() {
    let (folder, authority) = (folder_with_schemas(), Authority::new());
    let mut config = config::standard("http://127.0.0.1:9/v1");
    config["server"]["tls"] = authority.server().write(&folder, "server");
    let gateway = Gateway::start_in(folder, &config.to_string()).await;
    let stream = authority.connect(gateway.address, &["h2"], None).await;
    let connection = Http2::over(stream.unwrap()).await;
    let answer = connection.ask(&Request::get("/v1/responses")).await;
    assert_eq!(answer.status, 405);
    // The same gateway, over HTTP/1.1 with TLS.
    let stream = authority.connect(gateway.address, &[], None).await;
    let mut h1 = crate::harness::Connection::over(stream.unwrap());
    let answer = h1
        .ask(&handshake("/v1/responses", "Upgrade", "websocket"))
        .await;
    assert_eq!(answer.status, 426);
}

fn handshake(path: &str, connection: &str, upgrade: &str) -> Request {
    Request::get(path)
        .header("Connection", connection)
        .header("Upgrade", upgrade)
        .header("Sec-WebSocket-Version", "13")
        .header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
}
