//! Tests of HTTP/2 heads: a malformed request is refused alone, and header lists use bounded memory.

use crate::harness::certificates::Authority;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::http2_frames::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, Http2Frames, StreamEndState, frame,
    literal,
};
use crate::harness::request::ANN;
use crate::harness::{Gateway, Simulator, config};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};
use tokio_rustls::client::TlsStream;

const PROTOCOL_ERROR: u32 = 1;
const WINDOW: u32 = 65_535;
/// The maximum number of concurrent streams per connection.
const STREAMS: u32 = 100;
/// The maximum memory per received byte.
const AMPLIFICATION_MAX: u64 = 20;
/// The maximum memory of a request with a valid head size until it is refused: its fields, its stream, its task.
const HEAD_BYTES_MAX: u64 = 16 << 10;

type Connection = Http2Frames<TlsStream<TcpStream>>;

struct Http2Setup {
    gateway: Gateway,
    authority: Authority,
    simulator: Simulator,
}

impl Http2Setup {
    async fn start() -> Self {
        Self::with(|_| ()).await
    }

    async fn with(change: impl FnOnce(&mut serde_json::Value)) -> Self {
        let simulator = Simulator::start().await;
        let (folder, authority) = (folder_with_schemas(), Authority::new());
        let mut config = config::standard(&simulator.url());
        config["server"]["tls"] = authority.server().write(&folder, "server");
        change(&mut config);
        Self {
            gateway: Gateway::start_in(folder, &config.to_string()).await,
            authority,
            simulator,
        }
    }

    async fn connect(&self, window: u32) -> Connection {
        let address = self.gateway.address;
        let stream = self.authority.connect(address, &["h2"], None).await;
        Http2Frames::over(stream.unwrap(), window).await
    }
}

fn field(name: &str, value: &str) -> Vec<u8> {
    literal(false, name.as_bytes(), value.as_bytes())
}

/// The fields of a valid request, with pseudo header fields replaced or omitted, and fields added.
fn request(replaced: &[(&str, Option<&str>)], added: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in [
        (":method", "POST"),
        (":scheme", "https"),
        (":authority", "gate.test"),
        (":path", "/v1/chat/completions"),
    ] {
        let replaced = replaced.iter().find(|(known, _)| *known == name);
        if let Some(value) = replaced.map_or(Some(value), |(_, value)| *value) {
            block.extend(field(name, value));
        }
    }
    block.extend(field("authorization", &format!("Bearer {ANN}")));
    for (name, value) in added {
        block.extend(field(name, value));
    }
    block
}

fn get_models() -> Vec<u8> {
    request(
        &[(":method", Some("GET")), (":path", Some("/v1/models"))],
        &[],
    )
}

#[tokio::test]
async fn a_malformed_head_is_refused_and_the_connection_lives_on() {
    let world = Http2Setup::start().await;
    let bad_request = StreamEndState::Status(400);
    let reset = StreamEndState::Reset(PROTOCOL_ERROR);
    let path = |path: &'static str| request(&[(":path", Some(path))], &[]);
    let authority = |authority: &'static str| request(&[(":authority", Some(authority))], &[]);
    let added = |name: &'static str, value: &'static str| request(&[], &[(name, value)]);
    for (block, expected) in [
        (path("/v1/chat/completions#frag"), bad_request),
        (path("/#"), bad_request),
        (path("/v1/chat/completions?a#b"), bad_request),
        (path("?x"), bad_request),
        (path("v1/chat/completions"), bad_request),
        (path("*"), bad_request),
        (path("https://gate.test/v1/models"), bad_request),
        (path("//gate.test/v1/models"), bad_request),
        (path("/v1/../models"), bad_request),
        (path("/v1/chat completions"), reset),
        (path("/v1/chat\tcompletions"), reset),
        (path("/v1/chat\u{7f}completions"), reset),
        (path(""), reset),
        (request(&[(":path", None)], &[]), bad_request),
        (request(&[(":method", None)], &[]), reset),
        (request(&[(":scheme", None)], &[]), reset),
        (request(&[(":scheme", Some("ftp"))], &[]), bad_request),
        (request(&[(":scheme", Some("ht tp"))], &[]), reset),
        (request(&[(":method", Some("CONNECT"))], &[]), reset),
        (request(&[(":authority", None)], &[]), bad_request),
        (authority("user@gate.test"), bad_request),
        (authority("gate.test,other.test"), bad_request),
        (authority("gate.test/x"), reset),
        (authority("gate test"), reset),
        (authority(""), reset),
        (added("host", "other.test"), bad_request),
        (added("host", "gate.test:443"), bad_request),
        (added(":path", "/v1/models"), reset),
        (added(":status", "200"), reset),
        (added("connection", "close"), reset),
        (added("keep-alive", "1"), reset),
        (added("proxy-connection", "close"), reset),
        (added("upgrade", "websocket"), reset),
        (added("transfer-encoding", "chunked"), reset),
        (added("te", "gzip"), reset),
        (added("te", "trailers, gzip"), reset),
        (added("transfer_encoding", "chunked"), bad_request),
        (added("content_length", "1"), bad_request),
        (added("content-length", "+2"), reset),
        (added("content-length", "2, 2"), reset),
        (
            request(&[], &[("content-length", "2"), ("content-length", "2")]),
            bad_request,
        ),
        (
            request(&[], &[("content-length", "2"), ("content-length", "3")]),
            reset,
        ),
        (added("x-name", " value"), bad_request),
        (added("x-name", "value\t"), bad_request),
        (added("headgate-malformed", "0"), bad_request),
        // Malformed in two ways.
        (
            request(&[(":path", Some("/#"))], &[("connection", "close")]),
            reset,
        ),
        (
            [get_models(), field(":authority", "gate.test")].concat(),
            reset,
        ),
        ([field(":method", "GET"), request(&[], &[])].concat(), reset),
    ] {
        let mut connection = world.connect(WINDOW).await;
        let mut bytes = frame(HEADERS, END_HEADERS, 1, &block);
        if expected == bad_request {
            bytes.extend(frame(DATA, END_STREAM, 1, b"{}"));
        }
        connection.send(&bytes).await;
        let text = block.escape_ascii().to_string();
        // Some are refused by the HTTP/2 library, and some of these by an earlier check.
        let ended = connection.ended(1).await;
        let refused = matches!(
            ended,
            StreamEndState::Status(400) | StreamEndState::Reset(_)
        );
        assert!(refused, "{ended:?} and not {expected:?}: {text}");
        connection
            .send(&frame(HEADERS, END_HEADERS | END_STREAM, 3, &get_models()))
            .await;
        assert_eq!(
            connection.ended(3).await,
            StreamEndState::Status(200),
            "{text}"
        );
    }
    assert_eq!(world.simulator.records().await.len(), 0);
}

