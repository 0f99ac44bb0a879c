//! Tests of the client's address: only from the source of `server.client_address`, and only from trusted proxies.

use crate::harness::certificates::Authority;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::process::BINARY;
use crate::harness::{Connection, Gateway, Http2, Request, Simulator, TestSetup, config};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::process::Command;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

const V2: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
const V4: &[u8] = &[203, 0, 113, 7, 10, 0, 0, 1, 0x12, 0x67, 0x1f, 0x90];
/// An IPv4-mapped IPv6 address, `::ffff:203.0.113.7`.
const MAPPED: &[u8] = &[
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 203, 0, 113, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 1, 0x12, 0x67, 0x1f, 0x90,
];

fn version_2(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
    let length = u16::try_from(rest.len()).unwrap().to_be_bytes();
    [V2, &[command, family], &length, rest].concat()
}

fn from(source: &str, trusted: &[&str]) -> Value {
    json!({"source": source, "trusted_proxies": trusted})
}

/// A gateway that trusts PROXY headers from these networks.
async fn proxied(trusted: &[&str]) -> TestSetup {
    let client_address = from("proxy_protocol", trusted);
    TestSetup::with(|config| {
        config["server"]["client_address"] = client_address;
        config["server"]["limits"] = json!({"header_timeout": "1s"});
    })
    .await
}

/// A connection that starts with these bytes.
async fn begun(gateway: &Gateway, begin: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    stream.write_all(begin).await.unwrap();
    stream
}

#[tokio::test]
async fn the_client_is_the_rightmost_hop_that_is_not_trusted() {
    let trusted = ["127.0.0.0/8", "10.0.0.0/8"];
    for (source, cases) in [
        (
            "x_forwarded_for",
            &[
                (&[("x-forwarded-for", "203.0.113.7")][..], "203.0.113.7"),
                (
                    &[("x-forwarded-for", "192.0.2.9, 203.0.113.7, 10.0.0.1")],
                    "203.0.113.7",
                ),
                (
                    &[
                        ("x-forwarded-for", "192.0.2.9, 203.0.113.7"),
                        ("X-Forwarded-For", "10.0.0.1"),
                    ],
                    "203.0.113.7",
                ),
                (&[("x-forwarded-for", "::ffff:203.0.113.7")], "203.0.113.7"),
                (&[("x-forwarded-for", "[2001:db8::7]:443")], "2001:db8::7"),
                (
                    &[("x-forwarded-for", "203.0.113.7, unknown, 10.0.0.1")],
                    "10.0.0.1",
                ),
                (&[("x-forwarded-for", "garbage")], "127.0.0.1"),
                (&[], "127.0.0.1"),
                (
                    &[
                        ("forwarded", "for=203.0.113.7"),
                        ("x-real-ip", "203.0.113.7"),
                    ],
                    "127.0.0.1",
                ),
            ][..],
        ),
        (
            "forwarded",
            &[
                (
                    &[("forwarded", "for=\"[2001:db8::7]:443\";proto=https")][..],
                    "2001:db8::7",
                ),
                (
                    &[("forwarded", "for=\"192.0.2.9, for=203.0.113.7")],
                    "203.0.113.7",
                ),
                (
                    &[("forwarded", "for=192.0.2.9"), ("forwarded", "for=_hidden")],
                    "127.0.0.1",
                ),
                (&[("x-forwarded-for", "203.0.113.7")], "127.0.0.1"),
            ],
        ),
        (
            "socket",
            &[(&[("x-forwarded-for", "203.0.113.7")][..], "127.0.0.1")],
        ),
    ] {
        let trusted = if source == "socket" {
            &[][..]
        } else {
            &trusted
        };
        let client_address = from(source, trusted);
        let world =
            TestSetup::with(|config| config["server"]["client_address"] = client_address).await;
        for (headers, expected) in cases {
            // Also for requests without a route.
            for path in ["/v1/models", "/nowhere"] {
                let request = headers
                    .iter()
                    .fold(Request::get(path), |request, (name, value)| {
                        request.header(name, value)
                    });
                let answer = world.ask(&request).await;
                let line = world.gateway.log_of(&answer).await;
                assert_eq!(line["client_address"], *expected, "{source} {headers:?}");
            }
        }
    }
}

