//! Measures what one more filter costs: a condition, an edit, a callout, and a cache hit, beside the same route without.

use super::cost::run;
use super::median;
use super::process::{Target, Targets};
use headgate_budget::request::{CHAT, chat_request_to};
use headgate_budget::setup::{CACHE, CALLOUT, CONDITION, EDIT};

const ROUNDS: usize = 7;
const REQUESTS: usize = 4_000;
/// Name, path, body size, and the row that it is compared with.
const ROUTES: &[(&str, &str, usize, usize)] = &[
    ("no further filter, 1 KB", CHAT, 1 << 10, 0),
    ("a condition, 1 KB", CONDITION, 1 << 10, 0),
    ("a callout, 1 KB", CALLOUT, 1 << 10, 0),
    ("a cache hit, 1 KB", CACHE, 1 << 10, 0),
    ("no further filter, 16 KB", CHAT, 16 << 10, 4),
    ("a JSON edit, 16 KB", EDIT, 16 << 10, 4),
];

pub async fn measure(targets: &Targets, scale: f64) {
    println!(
        "\nFilters: microseconds of processor time for each request (median of {ROUNDS} alternating rounds), requests a second on one processor"
    );
    let requests = ((REQUESTS as f64 * scale) as usize).max(100);
    let mut costs = vec![Vec::new(); ROUTES.len()];
    let mut rates = vec![Vec::new(); ROUTES.len()];
    for round in 0..=ROUNDS {
        for (index, (_, path, body_bytes, _)) in ROUTES.iter().enumerate() {
            let request = chat_request_to(path, *body_bytes, false, "");
            let (cost, rate) = run(targets, Target::Headgate, request, requests).await;
            // The first round is a warm-up.
            if round > 0 {
                costs[index].push(cost * 100.0);
                rates[index].push(rate);
            }
        }
    }
    let medians: Vec<f64> = costs.iter_mut().map(|costs| median(costs)).collect();
    for (index, (name, _, _, reference)) in ROUTES.iter().enumerate() {
        let (cost, before) = (medians[index], medians[*reference]);
        println!(
            "  {name:<26} {cost:>6.1} us  {:>+7.1} us  {:>6.0} req/s",
            cost - before,
            median(&mut rates[index])
        );
    }
}
