//! Measures the latency of stream events: the provider puts a timestamp into each, by a clock that this client shares.

use super::client::Connection;
use super::quantile;
use super::summary::SummaryRow;
use super::targets::{Target, Targets};
use headgate_budget::request::chat_request;
use std::cell::RefCell;
use std::rc::Rc;
use tokio::task::LocalSet;

const ROUNDS: usize = 20;
/// Streams that begin at once.
const BURSTS: [usize; 2] = [10, 100];
const EVENTS: usize = 20;
const PACE_MS: usize = 20;
/// So late is the response to the first request of a connection, that all of a burst are open before.
const FIRST_RESPONSE: &str = "delay=200ms";

/// Microseconds from the provider's timestamp to this client.
#[derive(Default)]
struct Latencies {
    first: Vec<f64>,
    later: Vec<f64>,
}

/// Lines for the first events, and a table of all.
pub async fn measure(targets: &Targets, scale: f64) -> (Vec<SummaryRow>, String) {
    let rounds = ((ROUNDS as f64 * scale).ceil() as usize).max(1);
    let mut rows = Vec::new();
    let mut table = format!(
        "Microseconds from the provider to the client, an event every {PACE_MS} ms, {rounds} alternating rounds.

| | first event p50 | p99 | later events p50 | p99 |
|---|---|---|---|---|
"
    );
    for streams in BURSTS {
        let mut all = measured_burst(targets, streams, rounds).await;
        for (share, percentile) in [(0.5, "p50"), (0.99, "p99")] {
            let figure =
                format!("first event of {streams} streams begun at once, {percentile}, µs");
            let mut row = SummaryRow::new(figure, 0);
            for (_, latencies) in &mut all[1..] {
                row.push(vec![quantile(&mut latencies.first, share)]);
            }
            rows.push(row);
        }
        for (target, Latencies { first, later }) in &mut all {
            let [first, later] = [first, later].map(|micros| {
                let [p50, p99] = [0.5, 0.99].map(|share| quantile(micros, share));
                format!("{p50:.0} | {p99:.0}")
            });
            let name = target.name();
            table.push_str(&format!(
                "| {streams} streams, {name} | {first} | {later} |\n"
            ));
        }
    }
    (rows, table)
}

/// The latencies of bursts without a proxy, and by way of each proxy.
async fn measured_burst(
    targets: &Targets,
    streams: usize,
    rounds: usize,
) -> Vec<(Target, Latencies)> {
    let measured = [&[Target::Direct], targets.proxies()].concat();
    let mut all: Vec<_> = measured
        .into_iter()
        .map(|target| (target, Latencies::default()))
        .collect();
    for round in 0..=rounds {
        for (target, all) in &mut all {
            let latencies = run(targets, *target, streams).await;
            // The first round is a warm-up.
            if round > 0 {
                all.first.extend(latencies.first);
                all.later.extend(latencies.later);
            }
        }
    }
    all
}

async fn run(targets: &Targets, target: Target, streams: usize) -> Latencies {
    let latencies = Rc::new(RefCell::new(Latencies::default()));
    let measuring = async {
        let mut connections = Vec::new();
        // The first request opens the connection to the provider, which is not part of a stream's latency.
        for _ in 0..streams {
            let mut connection = Connection::open(targets.address(target)).await;
            connections.push(tokio::task::spawn_local(async move {
                let request = chat_request(1 << 10, false, FIRST_RESPONSE);
                connection.exchange(&request).await;
                connection
            }));
        }
        let mut open = Vec::new();
        for connection in connections {
            open.push(connection.await.expect("every answer was right"));
        }
        let streams = open
            .into_iter()
            .map(|connection| tokio::task::spawn_local(receive(connection, latencies.clone())));
        for stream in streams.collect::<Vec<_>>() {
            stream.await.expect("every stream was whole");
        }
    };
    LocalSet::new().run_until(measuring).await;
    latencies.take()
}

/// Receives a stream, and notes how late each of its events was.
async fn receive(mut connection: Connection, latencies: Rc<RefCell<Latencies>>) {
    let directives = format!("stamp; events={EVENTS}; pace={PACE_MS}ms");
    let request = chat_request(1 << 10, true, &directives);
    let mut is_first = true;
    let note = |piece: &[u8]| {
        let now = now_nanoseconds();
        for stamp in stamps(piece) {
            let micros = now.saturating_sub(stamp) as f64 / 1e3;
            let mut latencies = latencies.borrow_mut();
            match std::mem::take(&mut is_first) {
                true => latencies.first.push(micros),
                false => latencies.later.push(micros),
            }
        }
    };
    connection.stream(&request, note).await;
}

/// The timestamps in a piece of a stream: `t=NANOSECONDS;`
fn stamps(piece: &[u8]) -> impl Iterator<Item = u64> {
    let text = String::from_utf8_lossy(piece).into_owned();
    let stamps: Vec<u64> = text
        .split("t=")
        .skip(1)
        .filter_map(|rest| rest.split(';').next()?.parse().ok())
        .collect();
    stamps.into_iter()
}

fn now_nanoseconds() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes only the struct that it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