#[tokio::test]
async fn an_untrusted_peer_names_nobody() {
    let client_address = from("x_forwarded_for", &["10.0.0.0/8"]);
    let world = TestSetup::with(|config| config["server"]["client_address"] = client_address).await;
    let request = Request::get("/v1/models").header("x-forwarded-for", "10.0.0.1, 203.0.113.7");
    let line = world.gateway.log_of(&world.ask(&request).await).await;
    assert_eq!(line["client_address"], "127.0.0.1");
    assert!(line["client_port"].is_u64(), "{line}");
}

#[tokio::test]
async fn forwarded_headers_follow_the_channels_policy() {
    for (forwarded, expected) in [
        (None, Value::Null),
        (Some("off"), Value::Null),
        (Some("append"), json!("192.0.2.9, 203.0.113.7, 127.0.0.1")),
        (Some("replace"), json!("203.0.113.7")),
    ] {
        let client_address = from("x_forwarded_for", &["127.0.0.1"]);
        let world = TestSetup::with(|config| {
            config["server"]["client_address"] = client_address;
            if let Some(forwarded) = forwarded {
                config["channels"]["openai"]["forwarded"] = forwarded.into();
            }
        })
        .await;
        let request = Request::ask(Protocol::Chat)
            .header("x-forwarded-for", "192.0.2.9, 203.0.113.7")
            .header("forwarded", "for=198.51.100.1");
        assert_eq!(world.ask(&request).await.status, 200);
        let headers = world.simulator.last().await["headers"].clone();
        assert_eq!(headers["x-forwarded-for"], expected, "{forwarded:?}");
        assert_eq!(headers["forwarded"], Value::Null, "{forwarded:?}");
    }
}

#[tokio::test]
async fn a_connection_comes_from_whom_its_proxy_header_names() {
    let world = proxied(&["127.0.0.0/8"]).await;
    let tlvs = [V4, &[0x01, 0, 2, b'h', b'2', 0x04, 0, 1, 0]].concat();
    for (header, expected, port) in [
        (
            b"PROXY TCP4 203.0.113.7 10.0.0.1 4711 8080\r\n".to_vec(),
            "203.0.113.7",
            Some(4711),
        ),
        (
            b"PROXY TCP6 2001:db8::7 fd00::1 4711 8080\r\n".to_vec(),
            "2001:db8::7",
            Some(4711),
        ),
        (b"PROXY UNKNOWN\r\n".to_vec(), "127.0.0.1", None),
        (version_2(0x21, 0x11, V4), "203.0.113.7", Some(4711)),
        (version_2(0x21, 0x11, &tlvs), "203.0.113.7", Some(4711)),
        (version_2(0x21, 0x21, MAPPED), "203.0.113.7", Some(4711)),
        (version_2(0x20, 0x00, &[]), "127.0.0.1", None),
    ] {
        let mut connection = Connection::over(begun(&world.gateway, &header).await);
        for _ in 0..2 {
            let request = Request::get("/v1/models").header("x-forwarded-for", "192.0.2.9");
            let answer = connection.ask(&request).await;
            let line = world.gateway.log_of(&answer).await;
            assert_eq!(line["client_address"], expected, "{header:?}");
            if let Some(port) = port {
                assert_eq!(line["client_port"], port, "{header:?}");
            }
        }
    }
    // In pieces, and with the request in the same packet.
    let header = version_2(0x21, 0x11, V4);
    let request = Request::get("/v1/models").bytes();
    let mut stream = begun(&world.gateway, &header[..9]).await;
    sleep(Duration::from_millis(50)).await;
    stream
        .write_all(&[&header[9..], &request].concat())
        .await
        .unwrap();
    let answer = Connection::over(stream).answer().await.unwrap();
    let line = world.gateway.log_of(&answer).await;
    assert_eq!(line["client_address"], "203.0.113.7");
}

#[tokio::test]
async fn a_proxy_header_stands_before_tls() {
    let simulator = Simulator::start().await;
    let (folder, authority) = (folder_with_schemas(), Authority::new());
    let mut config = config::standard(&simulator.url());
    config["server"]["tls"] = authority.server().write(&folder, "server");
    config["server"]["client_address"] = from("proxy_protocol", &["127.0.0.1"]);
    let gateway = Gateway::start_in(folder, &config.to_string()).await;
    for (header, offered) in [
        (
            b"PROXY TCP4 203.0.113.7 10.0.0.1 4711 8080\r\n".to_vec(),
            "http/1.1",
        ),
        (version_2(0x21, 0x11, V4), "h2"),
    ] {
        let stream = begun(&gateway, &header).await;
        let stream = authority
            .connect_over(stream, &[offered], None)
            .await
            .unwrap();
        let request = Request::get("/v1/models");
        let answer = match offered {
            "h2" => Http2::over(stream).await.ask(&request).await,
            _ => Connection::over(stream).ask(&request).await,
        };
        let line = gateway.log_of(&answer).await;
        assert_eq!(line["client_address"], "203.0.113.7", "{offered}");
    }
}

