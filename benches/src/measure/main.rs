//! Measures the end-to-end cost of the gateway against a bare Pingora proxy in the same run.
//!
//! `measure [SCALE] [--report FILE] [--plugins FOLDER]` prints tables in Markdown, and writes them into the sections of
//! the report. `SCALE` multiplies the length of each round. With plugins, only the cost of filters is measured.
//!
//! Everything runs on this machine over loopback. Rounds alternate between the targets, so that a change of the
//! machine's speed affects both. Figures of one run can be compared with each other, those of two runs cannot.

mod client;
mod cost;
mod filters;
mod http2_client;
mod process;
mod stall;
mod streams;
mod system_calls;
mod tls;

use headgate_budget::report::publish;
use process::{Target, Targets, Transport};
use std::path::PathBuf;
use tokio::task::LocalSet;

struct Options {
    scale: f64,
    report: Option<PathBuf>,
    plugins: Option<PathBuf>,
}

fn main() {
    let options = Options::from_arguments(std::env::args().skip(1));
    // The programs are in the same folder as this one.
    let programs: PathBuf = std::env::current_exe()
        .expect("a program knows where it is")
        .parent()
        .expect("a program is in a folder")
        .into();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime can be built");
    println!(
        "target on processor {}, provider and client on {}",
        process::TARGET_CPU,
        process::OTHER_CPU
    );
    let measuring = async {
        let scale = options.scale;
        let start = |transport| Targets::start(&programs, options.plugins.as_deref(), transport);
        let targets = start(Transport::Http1);
        let report = options.report.as_deref();
        publish(report, "filters", &filters::measure(&targets, scale).await);
        if let Some(plugins) = &options.plugins {
            println!("\n{}", stall::measure(&programs, plugins, scale).await);
            return;
        }
        let mut costs = cost::measure(&targets, scale).await;
        costs.push_str(&cost::resident(&targets));
        publish(report, "streams", &streams::measure(&targets, scale).await);
        match system_calls::measure(&targets).await {
            Some(calls) => publish(report, "system calls", &calls),
            None => println!("\nsystem calls are not counted: strace is missing or may not attach"),
        }
        drop(targets);
        for transport in [Transport::ClientHttp2, Transport::ProviderHttp2] {
            costs.push_str(&cost::measure(&start(transport), scale).await);
        }
        publish(report, "cpu", &format!("{}{costs}", cost::heading()));
    };
    runtime.block_on(LocalSet::new().run_until(measuring));
}

impl Options {
    fn from_arguments(mut arguments: impl Iterator<Item = String>) -> Self {
        let mut options = Self {
            scale: 1.0,
            report: None,
            plugins: None,
        };
        while let Some(argument) = arguments.next() {
            match &*argument {
                "--report" => options.report = arguments.next().map(PathBuf::from),
                "--plugins" => options.plugins = arguments.next().map(PathBuf::from),
                scale => {
                    options.scale = scale.parse().expect("the scale of the run is a number");
                }
            }
        }
        options
    }
}

/// The names in the headings of columns.
fn name(target: Target) -> &'static str {
    match target {
        Target::Direct => "direct",
        Target::BarePingora => "bare Pingora",
        Target::Headgate => "Headgate",
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
