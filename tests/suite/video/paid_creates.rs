//! Tests of paid creates, row by row and on every route: how many of them the provider receives.
//!
//! `cargo test --test suite paid_creates:: -- --nocapture` prints the table.

use crate::harness::video::{FAMILY_A, FAMILY_B, GENERIC, count, create, video_config};
use crate::harness::{Gateway, Simulator, config, eventually};
use serde_json::{Value, json};

/// The routes of a create, each with the model, its channel and the version in that channel's URL.
const SHAPES: [(&str, &str, &str, &str); 4] = [
    (GENERIC, "demo-video-a", "a", "v3"),
    (GENERIC, "demo-video-b", "b", "v1"),
    (FAMILY_A, "demo-video-a", "a", "v3"),
    (FAMILY_B, "demo-video-b", "b", "v1"),
];

/// The fault of the first of two channels.
enum FirstChannelBehaviour {
    /// Nothing listens at its address.
    Absent,
    /// It does not speak TLS, though its URL is `https`.
    NoTls,
    /// The simulated provider with these directives.
    ExpectedReply(&'static str),
}

/// A row: the fault of the first channel, the caller's status, the error code if the gateway chose it, and the number
/// of creates that each of the two channels received.
type Row = (FirstChannelBehaviour, u16, Option<&'static str>, [usize; 2]);

const ROWS: [Row; 15] = [
    (FirstChannelBehaviour::Absent, 200, None, [0, 1]),
    (FirstChannelBehaviour::NoTls, 200, None, [0, 1]),
    (
        FirstChannelBehaviour::ExpectedReply("status=429"),
        200,
        None,
        [1, 1],
    ),
    (
        FirstChannelBehaviour::ExpectedReply("status=401"),
        200,
        None,
        [1, 1],
    ),
    (
        FirstChannelBehaviour::ExpectedReply("status=403;code=AccessDenied"),
        200,
        None,
        [1, 1],
    ),
    (
        FirstChannelBehaviour::ExpectedReply("status=400"),
        400,
        None,
        [1, 0],
    ),
    (
        FirstChannelBehaviour::ExpectedReply("status=422"),
        422,
        None,
        [1, 0],
    ),
    (
        FirstChannelBehaviour::ExpectedReply("status=500"),
        502,
        Some("upstream_error"),
        [1, 0],
    ),
    (
        FirstChannelBehaviour::ExpectedReply("status=503"),
        502,
        Some("upstream_error"),
        [1, 0],
    ),
    (
        FirstChannelBehaviour::ExpectedReply("cut"),
        504,
        Some("outcome_unknown"),
        [1, 0],
    ),
    (
        FirstChannelBehaviour::ExpectedReply("stall"),
        504,
        Some("outcome_unknown"),
        [1, 0],
    ),
    (
        FirstChannelBehaviour::ExpectedReply("no_id"),
        502,
        Some("invalid_upstream_response"),
        [1, 0],
    ),
    (
        FirstChannelBehaviour::ExpectedReply("malformed"),
        502,
        Some("invalid_upstream_response"),
        [1, 0],
    ),
    (
        FirstChannelBehaviour::ExpectedReply("html"),
        502,
        Some("invalid_upstream_response"),
        [1, 0],
    ),
    (FirstChannelBehaviour::ExpectedReply(""), 200, None, [1, 0]),
];

#[tokio::test]
async fn a_paid_create_is_never_sent_twice() {
    for (first, status, code, received) in ROWS {
        for (path, model, channel, version) in SHAPES {
            let (bad, good) = (Simulator::start().await, Simulator::start().await);
            let base_url = match first {
                FirstChannelBehaviour::Absent => format!("http://127.0.0.1:1/api/{version}"),
                FirstChannelBehaviour::NoTls => format!("https://{}/api/{version}", bad.address),
                FirstChannelBehaviour::ExpectedReply("") => {
                    format!("http://{}/api/{version}", bad.address)
                }
                FirstChannelBehaviour::ExpectedReply(reported) => {
                    format!("http://{}/~{reported}/api/{version}", bad.address)
                }
            };
            let gateway = gateway(&good, channel, &base_url).await;
            let answer = create(&gateway, path, model).await;
            let shown = format!("{}, {path}, {model}", first.name());
            assert_eq!(answer.status, status, "{shown}: {}", answer.text());
            if let Some(code) = code
                && path != FAMILY_B
            {
                assert_eq!(
                    answer.json()["error"]["code"],
                    code,
                    "{shown}: {}",
                    answer.text()
                );
            }
            let counted = [count(&bad, "create").await, count(&good, "create").await];
            println!(
                "{shown}: {status} {}, creates {counted:?}",
                code.unwrap_or("")
            );
            assert_eq!(counted, received, "{shown}");
        }
    }
}

#[tokio::test]
async fn a_paid_create_that_failed_counts_under_the_name_of_its_failure() {
    for (directives, outcome) in [
        ("status=500", "server_error"),
        ("status=503", "rate_limited"),
        ("status=408", "server_error"),
        ("status=400", "client_error"),
        ("status=422", "client_error"),
        ("html", "invalid_response"),
        ("no_id", "invalid_response"),
        ("cut", "connection_closed"),
        ("stall", "timeout"),
        ("delay=1ms", "success"),
    ] {
        for (path, model, channel, version) in SHAPES {
            let (bad, good) = (Simulator::start().await, Simulator::start().await);
            let base_url = format!("http://{}/~{directives}/api/{version}", bad.address);
            let gateway = gateway(&good, channel, &base_url).await;
            create(&gateway, path, model).await;
            let shown = format!("{directives}, {path}, {model}");
            // An attempt is counted when its response has ended, which may be after the caller has it.
            let counted = eventually(&shown, async || {
                let metrics = gateway.metrics().await;
                let count = |labels: &[_]| metrics.sum("headgate_attempts_total", labels);
                let first = ("channel", "first");
                let of_outcome = count(&[first, ("outcome", outcome)]);
                (count(&[first]) > 0.0).then_some((of_outcome, count(&[first])))
            })
            .await;
            assert_eq!(counted, (1.0, 1.0), "{shown}");
        }
    }
}

/// A gateway with `channel` at `base_url` first, and then at the good provider.
async fn gateway(good: &Simulator, channel: &str, base_url: &str) -> Gateway {
    let mut config: Value = video_config(good, "");
    let mut first = config["channels"][channel].clone();
    first["base_url"] = base_url.into();
    first["timeouts"] = json!({"connect": "1s", "first_byte": "500ms", "idle": "500ms"});
    config["channels"]["first"] = first;
    config["channels"][channel]["tier"] = 1.into();
    config::without_cool_downs(&mut config);
    Gateway::start(&config).await
}

impl FirstChannelBehaviour {
    fn name(&self) -> &'static str {
        match self {
            Self::Absent => "nobody there",
            Self::NoTls => "no TLS",
            Self::ExpectedReply("") => "well",
            Self::ExpectedReply(reported) => reported,
        }
    }
}
