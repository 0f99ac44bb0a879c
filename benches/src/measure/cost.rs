//! Measures processor time per 10,000 requests for chat bodies of several sizes, and the memory that is left behind.

use super::client::Connection;
use super::http2_client::Http2Connection;
use super::summary::SummaryRow;
use super::targets::{Target, Targets, Transport};
use headgate_budget::request::chat_request;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;
use tokio::task::LocalSet;

const ROUNDS: usize = 7;
/// Requests in flight at a time.
pub const CONCURRENT: usize = 32;
/// The HTTP/2 connections that clients share.
pub const HTTP2_CONNECTIONS: usize = 4;

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

/// A line for each size.
pub async fn measure(targets: &Targets, scale: f64) -> Vec<SummaryRow> {
    let mut rows = Vec::new();
    for load in LOADS {
        // Pingora's window for an HTTP/2 request is 64 KiB: larger bodies measure the waiting for it.
        if targets.transport == Transport::Http1 || load.body_bytes <= 16 << 10 {
            rows.push(measured_row(targets, load, scale).await);
        }
    }
    rows
}

/// A line with the memory of the targets.
pub fn resident(targets: &Targets) -> SummaryRow {
    let mut row = SummaryRow::new("resident memory after this load, MiB", 0);
    for proxy in targets.proxies() {
        row.push(vec![targets.program(*proxy).resident_kib() / 1024.0]);
    }
    row
}

async fn measured_row(targets: &Targets, load: &Load, scale: f64) -> SummaryRow {
    let requests = ((load.requests as f64 * scale) as usize).max(CONCURRENT);
    let proxies = targets.proxies();
    let times = |proxy: &Target| targets.program(*proxy).user_and_system_seconds();
    let before: Vec<[f64; 2]> = proxies.iter().map(times).collect();
    let mut costs = vec![Vec::new(); proxies.len()];
    for round in 0..=ROUNDS {
        for (proxy, costs) in proxies.iter().zip(&mut costs) {
            let request = chat_request(load.body_bytes, false, "");
            let (cost, _) = run(targets, *proxy, request, requests, CONCURRENT).await;
            // The first round is a warm-up.
            if round > 0 {
                costs.push(cost);
            }
        }
    }
    let transport = described(targets.transport);
    let figure = format!("CPU s per 10,000 requests, {}{transport}", load.label);
    let mut row = SummaryRow::new(figure, 3);
    for ((proxy, before), costs) in proxies.iter().zip(before).zip(costs) {
        let after = times(proxy);
        // The warm-up counts, too.
        let tens_of_thousands = (requests * (ROUNDS + 1)) as f64 / 10_000.0;
        let [user, system] = [0, 1].map(|part| (after[part] - before[part]) / tens_of_thousands);
        row.push_with(costs, format!(" ({user:.2}, {system:.2})"));
    }
    row
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

/// Sends a request many times on so many connections, or as many streams of [`HTTP2_CONNECTIONS`]: the processor time per 10,000 requests in seconds, and requests per second.
pub async fn run(
    targets: &Targets,
    target: Target,
    request: Vec<u8>,
    requests: usize,
    connections: usize,
) -> (f64, f64) {
    LocalSet::new()
        .run_until(async {
            let connections = open(targets, target, connections).await;
            let (cpu, clock) = (targets.program(target).cpu_seconds(), Instant::now());
            send(connections, request, requests).await;
            let used = targets.program(target).cpu_seconds() - cpu;
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

async fn open(targets: &Targets, target: Target, count: usize) -> Vec<ClientConnection> {
    let address = targets.address(target);
    let mut connections = Vec::new();
    while connections.len() < count {
        if targets.transport == Transport::ClientHttp2 {
            let connection = Http2Connection::open(address).await;
            let shared = (0..count.div_ceil(HTTP2_CONNECTIONS)).map(|_| connection.clone());
            connections.extend(shared.map(ClientConnection::Http2));
        } else {
            connections.push(ClientConnection::Http1(Connection::open(address).await));
        }
    }
    connections
}
