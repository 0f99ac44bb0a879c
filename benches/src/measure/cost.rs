//! Measures processor time per 10,000 requests, and requests per second, for chat bodies of several sizes.

use super::client::Connection;
use super::http2_client::Http2Connection;
use super::process::{Target, Targets, Transport};
use super::{median, name};
use headgate_budget::request::chat_request;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;
use tokio::task::LocalSet;

const ROUNDS: usize = 7;
/// Requests in flight at a time.
const CONCURRENT: usize = 32;
/// Clients share an HTTP/2 connection.
const STREAMS_PER_CONNECTION: usize = 8;
const MEASURED: [Target; 2] = [Target::BarePingora, Target::Headgate];

/// A size of bodies, and the requests in a round.
struct Load {
    label: &'static str,
    body_bytes: usize,
    requests: usize,
}

const LOADS: &[Load] = &[
    load("1 KB", 1 << 10, 10_000),
    load("16 KB", 16 << 10, 8_000),
    load("1 MB", 1 << 20, 400),
];

const fn load(label: &'static str, body_bytes: usize, requests: usize) -> Load {
    Load {
        label,
        body_bytes,
        requests,
    }
}

/// The heading of the rows of [`measure`] and [`resident`].
pub fn heading() -> String {
    format!(
        "CPU seconds per 10,000 requests, {CONCURRENT} at a time, medians of {ROUNDS} alternating rounds; in parentheses \
         user and system.

| | Headgate | bare Pingora | ratio (lowest to highest round) | requests/s on one processor |
|---|---|---|---|---|
"
    )
}

/// A row for each size.
pub async fn measure(targets: &Targets, scale: f64) -> String {
    let mut rows = String::new();
    for load in LOADS {
        // Pingora's window for an HTTP/2 request is 64 KiB: larger bodies measure the waiting for it.
        if targets.transport == Transport::Http1 || load.body_bytes <= 16 << 10 {
            rows.push_str(&measured_row(targets, load, scale).await);
        }
    }
    rows
}

/// A row with the memory of the targets.
pub fn resident(targets: &Targets) -> String {
    let [bare, ours] = MEASURED.map(|target| targets.resident_mib(target));
    let ratio = ours / bare;
    format!("| resident after this load, MiB | {ours:.0} | {bare:.0} | {ratio:.1} | |\n")
}

async fn measured_row(targets: &Targets, load: &Load, scale: f64) -> String {
    let requests = ((load.requests as f64 * scale) as usize).max(CONCURRENT);
    let mut costs = [Vec::new(), Vec::new()];
    let mut rates = [Vec::new(), Vec::new()];
    let before = MEASURED.map(|target| targets.user_and_system_seconds(target));
    for round in 0..=ROUNDS {
        for (index, target) in MEASURED.into_iter().enumerate() {
            let request = chat_request(load.body_bytes, false, "");
            let (cost, rate) = run(targets, target, request, requests).await;
            // The first round is a warm-up.
            if round > 0 {
                costs[index].push(cost);
                rates[index].push(rate);
            }
        }
    }
    let pairs = costs[1].iter().zip(&costs[0]);
    let mut ratios: Vec<f64> = pairs.map(|(ours, bare)| ours / bare).collect();
    let ratio = median(&mut ratios);
    let [bare, ours] = [0, 1].map(|index| {
        let after = targets.user_and_system_seconds(MEASURED[index]);
        // The warm-up counts, too.
        let tens_of_thousands = (requests * (ROUNDS + 1)) as f64 / 10_000.0;
        let [user, system] =
            [0, 1].map(|part| (after[part] - before[index][part]) / tens_of_thousands);
        let total = median(&mut costs[index]);
        format!("{total:.2} ({user:.2}, {system:.2})")
    });
    let [bare_rate, our_rate] = rates.each_mut().map(|rates| median(rates));
    format!(
        "| {}{} | {ours} | {bare} | **{ratio:.2}** ({:.2} to {:.2}) | {our_rate:.0}; {} {bare_rate:.0} |\n",
        load.label,
        described(targets.transport),
        ratios[0],
        ratios[ratios.len() - 1],
        name(Target::BarePingora),
    )
}

fn described(transport: Transport) -> &'static str {
    match transport {
        Transport::Http1 => "",
        Transport::ClientHttp2 => ", HTTP/2 with TLS from clients",
        Transport::ProviderHttp2 => ", HTTP/2 to the provider",
    }
}

/// A connection of a client.
enum ClientConnection {
    Http1(Connection),
    Http2(Http2Connection),
}

impl ClientConnection {
    async fn exchange(&mut self, request: &[u8]) {
        match self {
            Self::Http1(connection) => connection.exchange(request).await,
            Self::Http2(connection) => connection.exchange(request).await,
        }
    }
}

/// Sends a request many times: the processor time per 10,000 requests in seconds, and requests per second.
pub async fn run(
    targets: &Targets,
    target: Target,
    request: Vec<u8>,
    requests: usize,
) -> (f64, f64) {
    LocalSet::new()
        .run_until(async {
            let connections = open(targets, target).await;
            let (cpu, clock) = (targets.cpu_seconds(target), Instant::now());
            send(connections, request, requests).await;
            let used = targets.cpu_seconds(target) - cpu;
            (
                used * 10_000.0 / requests as f64,
                requests as f64 / clock.elapsed().as_secs_f64(),
            )
        })
        .await
}

async fn send(connections: Vec<ClientConnection>, request: Vec<u8>, requests: usize) {
    let request = Rc::new(request);
    let left = Rc::new(Cell::new(requests));
    let clients = connections.into_iter().map(|mut connection| {
        let (request, left) = (request.clone(), left.clone());
        tokio::task::spawn_local(async move {
            while left.get() > 0 {
                left.set(left.get() - 1);
                connection.exchange(&request).await;
            }
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.await.expect("every answer was right");
    }
}

async fn open(targets: &Targets, target: Target) -> Vec<ClientConnection> {
    let address = targets.address(target);
    let mut connections = Vec::new();
    while connections.len() < CONCURRENT {
        if targets.transport == Transport::ClientHttp2 {
            let connection = Http2Connection::open(address).await;
            let shared = (0..STREAMS_PER_CONNECTION).map(|_| connection.clone());
            connections.extend(shared.map(ClientConnection::Http2));
        } else {
            connections.push(ClientConnection::Http1(Connection::open(address).await));
        }
    }
    connections
}
