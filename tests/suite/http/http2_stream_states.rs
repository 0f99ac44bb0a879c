//! Tests of frames that the state of their stream forbids (RFC 9113, sections 5.1, 5.1.1 and 8.1.1): h2spec's cases and their
//! neighbours, as raw frames.

use crate::harness::certificates::Authority;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::http2_frames::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, Http2Frames, PRIORITY, PeerError,
    RST_STREAM, StreamEndState, WINDOW_UPDATE, frame, literal,
};
use crate::harness::request::{ANN, body_of};
use crate::harness::{Gateway, Simulator, config};
use headgate_protocol::Protocol;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

const PROTOCOL_ERROR: u32 = 1;
const STREAM_CLOSED: u32 = 5;
const REFUSED_STREAM: u32 = 7;
/// SETTINGS_MAX_CONCURRENT_STREAMS of the gateway.
const STREAMS_MAX: u32 = 100;
const WINDOW: u32 = 65_535;
const CANCEL: [u8; 4] = [0, 0, 0, 8];

struct Http2Setup {
    gateway: Gateway,
    authority: Authority,
    simulator: Simulator,
}

/// What the client does.
enum Step {
    Send(Vec<u8>),
    /// Waits for the whole response on a stream.
    Wait(u32),
}

impl Http2Setup {
    async fn start() -> Self {
        let simulator = Simulator::start().await;
        let (folder, authority) = (folder_with_schemas(), Authority::new());
        let mut config = config::standard(&simulator.url());
        config["server"]["tls"] = authority.server().write(&folder, "server");
        Self {
            gateway: Gateway::start_in(folder, &config.to_string()).await,
            authority,
            simulator,
        }
    }

    async fn after(&self, steps: &[Step]) -> Http2Frames<TlsStream<TcpStream>> {
        let address = self.gateway.address;
        let stream = self.authority.connect(address, &["h2"], None).await;
        let mut connection = Http2Frames::over(stream.unwrap(), WINDOW).await;
        for step in steps {
            match step {
                Step::Send(frames) => connection.send(frames).await,
                Step::Wait(stream) => connection.whole(*stream).await,
            }
        }
        connection
    }
}

fn block(method: &str, path: &str, fields: &[(&str, &str)]) -> Vec<u8> {
    let key = format!("Bearer {ANN}");
    let head = [
        (":method", method),
        (":scheme", "https"),
        (":authority", "gate.test"),
        (":path", path),
        ("authorization", &key),
        ("content-type", "application/json"),
    ];
    let all = head.iter().chain(fields);
    all.flat_map(|(name, value)| literal(false, name.as_bytes(), value.as_bytes()))
        .collect()
}

/// A whole request, which gets its response at once.
fn get(stream: u32) -> Vec<u8> {
    let block = block("GET", "/v1/models", &[]);
    frame(HEADERS, END_HEADERS | END_STREAM, stream, &block)
}

/// The head of a chat request with a body.
fn begin(stream: u32, fields: &[(&str, &str)]) -> Vec<u8> {
    let block = block("POST", "/v1/chat/completions", fields);
    frame(HEADERS, END_HEADERS, stream, &block)
}

fn body() -> Vec<u8> {
    body_of(Protocol::Chat).to_string().into_bytes()
}

/// A whole request whose response does not come.
fn wait_for_ever(stream: u32) -> Vec<u8> {
    let head = begin(stream, &[("x-simulate", "stall")]);
    [head, frame(DATA, END_STREAM, stream, &body())].concat()
}

fn data(stream: u32) -> Vec<u8> {
    frame(DATA, END_STREAM, stream, b"late")
}

fn trailers(stream: u32, flags: u8) -> Vec<u8> {
    let field = literal(false, b"x-checksum", b"1");
    frame(HEADERS, END_HEADERS | flags, stream, &field)
}

fn reset(stream: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &CANCEL)
}

fn window_update(stream: u32) -> Vec<u8> {
    frame(WINDOW_UPDATE, 0, stream, &[0, 0, 0, 100])
}

