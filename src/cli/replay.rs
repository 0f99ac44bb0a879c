//! `headgate replay`: dry-runs recorded requests with a configuration, and compares with the recorded outcomes.

mod judgement;

use super::comparable_plan::ComparableRequestPlan;
use super::config_file::ConfigFileOptionArgs;
use super::progress::ProgressLine;
use super::request_file::{self, RecordedRequest, SampleOrLogLine};
use super::style::{self, styled};
use super::{CommandError, logged_plan, offline_config};
use headgate_config::snapshot::Snapshot;
use judgement::{RecordedEnd, ReplayJudgement};
use std::collections::BTreeMap;
use std::path::PathBuf;

const EXAMPLE: &str = "\
Example:
  headgate replay access.log --config routes.new.yaml

Exit status: 0 nothing differs, 1 requests differ, 2 a file cannot be read or is invalid.";

#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub struct ReplayArgs {
    /// File of recorded requests: access-log lines or sample requests, one JSON object per line, or a HAR file; `-` reads the standard input.
    file: PathBuf,
    #[command(flatten)]
    config: ConfigFileOptionArgs,
    /// Name of the caller of requests that have neither a caller nor a key.
    #[arg(long)]
    caller: Option<String>,
    /// The number of differing requests that are printed.
    #[arg(long, default_value_t = 10, value_name = "N")]
    show: usize,
}

/// A request that does not end as it was recorded.
struct ReplayDifference<'a> {
    request: &'a RecordedRequest,
    recorded: String,
    now: String,
}

/// What became of all requests.
#[derive(Default)]
struct ReplaySummary<'a> {
    /// By outcome: the number of requests, and of those that differ.
    outcomes: BTreeMap<String, (usize, usize)>,
    same: usize,
    differing: Vec<ReplayDifference<'a>>,
    /// Requests that cannot be compared, by the reason.
    not_judged: BTreeMap<&'static str, usize>,
}

/// Prints the outcomes of the requests; returns whether any differs.
pub fn run(args: &ReplayArgs) -> Result<bool, CommandError> {
    let snapshot = offline_config::build(&args.config.path())?;
    let requests = request_file::read(&args.file)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut summary = ReplaySummary::default();
    let mut progress = ProgressLine::new("compared", requests.len());
    for (done, request) in requests.iter().enumerate() {
        progress.update(done);
        let (plan, end) = runtime.block_on(plan(&snapshot, request, args.caller.as_deref()));
        summary.add(request, &plan, &end);
    }
    drop(progress);
    print_basis(&requests);
    summary.print(args.show);
    Ok(!summary.differing.is_empty())
}

async fn plan<'r>(
    snapshot: &Snapshot,
    request: &'r RecordedRequest,
    caller: Option<&str>,
) -> (ComparableRequestPlan, RecordedEnd<'r>) {
    match &request.content {
        SampleOrLogLine::Whole(sample, status) => {
            let plan = ComparableRequestPlan::for_sample(snapshot, sample, caller).await;
            (plan, RecordedEnd::Status(*status))
        }
        SampleOrLogLine::LogLine(line) => {
            let plan = logged_plan::plan(snapshot, line, caller);
            (plan, RecordedEnd::Line(line))
        }
    }
}

/// Prints what the requests can be judged by.
fn print_basis(requests: &[RecordedRequest]) {
    let is_line =
        |request: &&RecordedRequest| matches!(request.content, SampleOrLogLine::LogLine(_));
    let lines = requests.iter().filter(is_line).count();
    let whole = requests.len() - lines;
    if lines > 0 {
        println!(
            "{lines} access-log lines: they have no headers and bodies, so route, caller, model and channels are judged"
        );
    }
    if whole > 0 {
        println!("{whole} whole requests: all filters of the request are judged");
    }
    println!("limits, idempotency keys and the health of channels are not judged");
}

impl<'a> ReplaySummary<'a> {
    fn add(
        &mut self,
        request: &'a RecordedRequest,
        plan: &ComparableRequestPlan,
        end: &RecordedEnd<'_>,
    ) {
        let counts = self.outcomes.entry(plan.outcome.class()).or_default();
        counts.0 += 1;
        match judgement::judge(plan, end) {
            ReplayJudgement::Same => self.same += 1,
            ReplayJudgement::NotJudged(reason) => {
                *self.not_judged.entry(reason).or_default() += 1;
            }
            ReplayJudgement::Differs { recorded, now } => {
                counts.1 += 1;
                self.differing.push(ReplayDifference {
                    request,
                    recorded,
                    now,
                });
            }
        }
    }

    fn print(&self, show: usize) {
        println!();
        println!("same        {}", self.same);
        let style = match self.differing.len() {
            0 => style::GOOD,
            _ => style::WARNING,
        };
        let differing = styled(style, self.differing.len());
        anstream::println!("different   {differing}");
        for (reason, count) in &self.not_judged {
            println!("not judged  {count}: {reason}");
        }
        println!();
        println!("{:<44} {:>8} {:>9}", "outcome", "requests", "different");
        for (outcome, (count, differing)) in &self.outcomes {
            println!("{outcome:<44} {count:>8} {differing:>9}");
        }
        if self.differing.is_empty() {
            return;
        }
        println!();
        for difference in self.differing.iter().take(show) {
            let ReplayDifference {
                request,
                recorded,
                now,
            } = difference;
            println!("{}: {}", request.place, request.title());
            println!("  was {recorded}");
            println!("  now {now}");
        }
        let more = self.differing.len().saturating_sub(show);
        if more > 0 {
            println!("{more} more; --show {} prints all", self.differing.len());
        }
    }
}
