//! Measures the latency of stream events: the provider puts a timestamp into each, by a clock that this client shares.

use super::client::Connection;
use super::process::{Target, Targets};
use super::{name, quantile};
use headgate_budget::request::chat_request;
use std::cell::RefCell;
use std::rc::Rc;

const ROUNDS: usize = 5;
const STREAMS: usize = 10;
const EVENTS: usize = 50;
const PACE_MS: usize = 20;

/// Microseconds from the provider's timestamp to this client.
#[derive(Default)]
struct Latencies {
    first: Vec<f64>,
    later: Vec<f64>,
}

/// A table of the latencies.
pub async fn measure(targets: &Targets, scale: f64) -> String {
    let rounds = ((ROUNDS as f64 * scale).ceil() as usize).max(1);
    let measured = [Target::Direct, Target::BarePingora, Target::Headgate];
    let mut all: [Latencies; 3] = Default::default();
    for round in 0..=rounds {
        for (index, target) in measured.into_iter().enumerate() {
            let latencies = run(targets, target).await;
            if round > 0 {
                all[index].first.extend(latencies.first);
                all[index].later.extend(latencies.later);
            }
        }
    }
    let mut table = format!(
        "Microseconds from the provider to the client: {STREAMS} streams begun at once, an event every {PACE_MS} ms, {rounds} alternating rounds.

| | first event p50 | p99 | later events p50 | p99 |
|---|---|---|---|---|
"
    );
    for (target, Latencies { first, later }) in measured.into_iter().zip(&mut all) {
        table.push_str(&format!(
            "| {} | {:.0} | {:.0} | {:.0} | {:.0} |\n",
            name(target),
            quantile(first, 0.5),
            quantile(first, 0.99),
            quantile(later, 0.5),
            quantile(later, 0.99)
        ));
    }
    table
}

async fn run(targets: &Targets, target: Target) -> Latencies {
    let directives = format!("stamp; events={EVENTS}; pace={PACE_MS}ms");
    let request = Rc::new(chat_request(1 << 10, true, &directives));
    let latencies = Rc::new(RefCell::new(Latencies::default()));
    tokio::task::LocalSet::new()
        .run_until(async {
            let mut tasks = Vec::new();
            for _ in 0..STREAMS {
                let mut connection = Connection::open(targets.address(target)).await;
                // The first request opens the connection to the provider, which is not part of a stream's latency.
                connection.exchange(&chat_request(1 << 10, false, "")).await;
                let (request, latencies) = (request.clone(), latencies.clone());
                tasks.push(tokio::task::spawn_local(async move {
                    let mut seen = 0;
                    connection
                        .stream(&request, |piece| {
                            let now = now_nanoseconds();
                            for stamp in stamps(piece) {
                                let micros = now.saturating_sub(stamp) as f64 / 1e3;
                                let mut latencies = latencies.borrow_mut();
                                match seen {
                                    0 => latencies.first.push(micros),
                                    _ => latencies.later.push(micros),
                                }
                                seen += 1;
                            }
                        })
                        .await;
                }));
            }
            for task in tasks {
                task.await.expect("every stream was whole");
            }
        })
        .await;
    latencies.take()
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
