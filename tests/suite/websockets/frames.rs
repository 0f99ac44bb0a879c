//! Tests of frames, in the groups of Autobahn's suite: what is malformed closes the connection with its code, and all else gets through
//! however it is cut.

use super::{started, with_websockets};
use crate::harness::websocket::{BINARY, CLOSE, PING, PONG, TEXT, client_frame, create, handshake};
use crate::harness::{TestSetup, WebSocketClient, config};
use serde_json::json;

/// Frames with an error, and the code with which the connection is closed.
fn malformed() -> Vec<(&'static str, Vec<u8>, u16)> {
    let frame = client_frame;
    let text = |bytes: &[u8]| frame(TEXT, bytes);
    let mut unmasked = vec![TEXT, 2];
    unmasked.extend(b"{}");
    let close = |code: u16| frame(CLOSE, &code.to_be_bytes());
    let mut cases = vec![
        ("2.5 a ping of 126 bytes", frame(PING, &[b'x'; 126]), 1002),
        (
            "3.1 the first reserved bit",
            frame(TEXT | 0x40, b"{}"),
            1002,
        ),
        (
            "3.2 the second reserved bit",
            frame(TEXT | 0x20, b"{}"),
            1002,
        ),
        (
            "3.3 the third reserved bit",
            frame(TEXT | 0x10, b"{}"),
            1002,
        ),
        (
            "3.5 a reserved bit of a ping",
            frame(PING | 0x40, b""),
            1002,
        ),
        ("5.1 a ping in fragments", frame(PING & 0x7f, b"x"), 1002),
        ("5.2 a pong in fragments", frame(PONG & 0x7f, b"x"), 1002),
        ("5.9 a continuation of nothing", frame(0x80, b"{}"), 1002),
        (
            "5.12 a first continuation of nothing",
            frame(0x00, b"{}"),
            1002,
        ),
        (
            "5.18 a new message within another",
            [frame(0x01, b"{"), text(b"{}")].concat(),
            1002,
        ),
        (
            "6.3 text that is not UTF-8",
            text(b"{\"a\":\"\xff\"}"),
            1007,
        ),
        (
            "6.4 fragments that are not UTF-8",
            [frame(0x01, b"{\"a\":\"\xce"), frame(0x80, b"x\"}")].concat(),
            1007,
        ),
        ("6.12 a surrogate", text(b"\xed\xa0\x80"), 1007),
        ("6.13 an overlong sequence", text(b"\xc0\xaf"), 1007),
        (
            "7.5 a close reason that is not UTF-8",
            frame(CLOSE, b"\x03\xe8\xff"),
            1007,
        ),
        (
            "7.3.2 a close code of one byte",
            frame(CLOSE, b"\x03"),
            1002,
        ),
        (
            "7.3.6 a close of 126 bytes",
            frame(CLOSE, &[b'x'; 126]),
            1002,
        ),
        ("an unmasked frame", unmasked, 1002),
        ("a binary message", frame(BINARY, b"{}"), 1003),
        (
            "a binary message in fragments",
            [frame(0x02, b"{"), frame(0x80, b"}")].concat(),
            1003,
        ),
    ];
    for opcode in [3, 4, 5, 6, 7, 11, 12, 13, 14, 15] {
        cases.push(("4 a reserved opcode", frame(0x80 | opcode, b""), 1002));
    }
    for code in [
        0, 999, 1004, 1005, 1006, 1012, 1015, 1016, 1100, 2000, 2999, 5000, 65535,
    ] {
        // RFC 6455 leaves 1012 to the registry, which has it.
        let expected = if code == 1012 { 1012 } else { 1002 };
        cases.push(("7.9 a code that must not be sent", close(code), expected));
    }
    for code in [
        1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999,
    ] {
        cases.push(("7.7 a code that may be sent", close(code), code));
    }
    cases
}

