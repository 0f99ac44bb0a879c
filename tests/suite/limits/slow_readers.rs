//! Tests of callers who do not read: backpressure to the provider, bounded memory, and a deadline.

use crate::harness::certificates::Authority;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::slow_client::{Flood, Version};
use crate::harness::{Gateway, Http2, OpenResponse, Request, TestSetup, config, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::sleep;

const STREAMS: u64 = 50;
/// The maximum memory of a stream.
const HELD_BYTES_MAX: u64 = 256 << 10;
/// The allowance for everything else: connections, tasks, the allocator's reserves.
const BESIDES_BYTES: u64 = 24 << 20;

async fn gateway_before(flood: &Flood, version: Version, write_timeout: &str) -> Gateway {
    let mut config = config::standard(&flood.url());
    config["server"]["limits"] = json!({"write_timeout": write_timeout});
    if version == Version::Http2 {
        config["channels"]["openai"]["http"] = "http2".into();
    }
    Gateway::start(&config).await
}

#[tokio::test]
async fn fifty_callers_who_do_not_read_hold_the_provider_back_and_little_memory() {
    for version in [Version::Http1, Version::Http2] {
        let flood = Flood::start(version).await;
        let gateway = gateway_before(&flood, version, "10m").await;
        let request = Request::ask_stream(Protocol::Chat);
        // The first stream allocates what is kept for all later ones.
        drop(gateway.open(&request).await.until("data:").await);
        let before = gateway.process.resident_bytes();
        let mut unread: Vec<OpenResponse> = Vec::new();
        for _ in 0..STREAMS {
            let mut reply = gateway.open(&request).await;
            reply.until("data:").await;
            unread.push(reply);
        }
        let stopped = async || {
            let sent = flood.sent();
            sleep(Duration::from_millis(700)).await;
            (flood.sent() == sent).then_some(())
        };
        eventually("the end of the flood", stopped).await;
        let grown = gateway.process.resident_bytes().saturating_sub(before);
        let most = STREAMS * HELD_BYTES_MAX + BESIDES_BYTES;
        assert!(grown < most, "{version:?}: {grown} bytes more, of {most}");
        // Other callers are not delayed.
        let mut other = gateway.open(&request).await;
        other.until("data:").await;
        assert!(flood.open() > STREAMS);
    }
}

#[tokio::test]
async fn a_client_that_does_not_read_times_out_and_its_wait_is_logged() {
    for version in [Version::Http1, Version::Http2] {
        let flood = Flood::start(version).await;
        let gateway = gateway_before(&flood, version, "1s").await;
        let mut unread = gateway.open(&Request::ask_stream(Protocol::Chat)).await;
        unread.until("data:").await;
        let given_up = async || (flood.open() == 0).then_some(());
        eventually("the end of the provider's stream", given_up).await;
        let line = gateway.log_line(|line| line["route"] == "chat").await;
        assert_eq!(line["settlement"], "write_timeout", "{line}");
        assert_eq!(line["error_code"], "write_timeout", "{line}");
        let detail = line["error_detail"].as_str().unwrap_or_default();
        assert!(detail.contains("write_timeout"), "{line}");
        assert!(
            line["client_longest_wait_ms"].as_f64() >= Some(900.0),
            "{line}"
        );
        let sum = of(&line, "upstream_ms") + of(&line, "client_ms") + of(&line, "gateway_ms");
        assert!((sum - of(&line, "total_ms")).abs() < 1.0, "{line}");
        let metrics = gateway.metrics().await;
        let labels = [("route", "chat"), ("settlement", "write_timeout")];
        let settled = async || {
            let metrics = gateway.metrics().await;
            (metrics.sum("headgate_settlements_total", &labels) == 1.0).then_some(())
        };
        eventually("the settlement", settled).await;
        let labels = [("channel", "openai"), ("side", "client")];
        assert!(metrics.sum("headgate_longest_wait_seconds_sum", &labels) >= 0.9);
        assert_eq!(metrics.sum("headgate_wait_seconds_count", &labels), 1.0);
        // The connection is still open at the caller, who has not read that it was closed.
        let nothing_is_left = async || {
            let metrics = gateway.metrics().await;
            let left =
                metrics.sum("headgate_in_flight", &[]) + metrics.sum("headgate_connections", &[]);
            (left == 0.0).then_some(())
        };
        eventually("the end of the connection", nothing_is_left).await;
        drop(unread);
    }
}

#[tokio::test]
async fn a_stream_that_is_not_read_holds_up_no_other_stream_of_its_connection() {
    let flood = Flood::start(Version::Http1).await;
    let (folder, authority) = (folder_with_schemas(), Authority::new());
    let mut config = config::standard(&flood.url());
    config["server"]["tls"] = authority.server().write(&folder, "server");
    config["server"]["limits"] = json!({"write_timeout": "2s"});
    let gateway = Gateway::start_in(folder, &config.to_string()).await;
    let stream = authority.connect(gateway.address, &["h2"], None).await;
    let connection = Http2::over(stream.unwrap()).await;
    let request = Request::ask_stream(Protocol::Chat);
    let mut unread = Vec::new();
    for _ in 0..20 {
        unread.push(connection.open(&request).await);
    }
    // Far more than the HTTP/2 windows.
    let mut read = connection.open(&request).await;
    let mut bytes = 0;
    while bytes < 4 << 20 {
        bytes += read
            .piece()
            .await
            .unwrap()
            .expect("the flood never ends")
            .len();
    }
    drop(read);
    let given_up = async || (flood.open() == 0).then_some(());
    eventually("the end of the provider's streams", given_up).await;
}

#[tokio::test]
async fn a_pausing_provider_counts_as_upstream_wait() {
    let world = TestSetup::start().await;
    let request = Request::ask_stream(Protocol::Chat).simulate("pace=300ms; events=3");
    let answer = world.ask(&request).await;
    let line = world.gateway.log_of(&answer).await;
    assert!(of(&line, "upstream_longest_wait_ms") >= 250.0, "{line}");
    assert!(
        of(&line, "upstream_ms") >= of(&line, "upstream_longest_wait_ms"),
        "{line}"
    );
    assert!(of(&line, "upstream_ms") > of(&line, "client_ms"), "{line}");
}

fn of(line: &Value, key: &str) -> f64 {
    line[key]
        .as_f64()
        .unwrap_or_else(|| panic!("no {key}: {line}"))
}