#[tokio::test]
async fn a_frame_that_its_streams_state_forbids_is_an_error_of_the_stream_or_of_the_connection() {
    use Step::{Send, Wait};
    let world = Http2Setup::start().await;
    let closed = PeerError::Stream(1, STREAM_CLOSED);
    let connection_closed = PeerError::Connection(STREAM_CLOSED);
    let protocol_error = PeerError::Connection(PROTOCOL_ERROR);
    for (what, steps, expected) in [
        // Half-closed by the client.
        ("DATA", vec![Send(wait_for_ever(1)), Send(data(1))], closed),
        (
            "trailers",
            vec![Send(wait_for_ever(1)), Send(trailers(1, END_STREAM))],
            closed,
        ),
        (
            "HEADERS",
            vec![Send(wait_for_ever(1)), Send(trailers(1, 0))],
            closed,
        ),
        ("a head", vec![Send(wait_for_ever(1)), Send(get(1))], closed),
        // Reset by the client.
        (
            "DATA behind a reset",
            vec![Send(begin(1, &[])), Send(reset(1)), Send(data(1))],
            closed,
        ),
        (
            "HEADERS behind a reset",
            vec![Send(begin(1, &[])), Send(reset(1)), Send(get(1))],
            closed,
        ),
        (
            "HEADERS behind a reset of a whole request",
            vec![Send(wait_for_ever(1)), Send(reset(1)), Send(get(1))],
            closed,
        ),
        (
            "DATA behind a reset, all at once",
            vec![Send([begin(1, &[]), reset(1), data(1)].concat())],
            closed,
        ),
        // Closed, as both sides have ended it.
        (
            "DATA behind the end",
            vec![Send(get(1)), Wait(1), Send(data(1))],
            connection_closed,
        ),
        (
            "HEADERS behind the end",
            vec![Send(get(1)), Wait(1), Send(get(1))],
            connection_closed,
        ),
        (
            "trailers behind the end, with another stream open",
            vec![
                Send(get(1)),
                Wait(1),
                Send(wait_for_ever(3)),
                Send(trailers(1, END_STREAM)),
            ],
            connection_closed,
        ),
        // Identifiers.
        (
            "a lower id that was not used",
            vec![Send(get(5)), Send(get(3))],
            protocol_error,
        ),
        (
            "a lower id, later",
            vec![Send(get(5)), Wait(5), Send(get(7)), Wait(7), Send(get(1))],
            protocol_error,
        ),
        ("an even id", vec![Send(get(2))], protocol_error),
        ("the id 0", vec![Send(get(0))], protocol_error),
        // Idle.
        (
            "DATA on an idle stream",
            vec![Send(data(1))],
            protocol_error,
        ),
        (
            "a reset of an idle stream",
            vec![Send(reset(1))],
            protocol_error,
        ),
        (
            "a window of an idle stream",
            vec![Send(window_update(1))],
            protocol_error,
        ),
        (
            "CONTINUATION without a start",
            vec![Send(frame(CONTINUATION, END_HEADERS, 1, b"\x82"))],
            protocol_error,
        ),
    ] {
        let mut connection = world.after(&steps).await;
        assert_eq!(connection.error().await, expected, "{what}");
        match expected {
            PeerError::Stream(..) => {
                connection.send(&get(9)).await;
                let state = connection.ended(9).await;
                assert_eq!(state, StreamEndState::Status(200), "{what}");
            }
            _ => assert_eq!(connection.error().await, PeerError::Closed, "{what}"),
        }
    }
}

#[tokio::test]
async fn frames_that_a_closed_stream_may_get_are_no_error() {
    let world = Http2Setup::start().await;
    let priority = |stream| frame(PRIORITY, 0, stream, &[0, 0, 0, 0, 16]);
    let steps = [
        Step::Send(get(1)),
        Step::Wait(1),
        Step::Send([window_update(1), priority(1), reset(1)].concat()),
        Step::Send([wait_for_ever(3), reset(3), priority(3), window_update(3)].concat()),
        // An idle stream may get a priority.
        Step::Send([priority(99), get(101)].concat()),
        // Both sides may end a stream in any order.
        Step::Send([begin(103, &[]), trailers(103, END_STREAM)].concat()),
        Step::Wait(103),
        Step::Send(get(105)),
    ];
    let mut connection = world.after(&steps).await;
    assert_eq!(connection.ended(105).await, StreamEndState::Status(200));
}

