//! Measures what other requests notice of a plugin that never returns: while it uses up its time, and when its breaker has
//! opened.

use super::client::Connection;
use super::quantile;
use super::targets::{PLUGIN_LOOP, Target, TargetSetup, Targets};
use headgate_budget::request::{chat_request, chat_request_to};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::task::LocalSet;
use tokio::time::sleep;

const ROUNDS: usize = 15;
/// Time between two requests of each of the clients, so that the processor has time left.
const PACE: Duration = Duration::from_millis(2);
const CLIENTS: usize = 4;
/// After as many failures the breaker opens.
const FAILURES: usize = 5;
const SETTLED: Duration = Duration::from_millis(800);

/// Microseconds that the others' requests took in each phase.
#[derive(Default)]
struct Phases {
    alone: Vec<f64>,
    failing: Vec<f64>,
    refused: Vec<f64>,
}

/// A table of the latencies.
pub async fn measure(setup: TargetSetup<'_>, scale: f64) -> String {
    let mut phases = Phases::default();
    for _ in 0..((ROUNDS as f64 * scale).ceil() as usize) {
        // A breaker is open for a second at first, so that each round has a new process.
        let targets = Targets::start(setup);
        others(&targets, sleep(SETTLED)).await;
        phases.alone.extend(others(&targets, sleep(SETTLED)).await);
        let failing = others(&targets, hostile(&targets, FAILURES));
        phases.failing.extend(failing.await);
        let refused = others(&targets, hostile(&targets, 40));
        phases.refused.extend(refused.await);
    }
    let mut table = format!(
        "A plugin that never returns: microseconds of other requests on the same worker, {CLIENTS} clients, {ROUNDS} starts.

| | p50 | p99 | requests |
|---|---|---|---|
"
    );
    for (name, mut micros) in [
        ("without such requests", phases.alone),
        ("until the breaker opens", phases.failing),
        ("after it has opened", phases.refused),
    ] {
        let (p50, p99) = (quantile(&mut micros, 0.5), quantile(&mut micros, 0.99));
        let count = micros.len();
        table.push_str(&format!("| {name} | {p50:.0} | {p99:.0} | {count} |\n"));
    }
    table
}

/// Sends requests to the plugin, one after the other.
async fn hostile(targets: &Targets, count: usize) {
    let request = chat_request_to(PLUGIN_LOOP, 1 << 10, false, "");
    for _ in 0..count {
        // The gateway closes the connection of a request that it refuses before it has read the body.
        let mut connection = Connection::open(targets.address(Target::Headgate)).await;
        connection.refused(&request).await;
        sleep(PACE * 5).await;
    }
}

/// The latencies of other requests while `meanwhile` runs.
async fn others(targets: &Targets, meanwhile: impl Future<Output = ()>) -> Vec<f64> {
    let request = Rc::new(chat_request(1 << 10, false, ""));
    let micros = Rc::new(RefCell::new(Vec::new()));
    let clients = LocalSet::new();
    for _ in 0..CLIENTS {
        let mut connection = Connection::open(targets.address(Target::Headgate)).await;
        let (request, micros) = (request.clone(), micros.clone());
        clients.spawn_local(async move {
            loop {
                let began = Instant::now();
                connection.exchange(&request).await;
                let took = began.elapsed().as_secs_f64() * 1e6;
                micros.borrow_mut().push(took);
                sleep(PACE).await;
            }
        });
    }
    clients.run_until(meanwhile).await;
    micros.take()
}