#[tokio::test]
async fn a_refused_target_is_named_and_logged() {
    let world = Http2Setup::start().await;
    let mut connection = world.connect(WINDOW).await;
    let block = request(&[(":path", Some("/v1/models#top"))], &[]);
    connection
        .send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &block))
        .await;
    assert_eq!(connection.ended(1).await, StreamEndState::Status(400));
    let line = world.gateway.log_line(|line| line["status"] == 400).await;
    assert!(
        line.to_string()
            .contains("`:path` must not have a fragment; remove `#` and what follows"),
        "{line}"
    );
}

#[tokio::test]
async fn trailers_that_change_the_message_are_refused_and_others_are_not() {
    let world = Http2Setup::start().await;
    let ask = |stream, trailers: &[u8]| {
        let body = br#"{"model":"demo-large","messages":[{"role":"user","content":"Hi"}]}"#;
        let head = request(&[], &[("content-type", "application/json")]);
        [
            frame(HEADERS, END_HEADERS, stream, &head),
            frame(DATA, 0, stream, body),
            frame(HEADERS, END_HEADERS | END_STREAM, stream, trailers),
        ]
        .concat()
    };
    for (trailers, refused) in [
        (field("x-checksum", "abc"), false),
        (Vec::new(), false),
        (field(":path", "/v1/models"), true),
        (field(":method", "GET"), true),
        (field(":status", "200"), true),
        (literal(true, b":authority", b"other.test"), true),
        (field("content-length", "66"), true),
        (field("transfer-encoding", "chunked"), true),
        (field("te", "trailers"), true),
        (field("host", "other.test"), true),
        (field("connection", "close"), true),
        (vec![0x90; 200], true),
    ] {
        let mut connection = world.connect(WINDOW).await;
        let before = world.simulator.records().await.len();
        connection.send(&ask(1, &trailers)).await;
        let ended = connection.ended(1).await;
        let text = trailers.escape_ascii().to_string();
        match refused {
            true => assert!(
                matches!(ended, StreamEndState::Reset(_)),
                "{ended:?} {text}"
            ),
            false => assert_eq!(ended, StreamEndState::Status(200), "{text}"),
        }
        let asked = world.simulator.records().await.len() - before;
        assert_eq!(asked, usize::from(!refused), "{text}");
        connection
            .send(&frame(HEADERS, END_HEADERS | END_STREAM, 3, &get_models()))
            .await;
        assert_eq!(
            connection.ended(3).await,
            StreamEndState::Status(200),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_header_list_beyond_its_bounds_is_answered_431_and_logged() {
    let world = Http2Setup::start().await;
    let large = literal(true, b"x-large", &[b'a'; 3_900]);
    for (added, expected) in [
        (vec![0x90; 95], 200),
        (vec![0x90; 96], 431),
        (vec![0x90; 1_400], 431),
        ([large.clone(), vec![0xbe; 12]].concat(), 200),
        ([large, vec![0xbe; 17]].concat(), 431),
        (field("x-large", &"a".repeat(60_000)), 200),
        (field("x-large", &"a".repeat(70_000)), 431),
        (field("x-large", &"a".repeat(90_000)), 431),
    ] {
        let mut connection = world.connect(WINDOW).await;
        let block = [get_models(), added].concat();
        let mut bytes = Vec::new();
        let count = block.len().div_ceil(16 << 10);
        for (at, piece) in block.chunks(16 << 10).enumerate() {
            let (kind, flags) = if at == 0 {
                (HEADERS, END_STREAM)
            } else {
                (CONTINUATION, 0)
            };
            let ends = if at + 1 == count { END_HEADERS } else { 0 };
            bytes.extend(frame(kind, flags | ends, 1, piece));
        }
        connection.send(&bytes).await;
        assert_eq!(
            connection.ended(1).await,
            StreamEndState::Status(expected),
            "{}",
            block.len()
        );
        connection
            .send(&frame(HEADERS, END_HEADERS | END_STREAM, 3, &get_models()))
            .await;
        if expected == 431 {
            assert_eq!(connection.ended(3).await, StreamEndState::Status(200));
            world.gateway.log_line(|line| line["status"] == 431).await;
        }
    }
}

#[tokio::test]
async fn a_header_block_without_an_end_is_closed_at_the_header_timeout() {
    let world =
        Http2Setup::with(|config| config["server"]["limits"]["header_timeout"] = "1s".into()).await;
    for begun in [
        frame(HEADERS, END_STREAM, 1, &get_models()),
        frame(HEADERS, END_STREAM | END_HEADERS, 1, &get_models())[..30].to_vec(),
        vec![0, 0],
    ] {
        let mut connection = world.connect(WINDOW).await;
        connection.send(&begun).await;
        let began = Instant::now();
        assert_eq!(connection.ended(1).await, StreamEndState::Connection);
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "{:?}",
            began.elapsed()
        );
    }
}

/// Sends `block` on all streams of this many connections.
async fn refused_at_once(world: &Http2Setup, connections: usize, block: &[u8]) -> Vec<Connection> {
    let mut open = Vec::new();
    for _ in 0..connections {
        let mut connection = world.connect(0).await;
        let streams =
            (0..STREAMS).map(|n| frame(HEADERS, END_HEADERS | END_STREAM, 2 * n + 1, block));
        let bytes: Vec<u8> = streams.flatten().collect();
        connection.send(&bytes).await;
        open.push(connection);
    }
    open
}

/// Three times, `connections` send `block` on all their streams with a window of 0, and leave. Returns the bytes sent
/// each time, and the maximum growth of the gateway's memory by the end of each.
async fn attacks(connections: usize, block: &[u8]) -> (u64, Vec<u64>) {
    let world = Http2Setup::start().await;
    // Lets every thread allocate what it needs only once.
    for _ in 0..2 {
        refused_at_once(&world, 5, b"\x83\x87\x41\x01a\x44\x01/").await;
        sleep(Duration::from_millis(500)).await;
    }
    let before = world.gateway.process.anonymous_bytes();
    let mut sent = 0;
    let mut most = 0;
    let mut grown = Vec::new();
    for _ in 0..3 {
        let open = refused_at_once(&world, connections, block).await;
        // 600 bytes for the handshake of TLS.
        sent = open
            .iter()
            .map(|connection| connection.sent as u64 + 600)
            .sum();
        for _ in 0..10 {
            most = world
                .gateway
                .process
                .anonymous_bytes()
                .saturating_sub(before)
                .max(most);
            sleep(Duration::from_millis(100)).await;
        }
        grown.push(most);
        drop(open);
        sleep(Duration::from_secs(1)).await;
    }
    (sent, grown)
}

#[tokio::test]
async fn header_lists_cost_no_more_memory_than_a_small_multiple_of_the_wire() {
    let head = b"\x83\x87\x41\x01a\x44\x01/";
    let refused = [&head[..], &[0x90; 1_400]].concat();
    // Just within the limits: each head may use as much memory as any head of that size.
    let accepted = [&head[..], &[0x60, 0x01, b'a'].repeat(90)].concat();
    for (what, connections, block, bytes_max) in [
        ("1,400 fields", 5, &refused, None),
        ("1,400 fields", 40, &refused, None),
        (
            "90 cookies",
            40,
            &accepted,
            Some(40 * u64::from(STREAMS) * HEAD_BYTES_MAX),
        ),
    ] {
        let (sent, grown) = attacks(connections, block).await;
        println!("{what}, {connections} connections: {sent} bytes sent, {grown:?} grown");
        let bytes_max = bytes_max.unwrap_or(sent * AMPLIFICATION_MAX);
        // The allocator reuses the memory that it keeps.
        assert!(
            grown.iter().all(|grown| *grown < bytes_max),
            "{what}: {sent} bytes took {grown:?}"
        );
    }
}
