//! Tests of floods of HTTP/2 frames: each takes little memory beside its bytes, reaches no provider, and leaves others served.

use crate::harness::certificates::Authority;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::http2_frames::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, Http2Frames, RST_STREAM, StreamEndState,
    frame, literal,
};
use crate::harness::request::ANN;
use crate::harness::{Gateway, Simulator, config};
use std::time::Duration;
use tokio::time::{sleep, timeout};

const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW: u32 = 65_535;
/// Frames of a flood.
const FRAMES: u32 = 20_000;
/// The maximum memory per received byte.
const AMPLIFICATION_MAX: u64 = 100;
/// How long a client goes on sending that is not read.
const SENDS_FOR: Duration = Duration::from_secs(10);

struct FrameFlood {
    what: &'static str,
    frames: fn() -> Vec<u8>,
}

const FLOODS: [FrameFlood; 6] = [
    FrameFlood {
        what: "streams that are reset at once",
        frames: || {
            let streams = (0..FRAMES).map(|n| 2 * n + 1);
            let reset = |stream| {
                let head = head("GET", "/v1/models");
                let begun = frame(HEADERS, END_STREAM | END_HEADERS, stream, &head);
                [begun, frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes())].concat()
            };
            streams.flat_map(reset).collect()
        },
    },
    FrameFlood {
        what: "a header block of frames without end",
        frames: || {
            let begun = frame(HEADERS, END_STREAM, 1, &head("GET", "/v1/models"));
            [
                begun,
                frame(CONTINUATION, 0, 1, b"").repeat(FRAMES as usize),
            ]
            .concat()
        },
    },
    FrameFlood {
        what: "a header block of fields without end",
        frames: || {
            let begun = frame(HEADERS, END_STREAM, 1, &head("GET", "/v1/models"));
            let field = literal(false, b"x-field", &[b'a'; 100]);
            [
                begun,
                frame(CONTINUATION, 0, 1, &field).repeat(FRAMES as usize),
            ]
            .concat()
        },
    },
    FrameFlood {
        what: "empty pieces of a body",
        frames: || {
            let begun = frame(
                HEADERS,
                END_HEADERS,
                1,
                &head("POST", "/v1/chat/completions"),
            );
            [begun, frame(DATA, 0, 1, b"").repeat(FRAMES as usize)].concat()
        },
    },
    FrameFlood {
        what: "settings",
        frames: || frame(SETTINGS, 0, 0, b"").repeat(FRAMES as usize),
    },
    FrameFlood {
        what: "pings",
        frames: || frame(PING, 0, 0, &[7; 8]).repeat(FRAMES as usize),
    },
];

fn head(method: &str, path: &str) -> Vec<u8> {
    let bearer = format!("Bearer {ANN}");
    let fields = [
        (":method", method),
        (":scheme", "https"),
        (":authority", "gate.test"),
        (":path", path),
        ("authorization", bearer.as_str()),
        ("content-type", "application/json"),
    ];
    let fields = fields.map(|(name, value)| literal(false, name.as_bytes(), value.as_bytes()));
    fields.concat()
}

#[tokio::test]
async fn a_flood_of_frames_takes_little_memory_and_reaches_no_provider() {
    let simulator = Simulator::start().await;
    let (folder, authority) = (folder_with_schemas(), Authority::new());
    let mut config = config::standard(&simulator.url());
    config["server"]["tls"] = authority.server().write(&folder, "server");
    let mut gateway = Gateway::start_in(folder, &config.to_string()).await;
    let connect = async || {
        let stream = authority.connect(gateway.address, &["h2"], None).await;
        Http2Frames::over(stream.unwrap(), WINDOW).await
    };
    let is_served = async || {
        let mut other = connect().await;
        let block = head("GET", "/v1/models");
        other
            .send(&frame(HEADERS, END_STREAM | END_HEADERS, 1, &block))
            .await;
        other.ended(1).await == StreamEndState::Status(200)
    };
    assert!(is_served().await);
    for FrameFlood { what, frames } in FLOODS {
        let before = gateway.process.anonymous_bytes();
        let mut attacker = connect().await;
        // The client reads nothing meanwhile.
        let _ = timeout(SENDS_FOR, attacker.send(&frames())).await;
        assert!(is_served().await, "{what}");
        let mut grown = 0;
        for _ in 0..10 {
            let now = gateway.process.anonymous_bytes();
            grown = now.saturating_sub(before).max(grown);
            sleep(Duration::from_millis(100)).await;
        }
        let sent = attacker.sent as u64;
        println!("{what}: {sent} bytes sent, {grown} bytes grown");
        assert!(
            grown < sent * AMPLIFICATION_MAX,
            "{what}: {sent} bytes took {grown}"
        );
        assert!(grown < 64 << 20, "{what}: {sent} bytes took {grown}");
        drop(attacker);
    }
    assert_eq!(simulator.records().await.len(), 0);
    assert!(gateway.process.ended().is_none());
}
