//! `headgate usage`: what callers, models and channels have used, as a table, as CSV or as lines of JSON.

use super::CommandError;
use super::admin_client::query_value;
use super::admin_pages::AdminConnectionArgs;
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

impl UsageArgs {
    fn query(&self) -> String {
        let by = match self.subject {
            UsageSubject::All => "day,caller,model,channel",
            UsageSubject::Callers => "caller",
            UsageSubject::Models => "model",
            UsageSubject::Channels => "channel",
            UsageSubject::Days => "day",
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