#[tokio::test]
async fn a_malformed_frame_closes_the_connection_with_its_code() {
    let world = started().await;
    let cases = malformed();
    let count = cases.len();
    for (name, bytes, code) in cases {
        let mut client = WebSocketClient::open(&world.gateway).await;
        client.connection.send(&bytes).await.unwrap();
        assert_eq!(client.close_code().await, Some(code), "{name}: {bytes:?}");
    }
    assert_eq!(count, 56);
    assert_eq!(world.simulator.records().await.len(), 0);
}

#[tokio::test]
async fn a_close_without_a_code_is_answered_by_one() {
    let world = started().await;
    let mut client = WebSocketClient::open(&world.gateway).await;
    client.send_frame(CLOSE, b"").await;
    let frame = client.frame().await.expect("a close frame");
    assert_eq!((frame.first_byte, frame.payload.len()), (CLOSE, 0));
    assert!(client.connection.is_over().await);
}

#[tokio::test]
async fn a_ping_is_answered_with_its_bytes_and_a_pong_with_nothing() {
    let world = started().await;
    let mut client = WebSocketClient::open(&world.gateway).await;
    client.send_frame(PONG, b"unasked").await;
    for payload in [&b""[..], b"Hello", &[0xff; 125]] {
        client.send_frame(PING, payload).await;
        let frame = client.frame().await.expect("a pong");
        assert_eq!((frame.first_byte, &*frame.payload), (PONG, payload));
    }
}

#[tokio::test]
async fn a_message_gets_through_in_any_fragments_with_pings_between_them() {
    let world = started().await;
    let event = create("Grüße, 世界 🌍", json!({})).to_string().into_bytes();
    for size in [1, 2, 3, 7, event.len()] {
        let mut client = WebSocketClient::open(&world.gateway).await;
        let pieces: Vec<&[u8]> = event.chunks(size).collect();
        let mut bytes = Vec::new();
        for (index, piece) in pieces.iter().enumerate() {
            let opcode = if index == 0 { 0x01 } else { 0x00 };
            let end = if index + 1 == pieces.len() {
                0x80
            } else {
                0x00
            };
            bytes.extend(client_frame(opcode | end, piece));
            if index % 16 == 0 && end == 0 {
                bytes.extend(client_frame(PING, b"between"));
            }
        }
        // One byte at a time, then the rest at once.
        for byte in &bytes[..bytes.len().min(40)] {
            client.connection.send(&[*byte]).await.unwrap();
        }
        client
            .connection
            .send(&bytes[bytes.len().min(40)..])
            .await
            .unwrap();
        let last = client.response().await.pop().unwrap();
        assert_eq!(
            last["type"], "response.completed",
            "pieces of {size}: {last}"
        );
        assert!(String::from_utf8_lossy(&world.simulator.last_body().await).contains("世界 🌍"));
    }
}

#[tokio::test]
async fn a_message_that_is_larger_than_the_route_allows_closes_the_connection() {
    let world = TestSetup::with(|config| {
        let route = config::route(config, "responses");
        route["websocket"] = json!({});
        route["request"] = json!(["require_json", "authenticate", {"limit_body": "64KiB"}, "route_model", "follow_ids", "validate"]);
    })
    .await;
    let fits = create(&"x".repeat(60_000), json!({}));
    let mut client = WebSocketClient::open(&world.gateway).await;
    assert_eq!(client.ask(&fits).await["type"], "response.completed");
    let half = vec![b'x'; 40_000];
    let fragments = [client_frame(0x01, &half), client_frame(0x80, &half)].concat();
    for bytes in [client_frame(TEXT, &[b'x'; 70_000]), fragments] {
        let mut client = WebSocketClient::open(&world.gateway).await;
        client.connection.send(&bytes).await.unwrap();
        assert_eq!(client.close_code().await, Some(1009));
    }
}

