//! `headgate log-filter`: prints and changes the filter of the process log of a running gateway.

use super::admin_address::AdminAddressArgs;
use super::admin_client::{AdminClient, AdminClientAuthArgs, query_value};
use super::{CommandError, examples};
use serde_json::Value;

#[derive(clap::Args)]
#[command(after_help = examples::LOG_FILTER)]
pub struct LogFilterArgs {
    /// The new filter: a level (off, error, warn, info, debug, trace), targets with levels, or `usual` for that of
    /// RUST_LOG [default: the filter in use is printed]
    filter: Option<String>,
    /// The usual filter comes back after so many seconds, 1 to 86400 [default: when the process ends]
    #[arg(long, value_name = "N", requires = "filter")]
    seconds: Option<u64>,
    #[command(flatten)]
    address: AdminAddressArgs,
    #[command(flatten)]
    request: AdminClientAuthArgs,
}

pub fn run(args: &LogFilterArgs) -> Result<(), CommandError> {
    let admin = AdminClient {
        url: &args.address.url()?,
        args: &args.request,
    };
    let page = match &args.filter {
        None => admin.json("GET", "/log-filter")?,
        Some(filter) => {
            let seconds = args.seconds.map(|seconds| format!("&seconds={seconds}"));
            let seconds = seconds.unwrap_or_default();
            let path = format!("/log-filter?filter={}{seconds}", query_value(filter));
            admin.json("POST", &path)?
        }
    };
    print_filter(&page);
    Ok(())
}

/// The filter in use, and if it was changed, until when and what it usually is.
fn print_filter(page: &Value) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    println!("{}", text(&page["filter"]));
    let change = &page["change"];
    if change.is_object() {
        let until = match change["until"].as_str() {
            Some(until) => format!("until {until}"),
            None => "until the process ends".to_owned(),
        };
        eprintln!("changed {until}; usually {}", text(&page["usual"]));
    }
}
