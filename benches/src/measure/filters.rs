//! Measures what one more filter costs: a condition, an edit, a callout, a cache hit, or a plugin, beside the same route
//! without.

use super::cost::{CONCURRENT, run};
use super::median;
use super::targets::{Target, Targets};
use headgate_budget::request::{CHAT, chat_request_to};
use headgate_budget::setup::{
    CACHE, CALLOUT, CONDITION, EDIT, PLUGIN_ON_BODIES, PLUGIN_ON_HEADERS,
};

const ROUNDS: usize = 7;
const REQUESTS: usize = 4_000;
/// The events of a stream.
const EVENTS: usize = 100;

/// A request whose cost is measured.
struct Row {
    name: &'static str,
    path: &'static str,
    body_bytes: usize,
    is_stream: bool,
    /// Index of the row that it is compared with.
    reference: usize,
}

const ROWS: &[Row] = &[
    row("no further filter, 1 KB", CHAT, 1 << 10, 0),
    row("a condition, 1 KB", CONDITION, 1 << 10, 0),
    row("a callout, 1 KB", CALLOUT, 1 << 10, 0),
    row("a cache hit, 1 KB", CACHE, 1 << 10, 0),
    row("no further filter, 16 KB", CHAT, 16 << 10, 4),
    row("a JSON edit, 16 KB", EDIT, 16 << 10, 4),
];

const PLUGIN_ROWS: &[Row] = &[
    row("no plugin, 1 KB", CHAT, 1 << 10, 0),
    row("a plugin on headers, 1 KB", PLUGIN_ON_HEADERS, 1 << 10, 0),
    row("no plugin, 16 KB", CHAT, 16 << 10, 2),
    row("a plugin on bodies, 16 KB", PLUGIN_ON_BODIES, 16 << 10, 2),
    stream("no plugin, 100 events", CHAT, 4),
    stream("a plugin on 100 events", PLUGIN_ON_BODIES, 4),
];

const fn row(name: &'static str, path: &'static str, body_bytes: usize, reference: usize) -> Row {
    Row {
        name,
        path,
        body_bytes,
        is_stream: false,
        reference,
    }
}

const fn stream(name: &'static str, path: &'static str, reference: usize) -> Row {
    Row {
        is_stream: true,
        ..row(name, path, 1 << 10, reference)
    }
}

/// A table with a line for each request.
pub async fn measure(targets: &Targets, scale: f64) -> String {
    let rows = match targets.has_plugins {
        true => PLUGIN_ROWS,
        false => ROWS,
    };
    let requests = ((REQUESTS as f64 * scale) as usize).max(100);
    let mut costs = vec![Vec::new(); rows.len()];
    for round in 0..=ROUNDS {
        for (index, row) in rows.iter().enumerate() {
            let (directives, requests) = match row.is_stream {
                true => (format!("events={EVENTS}"), requests / 10),
                false => (String::new(), requests),
            };
            let request = chat_request_to(row.path, row.body_bytes, row.is_stream, &directives);
            let (cost, _) = run(targets, Target::Headgate, request, requests, CONCURRENT).await;
            // The first round is a warm-up.
            if round > 0 {
                costs[index].push(cost * 100.0);
            }
        }
    }
    let medians: Vec<f64> = costs.iter_mut().map(|costs| median(costs)).collect();
    let mut table = format!(
        "Microseconds of processor time for each request, medians of {ROUNDS} alternating rounds.

| | CPU, µs | more than without |
|---|---|---|
"
    );
    for (index, row) in rows.iter().enumerate() {
        let (cost, before) = (medians[index], medians[row.reference]);
        let more = match index == row.reference {
            true => String::new(),
            false => format!("{:+.1}", cost - before),
        };
        table.push_str(&format!("| {} | {cost:.1} | {more} |\n", row.name));
    }
    table
}