#[tokio::test]
async fn requests_that_wait_take_no_more_memory_than_one_message_may() {
    let world = TestSetup::with(|config| {
        let route = config::route(config, "responses");
        route["websocket"] = json!({});
        route["request"] = json!(["require_json", "authenticate", {"limit_body": "64KiB"}, "route_model", "follow_ids", "validate"]);
    })
    .await;
    let request = handshake().simulate("pace=100ms; events=10");
    let mut client = WebSocketClient::open_by(&world.gateway, &request).await;
    for _ in 0..4 {
        client.send(&create(&"x".repeat(40_000), json!({}))).await;
    }
    // One runs, one waits; two are refused at once.
    let mut refused = 0;
    let mut completed = 0;
    while completed < 2 {
        let event = client.event().await;
        match event["type"].as_str().unwrap() {
            "error" => {
                assert_eq!(event["status"], 429, "{event}");
                refused += 1;
            }
            "response.completed" => completed += 1,
            _ => {}
        }
    }
    assert_eq!(refused, 2);
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_given_up() {
    let world = TestSetup::with(|config| {
        config::route(config, "responses")["websocket"] = json!({});
        config["server"]["limits"] = json!({"write_timeout": "1s"});
    })
    .await;
    let request = handshake().simulate("events=2000; event_bytes=20000");
    let mut client = WebSocketClient::open_by(&world.gateway, &request).await;
    client.send(&create("Hello", json!({}))).await;
    let line = world
        .gateway
        .log_line(|line| line["websocket"] == true)
        .await;
    let settlement = line["settlement"].as_str().unwrap();
    assert!(
        ["client_cancelled", "write_timeout"].contains(&settlement),
        "{line}"
    );
    let open = async || {
        let metrics = world.gateway.metrics().await;
        (metrics.sum("headgate_websockets", &[]) == 0.0).then_some(())
    };
    crate::harness::eventually("the end of the WebSocket", open).await;
}

#[tokio::test]
async fn a_client_that_sends_pings_and_reads_no_answers_is_given_up() {
    let world = TestSetup::with(|config| {
        config::route(config, "responses")["websocket"] = json!({});
        config["server"]["limits"] = json!({"write_timeout": "1s"});
    })
    .await;
    let mut client = WebSocketClient::open(&world.gateway).await;
    let pings = client_frame(PING, &[b'p'; 125]).repeat(1000);
    // The gateway reads no further once its answers are not taken, and closes then.
    while client.connection.send(&pings).await.is_ok() {}
    let ended = async || {
        let metrics = world.gateway.metrics().await;
        let slow = metrics.sum(
            "headgate_websockets_ended_total",
            &[("reason", "write_timeout")],
        );
        (slow == 1.0).then_some(())
    };
    crate::harness::eventually("the end of the WebSocket", ended).await;
}

#[tokio::test]
async fn an_idle_websocket_holds_no_memory_of_its_messages() {
    let world = started().await;
    let mut clients = Vec::new();
    let before = world.gateway.process.anonymous_bytes();
    for _ in 0..8 {
        let mut client = WebSocketClient::open(&world.gateway).await;
        let message = json!({"type": "x".repeat(16 << 20)}).to_string();
        client.send_frame(TEXT, message.as_bytes()).await;
        let error = client.event().await;
        assert!(
            error.to_string().len() < 1000,
            "the error repeats the message"
        );
        clients.push(client);
    }
    let freed = async || {
        let more = world
            .gateway
            .process
            .anonymous_bytes()
            .saturating_sub(before);
        (more < 40 << 20).then_some(())
    };
    crate::harness::eventually("the memory of eight messages of 16 MiB", freed).await;
}

#[tokio::test]
async fn a_silent_client_is_pinged_and_given_up_if_it_does_not_answer() {
    let world = with_websockets(json!({"ping_interval": "1s"})).await;
    let mut client = WebSocketClient::open(&world.gateway).await;
    for _ in 0..2 {
        let frame = client.frame().await.expect("a ping");
        assert_eq!(frame.first_byte, PING);
        client.send_frame(PONG, &frame.payload).await;
    }
    assert_eq!(
        client.frame().await.map(|frame| frame.first_byte),
        Some(PING)
    );
    assert_eq!(client.frame().await, None);
}
