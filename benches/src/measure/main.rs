//! Measures the end-to-end cost of the gateway against a bare Pingora proxy in the same run.
//!
//! Everything runs on this machine over loopback. Rounds alternate between the targets, so that a change of the
//! machine's speed affects both. Figures of one run can be compared with each other, those of two runs cannot.

mod client;
mod cost;
mod filters;
mod process;
mod stall;
mod streams;

use process::{Target, Targets};
use std::path::PathBuf;

fn main() {
    let scale: f64 = std::env::args().nth(1).map_or(1.0, |scale| {
        scale
            .parse()
            .expect("the first argument scales the length of the run")
    });
    // Only the cost of filters is measured then.
    let plugins = std::env::args().nth(2).map(PathBuf::from);
    // The program is in the same folder as this one.
    let programs: PathBuf = std::env::current_exe()
        .expect("a program knows where it is")
        .parent()
        .expect("a program is in a folder")
        .into();
    let targets = Targets::start(&programs, plugins.as_deref());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime can be built");
    println!(
        "target on processor {}, provider and client on {}",
        process::TARGET_CPU,
        process::OTHER_CPU
    );
    runtime.block_on(async {
        filters::measure(&targets, scale).await;
        match &plugins {
            None => {
                cost::measure(&targets, scale).await;
                streams::measure(&targets, scale).await;
            }
            Some(plugins) => stall::measure(&programs, plugins, scale).await,
        }
    });
}

/// The names in the headings of columns.
fn name(target: Target) -> &'static str {
    match target {
        Target::Direct => "direct",
        Target::BarePingora => "bare pingora",
        Target::Headgate => "headgate",
    }
}

/// The median of `values`, which are sorted by this call.
fn median(values: &mut [f64]) -> f64 {
    quantile(values, 0.5)
}

fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    values
        .get((last as f64 * share).round() as usize)
        .copied()
        .unwrap_or(f64::NAN)
}
