//! `headgate status`: what the admin pages of a running gateway contain, as text.

use super::admin_address::AdminAddressArgs;
use super::admin_client::{AdminClient, AdminClientAuthArgs};
use super::status_report::{GatewayStatus, StatusAdminPages};
use super::{CommandError, status_usage, style};
use headgate_core::timestamp::utc_date;
use serde_json::Value;
use std::process::ExitCode;
use std::time::SystemTime;

const DEGRADED: u8 = 1;
/// Also the status of wrong arguments: in both cases nothing is known about the gateway.
const NOT_REACHED: u8 = 2;

#[derive(clap::Args)]
pub struct StatusArgs {
    #[command(flatten)]
    address: AdminAddressArgs,
    /// Prints the status as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    request: AdminClientAuthArgs,
}

/// Prints the status; the exit code is for scripts.
pub fn run(args: &StatusArgs) -> ExitCode {
    match report(args) {
        Ok(report) => {
            match args.json {
                true => println!("{}", report.json()),
                false => anstream::print!("{report}"),
            }
            match report.is_fine() {
                true => ExitCode::SUCCESS,
                false => ExitCode::from(DEGRADED),
            }
        }
        Err(error) => {
            style::print_error(&error);
            ExitCode::from(NOT_REACHED)
        }
    }
}

fn report(args: &StatusArgs) -> Result<GatewayStatus, CommandError> {
    let url = args.address.url()?;
    let client = AdminClient {
        url: &url,
        args: &args.request,
    };
    let readiness = client.fetch("GET", "/readyz")?;
    let pages = StatusAdminPages {
        is_ready: readiness.status == 200,
        config: client.json("GET", "/config")?,
        channels: client.json("GET", "/channels")?,
        findings: client.json("GET", "/findings")?,
        usage: used_today(&client)?,
    };
    Ok(GatewayStatus::new(
        &url.to_string(),
        pages,
        SystemTime::now(),
    ))
}

/// What was used since midnight in UTC; `None` from a gateway that does not count it.
fn used_today(client: &AdminClient<'_>) -> Result<Option<Value>, CommandError> {
    let today = utc_date(SystemTime::now());
    let path = format!("/usage?from={today}&{}", status_usage::QUERY);
    let response = client.fetch("GET", &path)?;
    match response.status {
        404 => Ok(None),
        _ => client.json_in(&response, &path).map(Some),
    }
}
