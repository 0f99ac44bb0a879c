//! Measures the latency that a proxy adds at a fixed rate of requests, which is far from its limit.

use super::client::Connection;
use super::quantile;
use super::summary::SummaryRow;
use super::targets::{Target, Targets};
use headgate_budget::request::chat_request;
use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::task::LocalSet;
use tokio::time::interval;

const ROUNDS: usize = 5;
const PER_SECOND: usize = 200;
/// Requests of a round to each of the two that it compares.
const REQUESTS: usize = 800;
/// Connections that are open before the first request.
const CONNECTIONS: usize = 8;

/// Connections to one address, and how long its requests took.
struct RateClient {
    address: SocketAddr,
    idle: RefCell<Vec<Connection>>,
    micros: RefCell<Vec<f64>>,
}

/// Two lines: the added microseconds at the median and at the 99th percentile.
pub async fn measure(targets: &Targets, scale: f64) -> [SummaryRow; 2] {
    let requests = ((REQUESTS as f64 * scale) as usize).max(PER_SECOND / 2);
    let mut added = vec![[Vec::new(), Vec::new()]; targets.proxies().len()];
    for round in 0..=ROUNDS {
        for (proxy, added) in targets.proxies().iter().zip(&mut added) {
            let [mut direct, mut proxied] = latencies(targets, *proxy, requests).await;
            // The first round is a warm-up.
            if round > 0 {
                for (added, share) in added.iter_mut().zip([0.5, 0.99]) {
                    added.push(quantile(&mut proxied, share) - quantile(&mut direct, share));
                }
            }
        }
    }
    let mut rows = ["p50", "p99"].map(|percentile| {
        let figure = format!("latency added at {PER_SECOND} requests/s, 1 KB, {percentile}, µs");
        SummaryRow::new(figure, 0)
    });
    for added in added {
        for (row, added) in rows.iter_mut().zip(added) {
            row.push(added);
        }
    }
    rows
}

/// The latencies of requests to the provider, and to it by way of a proxy, in turn.
async fn latencies(targets: &Targets, proxy: Target, requests: usize) -> [Vec<f64>; 2] {
    let request = Rc::new(chat_request(1 << 10, false, ""));
    let clients = [Target::Direct, proxy].map(|target| Rc::new(RateClient::new(targets, target)));
    let measuring = async {
        for client in &clients {
            client.warm_up(&request).await;
        }
        let mut times = interval(Duration::from_secs(1) / (2 * PER_SECOND) as u32);
        let mut exchanges = Vec::new();
        for client in clients.iter().cycle().take(2 * requests) {
            times.tick().await;
            // Open loop: a late response delays no later request.
            let (client, request) = (client.clone(), request.clone());
            let exchange = async move { client.exchange(&request).await };
            exchanges.push(tokio::task::spawn_local(exchange));
        }
        for exchange in exchanges {
            exchange.await.expect("every answer was right");
        }
    };
    LocalSet::new().run_until(measuring).await;
    clients.map(|client| client.micros.take())
}

impl RateClient {
    fn new(targets: &Targets, target: Target) -> Self {
        Self {
            address: targets.address(target),
            idle: RefCell::default(),
            micros: RefCell::default(),
        }
    }

    async fn warm_up(&self, request: &[u8]) {
        for _ in 0..CONNECTIONS {
            let mut connection = Connection::open(self.address).await;
            connection.exchange(request).await;
            self.idle.borrow_mut().push(connection);
        }
    }

    /// Sends a request on an idle connection, or on a new one if there is none.
    async fn exchange(&self, request: &[u8]) {
        let idle = self.idle.borrow_mut().pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => Connection::open(self.address).await,
        };
        let began = Instant::now();
        connection.exchange(request).await;
        let micros = began.elapsed().as_secs_f64() * 1e6;
        self.micros.borrow_mut().push(micros);
        self.idle.borrow_mut().push(connection);
    }
}