/// h2spec's case 5.1.2 counts on it that a reply which the client cannot take yet keeps its stream open.
#[tokio::test]
async fn a_client_with_a_closed_window_gets_every_refusal_once_it_opens_the_window() {
    let world = Http2Setup::start().await;
    let address = world.gateway.address;
    let stream = world.authority.connect(address, &["h2"], None).await;
    let mut connection = Http2Frames::over(stream.unwrap(), 0).await;
    let unknown = block("GET", "/v1/nothing", &[]);
    let head = |stream| frame(HEADERS, END_HEADERS | END_STREAM, stream, &unknown);
    let streams: Vec<u32> = (1..=2 * STREAMS_MAX + 1).step_by(2).collect();
    let heads: Vec<u8> = streams.iter().copied().flat_map(head).collect();
    connection.send(&heads).await;
    let refused = PeerError::Stream(2 * STREAMS_MAX + 1, REFUSED_STREAM);
    assert_eq!(connection.error().await, refused);
    for stream in &streams[..20] {
        let room = frame(WINDOW_UPDATE, 0, *stream, &WINDOW.to_be_bytes());
        connection.send(&room).await;
        connection.whole(*stream).await;
    }
}

#[tokio::test]
async fn a_late_header_block_still_counts_for_the_compression_of_later_ones() {
    let world = Http2Setup::start().await;
    let indexed = [
        block("GET", "/v1/x", &[]),
        literal(true, b":path", b"/v1/models"),
    ]
    .concat();
    for before in [wait_for_ever(1), [begin(1, &[]), reset(1)].concat()] {
        let late = frame(HEADERS, END_HEADERS | END_STREAM, 1, &indexed);
        let mut connection = world.after(&[Step::Send([before, late].concat())]).await;
        assert_eq!(
            connection.error().await,
            PeerError::Stream(1, STREAM_CLOSED)
        );
        // The same fields, with the path from the dynamic table.
        let mut fields = Vec::new();
        for (name, value) in [
            (":method", "GET"),
            (":scheme", "https"),
            (":authority", "gate.test"),
        ] {
            fields.extend(literal(false, name.as_bytes(), value.as_bytes()));
        }
        fields.push(0xbe);
        fields.extend(literal(
            false,
            b"authorization",
            format!("Bearer {ANN}").as_bytes(),
        ));
        let request = frame(HEADERS, END_HEADERS | END_STREAM, 3, &fields);
        connection.send(&request).await;
        assert_eq!(connection.ended(3).await, StreamEndState::Status(200));
    }
}

#[tokio::test]
async fn a_length_that_the_body_contradicts_is_an_error_of_the_stream_and_reaches_no_provider() {
    let world = Http2Setup::start().await;
    let length = |length: &str| begin(1, &[("content-length", length)]);
    let exact = body().len().to_string();
    let more = (body().len() + 1).to_string();
    let end = |bytes: &[u8]| frame(DATA, END_STREAM, 1, bytes);
    let piece = |bytes: &[u8]| frame(DATA, 0, 1, bytes);
    for (what, frames) in [
        ("less", vec![length("1"), end(&body())]),
        ("less, in pieces", vec![length("1"), piece(b"{"), end(b"}")]),
        ("more", vec![length(&more), end(&body())]),
        ("more, and no DATA", vec![length("1"), end(b"")]),
        (
            "more, and trailers",
            vec![length(&more), piece(&body()), trailers(1, END_STREAM)],
        ),
        ("zero", vec![length("0"), end(&body())]),
        ("zero, twice", vec![length("00"), end(&body())]),
        (
            "zero, and the body later",
            vec![length("0"), piece(&body()), end(b"")],
        ),
        (
            "more, and no body at all",
            vec![frame(
                HEADERS,
                END_HEADERS | END_STREAM,
                1,
                &block("POST", "/v1/chat/completions", &[("content-length", "1")]),
            )],
        ),
    ] {
        let steps: Vec<Step> = frames.into_iter().map(Step::Send).collect();
        let mut connection = world.after(&steps).await;
        let error = connection.error().await;
        assert_eq!(error, PeerError::Stream(1, PROTOCOL_ERROR), "{what}");
        connection.send(&get(3)).await;
        let state = connection.ended(3).await;
        assert_eq!(state, StreamEndState::Status(200), "{what}");
    }
    assert!(world.simulator.records().await.is_empty());
    for (frames, status) in [
        (vec![length(&exact), end(&body())], 200),
        (vec![length(&exact), piece(&body()), end(b"")], 200),
        (vec![length("0"), end(b"")], 400),
    ] {
        let steps: Vec<Step> = frames.into_iter().map(Step::Send).collect();
        let mut connection = world.after(&steps).await;
        assert_eq!(connection.ended(1).await, StreamEndState::Status(status));
    }
}
