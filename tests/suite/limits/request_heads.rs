//! Tests of heads that never end or are too large: deadlines and memory.

use crate::harness::certificates::Authority;
use crate::harness::error_shape::assert_error_body;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::request::body_of;
use crate::harness::{Connection, Gateway, PATIENCE, Request, Simulator, TestSetup, config};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, sleep, timeout};

const DEFAULT_BYTES_MAX: usize = 64 << 10;

#[tokio::test]
async fn half_a_head_is_given_up_after_its_deadline_whatever_came_with_it() {
    let world = TestSetup::with(|config| config["server"]["limits"] = limits()).await;
    for (what, begin, responses) in halves() {
        let mut connection = world.gateway.connect().await;
        assert_given_up(&mut connection, &begin, responses, what).await;
    }
}

#[tokio::test]
async fn half_a_head_is_given_up_on_tls_too() {
    let simulator = Simulator::start().await;
    let (folder, authority) = (folder_with_schemas(), Authority::new());
    let mut config = config::standard(&simulator.url());
    config["server"]["tls"] = authority.server().write(&folder, "server");
    config["server"]["limits"] = limits();
    let gateway = Gateway::start_in(folder, &config.to_string()).await;
    for (what, begin, responses) in halves() {
        let stream = authority
            .connect(gateway.address, &["http/1.1"], None)
            .await;
        let mut connection = Connection::over(stream.unwrap());
        assert_given_up(&mut connection, &begin, responses, what).await;
    }
}

#[tokio::test]
async fn a_head_may_have_64_kib_and_not_a_byte_more() {
    let world = TestSetup::start().await;
    let head_of = |bytes: usize| sized(Request::get("/v1/models"), bytes).bytes();
    for (bytes, status) in [
        (DEFAULT_BYTES_MAX - 1, 200),
        (DEFAULT_BYTES_MAX, 200),
        (DEFAULT_BYTES_MAX + 1, 431),
        (100 << 10, 431),
        (2 << 20, 431),
    ] {
        for pieces in [1, 7] {
            let head = head_of(bytes);
            let mut connection = world.gateway.connect().await;
            for piece in head.chunks(bytes.div_ceil(pieces)) {
                connection.send(piece).await.unwrap();
            }
            let answer = connection.answer().await.expect("a response");
            assert_eq!(answer.status, status, "{bytes} bytes in {pieces}");
            if status == 431 {
                assert_error_body(Protocol::Chat, &answer, 431);
                assert!(connection.is_over().await);
            }
        }
    }
    // Also if the head never ends.
    let mut connection = world.gateway.connect().await;
    connection
        .send(&head_of(70 << 10)[..66 << 10])
        .await
        .unwrap();
    assert_eq!(connection.answer().await.unwrap().status, 431);
}

#[tokio::test]
async fn the_size_of_a_head_is_configured_and_counts_for_each_on_a_connection() {
    let limits = json!({"header_size": "2KiB"});
    let world = TestSetup::with(|config| config["server"]["limits"] = limits).await;
    let fitting = sized(Request::ask(Protocol::Chat), 2048);
    let larger = sized(Request::ask(Protocol::Chat), 2049);
    let together = [
        fitting.bytes(),
        fitting.bytes(),
        larger.bytes(),
        fitting.bytes(),
    ]
    .concat();
    let mut connection = world.gateway.connect().await;
    connection.send(&together).await.unwrap();
    for status in [200, 200, 431] {
        assert_eq!(connection.answer().await.unwrap().status, status);
    }
    assert!(connection.is_over().await);
    assert_eq!(world.simulator.records().await.len(), 2);
}

#[tokio::test]
async fn a_head_of_too_many_fields_is_answered_431() {
    let world = TestSetup::start().await;
    for (count, status) in [(200, 200), (300, 431)] {
        let fields = (0..count).map(|n| format!("x-{n}"));
        let request = fields.fold(Request::get("/v1/models"), |request, name| {
            request.header(&name, "1")
        });
        assert_eq!(world.ask(&request).await.status, status, "{count}");
    }
}