#[tokio::test]
async fn a_connection_without_a_good_proxy_header_gets_no_byte() {
    let request = Request::get("/v1/models").bytes();
    let with_request = |header: &[u8]| [header, &request].concat();
    let long = [&b"PROXY TCP4 "[..], &[b'1'; 200], b"\r\n"].concat();
    let endless = version_2(0x21, 0x11, &[V4, &[0; 60_000]].concat());
    let world = proxied(&["127.0.0.0/8"]).await;
    for begin in [
        request.clone(),
        with_request(b"\n"),
        with_request(b"proxy TCP4 203.0.113.7 10.0.0.1 4711 8080\r\n"),
        with_request(b"PROXY TCP4 203.0.113.777 10.0.0.1 4711 8080\r\n"),
        with_request(b"PROXY TCP5 203.0.113.7 10.0.0.1 4711 8080\r\n"),
        with_request(&long),
        with_request(&version_2(0x31, 0x11, V4)),
        with_request(&version_2(0x21, 0x11, &V4[..8])),
        with_request(&endless),
        // Truncated, and slow.
        b"PROXY TCP4 203.0.113.7".to_vec(),
        version_2(0x21, 0x11, V4)[..20].to_vec(),
        Vec::new(),
    ] {
        let mut stream = begun(&world.gateway, &begin).await;
        let mut received = Vec::new();
        let closed = timeout(Duration::from_secs(20), stream.read_to_end(&mut received)).await;
        assert!(closed.is_ok(), "stays open behind {begin:?}");
        assert_eq!(received, b"", "{begin:?}");
    }
    let stranger = proxied(&["192.0.2.0/24"]).await;
    let begin = with_request(b"PROXY TCP4 203.0.113.7 10.0.0.1 4711 8080\r\n");
    let mut stream = begun(&stranger.gateway, &begin).await;
    let mut received = Vec::new();
    // Closed with unread input, which the client may see as a reset.
    let _ = stream.read_to_end(&mut received).await;
    assert_eq!(received, b"");
    assert!(stranger.gateway.log().is_empty());
}

#[test]
fn explain_prints_the_client_address() {
    let folder = folder_with_schemas();
    let mut config = config::standard("http://127.0.0.1:1/v1");
    config["server"]["client_address"] = from("x_forwarded_for", &["127.0.0.0/8"]);
    let file = folder.write("routes.yaml", config.to_string());
    for (args, expected) in [
        (&[][..], "client    127.0.0.1\n"),
        (
            &["-H", "x-forwarded-for: 203.0.113.7"],
            "client    203.0.113.7\n",
        ),
        (
            &[
                "-H",
                "x-forwarded-for: 203.0.113.7",
                "--client",
                "192.0.2.1",
            ],
            "client    192.0.2.1\n",
        ),
    ] {
        let printed = Command::new(BINARY)
            .args(["explain", "/v1/models", "-c"])
            .arg(&file)
            .args(args)
            .output()
            .unwrap();
        let shown = String::from_utf8_lossy(&printed.stdout).into_owned();
        assert!(shown.contains(expected), "{args:?}: {shown}");
    }
}

#[test]
fn proxies_that_nobody_trusts_and_networks_that_are_none_are_refused() {
    for (client_address, expected) in [
        (
            json!({"source": "proxy_protocol"}),
            "missing required key `trusted_proxies`",
        ),
        (
            from("x_forwarded_for", &["10.0.0.0/33"]),
            "is not an IP address or network",
        ),
        (from("x_real_ip", &["10.0.0.0/8"]), "source"),
    ] {
        let folder = folder_with_schemas();
        let mut config = config::standard("http://127.0.0.1:1/v1");
        config["server"]["client_address"] = client_address;
        let file = folder.write("routes.yaml", config.to_string());
        let printed = Command::new(BINARY)
            .args(["check", "-c"])
            .arg(file)
            .output()
            .unwrap();
        let shown = String::from_utf8_lossy(&printed.stderr).into_owned();
        assert!(
            !printed.status.success() && shown.contains(expected),
            "{shown}"
        );
    }
}
