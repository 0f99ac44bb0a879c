//! `headgate diff`: what changes from one configuration to another, and for which requests.

mod change;
mod files;
mod settings;

use super::comparable_plan::{ComparableRequestPlan, PlannedOutcome};
use super::plan_changes::{RequestPlanChange, plan_changes};
use super::progress::ProgressLine;
use super::request_file::{self, RecordedRequest, SampleOrLogLine};
use super::style::{self, styled};
use super::{CommandError, logged_plan, offline_config};
use crate::features::FEATURES;
use change::{SettingChange, SettingGroup};
use headgate_config as config;
use headgate_config::ComparableConfig;
use headgate_config::problem::InvalidConfig;
use headgate_config::reload::running::StartupSettings;
use headgate_config::snapshot::{CrossSnapshotState, Snapshot, feature_schemas};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const EXAMPLE: &str = "\
Example:
  headgate diff routes.yaml routes.new.yaml --requests samples.jsonl

A line of samples.jsonl:
  {\"path\": \"/v1/chat/completions\", \"caller\": \"me\", \"body\": {\"model\": \"fast\", \"messages\": []}}

Exit status: 0 no difference, 1 differences, 2 a file cannot be read or is invalid.";

#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub struct DiffArgs {
    /// Path of the configuration in use.
    old: PathBuf,
    /// Path of the other configuration.
    new: PathBuf,
    /// File of requests to dry-run with both: sample requests or access-log lines, one JSON object per line, or a HAR
    /// file.
    #[arg(long, value_name = "FILE")]
    requests: Option<PathBuf>,
    /// Name of the caller of requests that have neither a caller nor a key.
    #[arg(long)]
    caller: Option<String>,
    /// The number of differing requests that are printed.
    #[arg(long, default_value_t = 20, value_name = "N")]
    show: usize,
}

/// One of the two configurations.
struct ConfigSide {
    config: ComparableConfig,
    snapshot: Snapshot,
    folder: PathBuf,
}

/// Prints the differences; returns whether there are any.
pub fn run(args: &DiffArgs) -> Result<bool, CommandError> {
    let old = ConfigSide::read(&args.old)?;
    let new = ConfigSide::read(&args.new)?;
    let requests = match &args.requests {
        Some(file) => request_file::read(file)?,
        None => Vec::new(),
    };
    let mut changes = settings::compare(&old, &new, &needing_restart(&old, &new));
    changes.extend(files::compare(&old, &new));
    print_settings(&changes);
    let differing = match requests.is_empty() {
        true => 0,
        false => {
            println!();
            compare_requests(args, &old.snapshot, &new.snapshot, &requests)?
        }
    };
    Ok(!changes.is_empty() || differing > 0)
}

impl ConfigSide {
    fn read(file: &Path) -> Result<Self, InvalidConfig> {
        let variables = CrossSnapshotState::new(FEATURES).variables;
        let snapshot = offline_config::build(file)?;
        Ok(Self {
            config: config::load_comparable(file, &feature_schemas(FEATURES), &*variables)?,
            snapshot,
            folder: file.parent().unwrap_or(Path::new("")).to_owned(),
        })
    }
}

/// The settings that differ and that no reload applies.
fn needing_restart(old: &ConfigSide, new: &ConfigSide) -> Vec<&'static str> {
    let running = StartupSettings {
        server: old.snapshot.server.clone(),
        spooling: old.snapshot.spooling.clone(),
        state: old.snapshot.state.clone(),
        listeners: OnceLock::new(),
    };
    running.needing_restart(&new.snapshot)
}

fn print_settings(changes: &[SettingChange]) {
    if changes.is_empty() {
        println!("configuration: no differences");
    }
    for group in SettingGroup::ALL {
        let mut lines = changes.iter().filter(|change| change.group == group);
        let Some(first) = lines.next() else {
            continue;
        };
        anstream::println!("{}", styled(style::STRONG, group.title()));
        for change in std::iter::once(first).chain(lines) {
            println!("  {}", change.text);
        }
    }
}

/// Prints the requests for which something differs; returns their number.
fn compare_requests(
    args: &DiffArgs,
    old: &Snapshot,
    new: &Snapshot,
    requests: &[RecordedRequest],
) -> Result<usize, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let caller = args.caller.as_deref();
    let mut differing = Vec::new();
    let mut not_judged = 0;
    let mut progress = ProgressLine::new("compared", requests.len());
    for (done, request) in requests.iter().enumerate() {
        progress.update(done);
        let plans = runtime.block_on(async {
            (
                plan(old, request, caller).await,
                plan(new, request, caller).await,
            )
        });
        if let PlannedOutcome::NotJudged(_) = plans.1.outcome {
            not_judged += 1;
        }
        let changes = plan_changes(&plans.0, &plans.1);
        if !changes.is_empty() {
            differing.push((request, changes));
        }
    }
    drop(progress);
    let count = requests.len();
    match differing.len() {
        0 => println!("requests: no differences in {count}"),
        some => println!("requests: {some} of {count} differ"),
    }
    if not_judged > 0 {
        println!("  {not_judged} judged by their route only: access-log lines have no bodies");
    }
    for (request, changes) in differing.iter().take(args.show) {
        print_request(request, changes);
    }
    let more = differing.len().saturating_sub(args.show);
    if more > 0 {
        println!("  {more} more; --show {} prints all", differing.len());
    }
    Ok(differing.len())
}

async fn plan(
    snapshot: &Snapshot,
    request: &RecordedRequest,
    caller: Option<&str>,
) -> ComparableRequestPlan {
    match &request.content {
        SampleOrLogLine::Whole(sample, _) => {
            ComparableRequestPlan::for_sample(snapshot, sample, caller).await
        }
        SampleOrLogLine::LogLine(line) => logged_plan::plan(snapshot, line, caller),
    }
}

fn print_request(request: &RecordedRequest, changes: &[RequestPlanChange]) {
    println!("  {}: {}", request.place, request.title());
    for RequestPlanChange { aspect, text } in changes {
        println!("    {aspect:<9} {text}");
    }
}