#[tokio::test]
async fn heads_that_do_not_end_hold_no_more_memory_than_the_largest_head() {
    const CROWD: usize = 200;
    const EACH_MAX: u64 = 110 << 10;
    const KEYLESS: &str = "GET /v1/models HTTP/1.1\r\nHost: gate.test\r\nX-Size: ";
    let world = TestSetup::start().await;
    assert_eq!(world.ask(&Request::ask(Protocol::Chat)).await.status, 200);
    let head = |bytes: usize| KEYLESS.to_string() + &"a".repeat(bytes - KEYLESS.len());
    // Some heads wait just below the limit; the others are refused, and the rest of their bytes is discarded.
    let (waiting, refused) = (head(DEFAULT_BYTES_MAX - 1), head(1 << 20));
    for (what, head) in [("waiting", waiting), ("refused", refused)] {
        let before = world.gateway.process.anonymous_bytes();
        let mut crowd = Vec::new();
        for _ in 0..CROWD {
            let mut connection = world.gateway.connect().await;
            let sent = timeout(PATIENCE, connection.send(head.as_bytes()));
            sent.await.expect("what is sent is read").unwrap();
            crowd.push(connection);
        }
        sleep(Duration::from_millis(300)).await;
        let grown = world
            .gateway
            .process
            .anonymous_bytes()
            .saturating_sub(before);
        let each = grown / CROWD as u64;
        assert!(each < EACH_MAX, "{each} bytes for each of {CROWD} {what}");
        if what == "refused" {
            for connection in &mut crowd {
                assert_eq!(connection.answer().await.unwrap().status, 431);
            }
        }
    }
}

#[tokio::test]
async fn an_http_1_0_client_never_gets_100_continue() {
    let world = TestSetup::start().await;
    for (version, first) in [("HTTP/1.0", 200), ("HTTP/1.1", 100)] {
        for framing in ["Expect: 100-continue", "expect: 100-Continue"] {
            let body = body_of(Protocol::Chat).to_string();
            let head = String::from_utf8(Request::ask(Protocol::Chat).head()).unwrap();
            let head = head.replacen("HTTP/1.1", version, 1);
            let head = head.replacen("\r\n", &format!("\r\n{framing}\r\n"), 1);
            let mut connection = world.gateway.connect().await;
            connection.send(head.as_bytes()).await.unwrap();
            sleep(Duration::from_millis(100)).await;
            connection.send(body.as_bytes()).await.unwrap();
            let (status, _) = connection.head().await.expect("a response");
            assert_eq!(status, first, "{version} {framing}");
        }
    }
}

fn limits() -> Value {
    json!({"header_timeout": "1s", "keep_alive_timeout": "60s"})
}

/// Inputs that end within a head, and the number of responses to complete requests before it.
fn halves() -> Vec<(&'static str, Vec<u8>, usize)> {
    let whole = Request::ask(Protocol::Chat).bytes();
    let chunked = Request::ask(Protocol::Chat).chunked(9).bytes();
    let get = Request::get("/v1/models").bytes();
    let half = &get[..get.len() - 20];
    vec![
        ("half a head", half.to_vec(), 0),
        ("one byte", b"G".to_vec(), 0),
        ("an empty line", b"\r\n".to_vec(), 0),
        (
            "empty lines behind a request",
            [&get[..], b"\r\n\r\n"].concat(),
            1,
        ),
        ("all but the last byte", get[..get.len() - 1].to_vec(), 0),
        (
            "empty lines and half a head",
            [b"\r\n\r\n", half].concat(),
            0,
        ),
        ("behind a request", [&get[..], half].concat(), 1),
        ("behind a body", [&whole[..], half].concat(), 1),
        ("behind chunks", [&chunked[..], half].concat(), 1),
        ("one byte behind chunks", [&chunked[..], b"P"].concat(), 1),
        (
            "behind three",
            [&get[..], &chunked[..], &whole[..], half].concat(),
            3,
        ),
    ]
}

async fn assert_given_up<S: AsyncRead + AsyncWrite + Unpin>(
    connection: &mut Connection<S>,
    begin: &[u8],
    responses: usize,
    what: &str,
) {
    connection.send(begin).await.unwrap();
    for _ in 0..responses {
        assert_eq!(connection.answer().await.expect(what).status, 200, "{what}");
    }
    let silent = Instant::now();
    assert!(connection.is_over().await, "{what}");
    let waited = silent.elapsed();
    assert!(waited >= Duration::from_millis(500), "{what}: {waited:?}");
    assert!(waited < PATIENCE / 2, "{what}: {waited:?}");
}

/// The same request with a head of `bytes` bytes.
fn sized(request: Request, bytes: usize) -> Request {
    let room = bytes - request.clone().header("x-size", "").head().len();
    request.header("x-size", &"a".repeat(room))
}
