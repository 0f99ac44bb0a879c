//! Tests of the admin listener: ambiguous requests, deadlines, and room for probes.

use crate::harness::admin::gateway;
use crate::harness::{Connection, Http2, PATIENCE};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// More connections than the listener serves at a time.
const CROWD: usize = 300;

#[tokio::test]
async fn a_request_that_two_parsers_could_read_differently_gets_400_with_a_sentence() {
    let gateway = gateway(json!({})).await;
    let host = format!("Host: {}", gateway.admin);
    for (head, expected, word) in [
        (
            format!("GET host:443 HTTP/1.1\r\n{host}"),
            400,
            "not a path",
        ),
        (
            format!("CONNECT host:443 HTTP/1.1\r\n{host}"),
            400,
            "not a path",
        ),
        (format!("GET * HTTP/1.1\r\n{host}"), 400, "not a path"),
        (
            format!("GET /healthz HTTP/1.1\r\n{host}\r\n{host}"),
            400,
            "more than once",
        ),
        (
            format!("GET /healthz HTTP/1.1\r\n{host}\r\nHost: evil.test"),
            400,
            "more than once",
        ),
        ("GET /healthz HTTP/1.1".into(), 400, "`host`"),
        ("GET /healthz HTTP/1.1\r\nHost: a b".into(), 400, "`host`"),
        (
            format!("GET /healthz#x HTTP/1.1\r\n{host}"),
            400,
            "fragment",
        ),
        (format!("GET //healthz HTTP/1.1\r\n{host}"), 400, "segments"),
        (
            format!("GET /x/../healthz HTTP/1.1\r\n{host}"),
            400,
            "segments",
        ),
        (
            format!("GET /%2e/healthz HTTP/1.1\r\n{host}"),
            400,
            "segments",
        ),
        (
            format!("GET  /healthz HTTP/1.1\r\n{host}"),
            400,
            "request line",
        ),
        (
            format!("POST /reload HTTP/1.1\r\n{host}\r\nContent-Length: 1\r\nContent-Length: 2"),
            400,
            "`content-length`",
        ),
        (
            format!(
                "POST /reload HTTP/1.1\r\n{host}\r\nContent-Length: 1\r\nTransfer-Encoding: chunked"
            ),
            400,
            "`transfer-encoding`",
        ),
        (
            format!("POST /reload HTTP/1.1\r\n{host}\r\nTransfer-Encoding: gzip, chunked"),
            400,
            "`transfer-encoding`",
        ),
        (
            format!(
                "GET /healthz HTTP/1.1\r\n{host}\r\nX: {}",
                "x".repeat(70_000)
            ),
            431,
            "too large",
        ),
    ] {
        let shown = &head[..head.len().min(90)];
        let mut connection = Connection::to(gateway.admin).await;
        connection
            .send(format!("{head}\r\n\r\n").as_bytes())
            .await
            .unwrap();
        let received = connection.answer().await;
        let received = received.unwrap_or_else(|| panic!("no answer to {shown}"));
        assert_eq!(received.status, expected, "{shown}: {}", received.text());
        assert!(
            received.text().contains(word),
            "{shown}: {}",
            received.text()
        );
        assert!(connection.is_over().await, "{shown}");
    }
    let both = format!("GET http://{0}/healthz HTTP/1.1\r\n{host}", gateway.admin);
    let mut connection = Connection::to(gateway.admin).await;
    connection
        .send(format!("{both}\r\n\r\n").as_bytes())
        .await
        .unwrap();
    assert_eq!(connection.answer().await.unwrap().status, 200);
}

#[tokio::test]
async fn a_client_that_sends_no_request_in_time_is_closed() {
    let limits = json!({"header_timeout": "1s", "keep_alive_timeout": "1s"});
    let gateway = gateway(json!({"limits": limits})).await;
    let healthz = gateway.admin_request("GET", "/healthz");
    for begin in [
        "",
        "GET /healthz HTTP/1.1\r\nHo",
        "PRI * HTTP/2.0",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        let mut client = TcpStream::connect(gateway.admin).await.unwrap();
        client.write_all(begin.as_bytes()).await.unwrap();
        let mut received = Vec::new();
        let closed = timeout(PATIENCE, client.read_to_end(&mut received)).await;
        closed.unwrap_or_else(|_| panic!("{begin:?} is open")).ok();
        assert!(!received.starts_with(b"HTTP/"), "{begin:?}");
    }
    // Between two requests.
    let mut connection = Connection::to(gateway.admin).await;
    assert_eq!(connection.ask(&healthz).await.status, 200);
    assert_eq!(connection.ask(&healthz).await.status, 200);
    assert!(connection.is_over().await);
}

#[tokio::test]
async fn silent_and_slow_connections_do_not_keep_probes_out() {
    let gateway = gateway(json!({})).await;
    let mut dashboard = Connection::to(gateway.admin)
        .await
        .open(&gateway.admin_request("GET", "/events"))
        .await;
    dashboard.until("event: overview").await;
    let host = gateway.admin;
    for begin in [
        String::new(),
        "G".into(),
        format!("GET /healthz HTTP/1.1\r\nHost: {host}\r\n"),
        format!("POST /login HTTP/1.1\r\nHost: {host}\r\nContent-Length: 9\r\n\r\n{{"),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".into(),
        // The connection is kept for the next request.
        format!("GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n"),
    ] {
        let mut crowd = Vec::new();
        for _ in 0..CROWD {
            let mut connection = Connection::over(TcpStream::connect(host).await.unwrap());
            // The first ones are closed meanwhile.
            let _ = connection.send(begin.as_bytes()).await;
            crowd.push(connection);
        }
        for path in ["/healthz", "/readyz", "/metrics"] {
            let received = gateway.page("GET", path).await;
            assert_eq!(received.status, 200, "{path} beside {begin:?}");
        }
    }
    // A stream is no silent connection.
    dashboard.until("event: overview").await;
    dashboard.until("event: overview").await;
}

#[tokio::test]
async fn pages_are_served_over_http2_without_tls() {
    let gateway = gateway(json!({})).await;
    let stream = TcpStream::connect(gateway.admin).await.unwrap();
    let client = Http2::over(stream).await;
    // Probes accept any host name.
    for path in ["/healthz", "/readyz", "/healthz"] {
        let received = client.ask(&gateway.admin_request("GET", path)).await;
        assert_eq!(received.status, 200, "{path}");
    }
}
