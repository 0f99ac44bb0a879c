//! Measures the end-to-end cost of the gateway against a bare Pingora proxy in the same run.
//!
//! `measure [SCALE] [--programs FOLDER] [--report FILE] [--plugins FOLDER]` prints tables in Markdown, and writes them into
//! the sections of the report. `SCALE` multiplies the length of each round. The measured programs are in the folder of this
//! one, if no other is given. With plugins, only the cost of filters is measured.
//!
//! Everything runs on this machine over loopback. Rounds alternate between the targets, so that a change of the
//! machine's speed affects both. Figures of one run can be compared with each other, those of two runs cannot.

mod client;
mod cost;
mod filters;
mod http2_client;
mod memory;
mod nginx;
mod process;
mod rate;
mod stall;
mod streams;
mod summary;
mod system_calls;
mod targets;
mod tls;
mod workers;

use headgate_budget::report::publish;
use std::path::PathBuf;
use targets::{TargetSetup, Targets, Transport};
use tokio::task::LocalSet;

struct Options {
    scale: f64,
    programs: PathBuf,
    report: Option<PathBuf>,
    plugins: Option<PathBuf>,
}

fn main() {
    let options = Options::from_arguments(std::env::args().skip(1));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime can be built");
    println!(
        "target on processor {}, provider and client on {}",
        targets::TARGET_CPU,
        targets::OTHER_CPU
    );
    let measuring = async {
        match options.plugins {
            Some(_) => measure_plugins(&options).await,
            None => measure(&options).await,
        }
    };
    runtime.block_on(LocalSet::new().run_until(measuring));
}

async fn measure_plugins(options: &Options) {
    let setup = options.setup(Transport::Http1);
    let filters = filters::measure(&Targets::start(setup), options.scale).await;
    println!(
        "\n{filters}\n{}",
        stall::measure(setup, options.scale).await
    );
}

async fn measure(options: &Options) {
    if !nginx::is_installed() {
        println!("nginx is not measured: install it, for example by `apt-get install nginx-light`");
    }
    let (report, scale) = (options.report.as_deref(), options.scale);
    let start = |transport| Targets::start(options.setup(transport));
    // Programs that have had no load.
    let memory = memory::measure(&start(Transport::Http1)).await;
    let targets = start(Transport::Http1);
    publish(report, "filters", &filters::measure(&targets, scale).await);
    let mut rows = cost::measure(&targets, scale).await;
    let resident = cost::resident(&targets);
    let added = rate::measure(&targets, scale).await;
    let (first_events, all_events) = streams::measure(&targets, scale).await;
    publish(report, "streams", &all_events);
    match system_calls::measure(&targets).await {
        Some(calls) => publish(report, "system calls", &calls),
        None => println!("\nsystem calls are not counted: strace is missing or may not attach"),
    }
    drop(targets);
    for transport in [Transport::ClientHttp2, Transport::ProviderHttp2] {
        rows.extend(cost::measure(&start(transport), scale).await);
    }
    rows.extend(added.into_iter().chain(first_events).chain(memory));
    rows.push(resident);
    let setup = options.setup(Transport::Http1);
    publish(report, "workers", &workers::measure(setup, scale).await);
    publish(report, "summary", &summary::table(&rows));
}

impl Options {
    fn from_arguments(mut arguments: impl Iterator<Item = String>) -> Self {
        let own = std::env::current_exe().expect("a program knows where it is");
        let mut options = Self {
            scale: 1.0,
            programs: own.parent().expect("a program is in a folder").into(),
            report: None,
            plugins: None,
        };
        while let Some(argument) = arguments.next() {
            let mut folder = || arguments.next().map(PathBuf::from);
            match &*argument {
                "--programs" => options.programs = folder().expect("a folder follows"),
                "--report" => options.report = folder(),
                "--plugins" => options.plugins = folder(),
                scale => {
                    options.scale = scale.parse().expect("the scale of the run is a number");
                }
            }
        }
        options
    }

    fn setup(&self, transport: Transport) -> TargetSetup<'_> {
        TargetSetup {
            programs: &self.programs,
            plugins: self.plugins.as_deref(),
            transport,
            workers: 1,
        }
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
