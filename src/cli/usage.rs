//! `headgate usage`: what callers, models, channels and runs have used, as a table, as CSV or as lines of JSON.

use super::CommandError;
use super::admin_client::query_value;
use super::admin_pages::AdminConnectionArgs;
use super::usage_run::{run_csv, run_lines, run_table};
use super::usage_table::{csv, table};
use serde_json::Value;
use std::time::Duration;

/// The timeout of the report: a year of a large fleet takes seconds to read.
const TIMEOUT: Duration = Duration::from_secs(60);

#[derive(clap::Args)]
pub struct UsageArgs {
    /// What each row is about
    #[arg(value_enum, default_value_t = UsageSubject::All)]
    subject: UsageSubject,
    /// Name of the run, with `run`
    #[arg(value_name = "RUN", required_if_eq("subject", "run"))]
    run: Option<String>,
    /// First day, such as 2026-11-01 [default: 29 days before the last one]
    #[arg(long, value_name = "DAY")]
    from: Option<String>,
    /// Last day [default: today]
    #[arg(long, value_name = "DAY")]
    to: Option<String>,
    /// Only what this caller has used
    #[arg(long, value_name = "NAME")]
    caller: Option<String>,
    /// Only what was used of this model
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// The form of the output
    #[arg(long, value_enum, default_value_t = UsageFormat::Table)]
    format: UsageFormat,
    #[command(flatten)]
    pages: AdminConnectionArgs,
}

/// What each row is about.
#[derive(Clone, Copy, clap::ValueEnum)]
enum UsageSubject {
    /// A caller, a model and a channel on one day
    All,
    /// A caller
    Callers,
    /// A model
    Models,
    /// A channel
    Channels,
    /// A day
    Days,
    /// A call of a run of an agent, of those that are not forgotten
    Run,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum UsageFormat {
    Table,
    Csv,
    /// An object in each line
    Jsonl,
}

/// Prints the report.
pub fn run(args: &UsageArgs) -> Result<(), CommandError> {
    match (&args.run, args.subject) {
        (Some(name), UsageSubject::Run) => return print_run(args, name),
        (Some(name), _) => {
            let usage =
                format!("error: `{name}` is not expected; write `headgate usage run {name}`");
            return Err(CommandError::new(usage));
        }
        (None, _) => {}
    }
    let path = format!("/usage?{}", args.query());
    let report = args.pages.json_within("GET", &path, TIMEOUT, |_| None)?;
    let groups = report["by"].as_array().into_iter().flatten();
    let groups: Vec<&str> = groups.filter_map(Value::as_str).collect();
    let rows = report["rows"].as_array().map_or(&[][..], Vec::as_slice);
    match args.format {
        UsageFormat::Table => anstream::print!("{}", table(&report, &groups, rows)),
        UsageFormat::Csv => print!("{}", csv(&groups, rows)),
        UsageFormat::Jsonl => rows.iter().for_each(|row| println!("{row}")),
    }
    Ok(())
}

/// Prints a run; its days are those of the run.
fn print_run(args: &UsageArgs, name: &str) -> Result<(), CommandError> {
    let UsageArgs {
        from, to, model, ..
    } = args;
    if from.is_some() || to.is_some() || model.is_some() {
        let reason = "error: a run has no `--from`, `--to` and `--model`; it is shown whole";
        return Err(CommandError::new(reason.to_owned()));
    }
    let caller = args.caller.as_deref();
    let query = caller.map(|caller| format!("?caller={}", query_value(caller)));
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte);
    if !name.bytes().all(is_name) {
        let reason = "error: the name of a run has letters, digits, `.`, `_`, `:` and `-` only";
        return Err(CommandError::new(reason.to_owned()));
    }
    let path = format!("/runs/{name}{}", query.unwrap_or_default());
    let page = args.pages.json_within("GET", &path, TIMEOUT, |_| None)?;
    match args.format {
        UsageFormat::Table => anstream::print!("{}", run_table(&page)),
        UsageFormat::Csv => print!("{}", run_csv(&page)),
        UsageFormat::Jsonl => run_lines(&page).for_each(|line| println!("{line}")),
    }
    Ok(())
}

impl UsageArgs {
    fn query(&self) -> String {
        let by = match self.subject {
            UsageSubject::All => "day,caller,model,channel",
            UsageSubject::Callers => "caller",
            UsageSubject::Models => "model",
            UsageSubject::Channels => "channel",
            UsageSubject::Days | UsageSubject::Run => "day",
        };
        let mut query = format!("by={by}");
        for (name, value) in [
            ("from", &self.from),
            ("to", &self.to),
            ("caller", &self.caller),
            ("model", &self.model),
        ] {
            if let Some(value) = value {
                query += &format!("&{name}={}", query_value(value));
            }
        }
        query
    }
}
