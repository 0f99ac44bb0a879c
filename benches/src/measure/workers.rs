//! Measures what several workers on two processors cost, beside one worker on one of them.

use super::cost::{HTTP2_CONNECTIONS, run};
use super::median;
use super::targets::{Target, TargetSetup, Targets, Transport};
use headgate_budget::request::chat_request;

const WORKERS: [usize; 3] = [1, 2, 4];
const ROUNDS: usize = 5;
const REQUESTS: usize = 20_000;
/// Requests in flight at a time: connections of HTTP/1.1, or streams of HTTP/2.
const IN_FLIGHT: usize = 64;

/// A table with a line for each protocol of callers and number of workers.
pub async fn measure(setup: TargetSetup<'_>, scale: f64) -> String {
    let mut table = format!(
        "1 KB chats on {IN_FLIGHT} connections of HTTP/1.1, and on {IN_FLIGHT} streams of {HTTP2_CONNECTIONS} connections of HTTP/2, \
         medians of {ROUNDS} alternating rounds. One worker has a processor of its own; more share both with client and provider, so \
         that only the CPU of a request can be compared.

| callers | workers | processors | CPU seconds per 10,000 requests | ratio to one worker | requests/s |
|---|---|---|---|---|---|
"
    );
    for (name, transport) in [
        ("HTTP/1.1", Transport::Http1),
        ("HTTP/2 with TLS", Transport::ClientHttp2),
    ] {
        let setup = TargetSetup { transport, ..setup };
        table.push_str(&rows(name, setup, scale).await);
    }
    table
}

async fn rows(name: &str, setup: TargetSetup<'_>, scale: f64) -> String {
    let requests = ((REQUESTS as f64 * scale) as usize).max(IN_FLIGHT);
    let gateways = WORKERS.map(|workers| Targets::start(TargetSetup { workers, ..setup }));
    let mut costs = WORKERS.map(|_| Vec::new());
    let mut rates = WORKERS.map(|_| Vec::new());
    for round in 0..=ROUNDS {
        for (index, targets) in gateways.iter().enumerate() {
            targets.pin_client();
            let request = chat_request(1 << 10, false, "");
            let (cost, rate) = run(targets, Target::Headgate, request, requests, IN_FLIGHT).await;
            // The first round is a warm-up.
            if round > 0 {
                costs[index].push(cost);
                rates[index].push(rate);
            }
        }
    }
    let mut rows = String::new();
    let one = median(&mut costs[0]);
    for (index, workers) in WORKERS.into_iter().enumerate() {
        let (cost, rate) = (median(&mut costs[index]), median(&mut rates[index]));
        let ratio = cost / one;
        let processors = workers.min(2);
        rows.push_str(&format!(
            "| {name} | {workers} | {processors} | {cost:.3} | **{ratio:.2}** | {rate:.0} |\n"
        ));
    }
    rows
}
