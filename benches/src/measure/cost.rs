//! Measures processor time per 10,000 requests, and requests per second, for chat bodies of several sizes.

use super::client::Connection;
use super::process::{Target, Targets};
use super::{median, name};
use headgate_budget::request::chat_request;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

const ROUNDS: usize = 7;
const CONNECTIONS: usize = 32;
/// Name, body size, and requests per round.
const LOADS: &[(&str, usize, usize)] = &[
    ("1 KB", 1 << 10, 10_000),
    ("16 KB", 16 << 10, 8_000),
    ("1 MB", 1 << 20, 400),
];

pub async fn measure(targets: &Targets, scale: f64) {
    println!(
        "\nCPU seconds per 10,000 requests (median of {ROUNDS} alternating rounds), requests a second on one processor"
    );
    for (label, body_bytes, requests) in LOADS {
        let requests = ((*requests as f64 * scale) as usize).max(CONNECTIONS);
        let mut costs = [Vec::new(), Vec::new()];
        let mut rates = [Vec::new(), Vec::new()];
        let measured = [Target::BarePingora, Target::Headgate];
        let before = measured.map(|target| targets.user_and_system_seconds(target));
        for round in 0..=ROUNDS {
            for (index, target) in measured.into_iter().enumerate() {
                let request = chat_request(*body_bytes, false, "");
                let (cost, rate) = run(targets, target, request, requests).await;
                // The first round is a warm-up.
                if round > 0 {
                    costs[index].push(cost);
                    rates[index].push(rate);
                }
            }
        }
        let mut ratios: Vec<f64> = costs[1]
            .iter()
            .zip(&costs[0])
            .map(|(ours, bare)| ours / bare)
            .collect();
        let ratio = median(&mut ratios);
        for (index, target) in measured.into_iter().enumerate() {
            let after = targets.user_and_system_seconds(target);
            // The warm-up counts, too.
            let tens_of_thousands = (requests * (ROUNDS + 1)) as f64 / 10_000.0;
            let [user, system] =
                [0, 1].map(|part| (after[part] - before[index][part]) / tens_of_thousands);
            println!(
                "  {label:>5}  {:<12}  {:.3} s/10k (user {user:.3}, system {system:.3})  {:>6.0} req/s",
                name(target),
                median(&mut costs[index]),
                median(&mut rates[index])
            );
        }
        println!(
            "  {label:>5}  headgate / bare pingora = {ratio:.2} x ({:.2}..{:.2})",
            ratios[0],
            ratios[ratios.len() - 1]
        );
    }
    for target in [Target::BarePingora, Target::Headgate] {
        println!(
            "  resident after the load: {:<12} {:.1} MiB",
            name(target),
            targets.resident_mib(target)
        );
    }
}

/// Sends a request many times: the processor time per 10,000 requests in seconds, and requests per second.
pub async fn run(
    targets: &Targets,
    target: Target,
    request: Vec<u8>,
    requests: usize,
) -> (f64, f64) {
    let request = Rc::new(request);
    let left = Rc::new(Cell::new(requests));
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        connections.push(Connection::open(targets.address(target)).await);
    }
    let (cpu, clock) = (targets.cpu_seconds(target), Instant::now());
    tokio::task::LocalSet::new()
        .run_until(async {
            let tasks: Vec<_> = connections
                .into_iter()
                .map(|mut connection| {
                    let (request, left) = (request.clone(), left.clone());
                    tokio::task::spawn_local(async move {
                        while left.get() > 0 {
                            left.set(left.get() - 1);
                            connection.exchange(&request).await;
                        }
                    })
                })
                .collect();
            for task in tasks {
                task.await.expect("every answer was right");
            }
        })
        .await;
    let used = targets.cpu_seconds(target) - cpu;
    (
        used * 10_000.0 / requests as f64,
        requests as f64 / clock.elapsed().as_secs_f64(),
    )
}
