//! `headgate status`: what the admin pages of a running gateway contain, in words.

use super::CommandError;
use super::admin_client::{AdminClient, AdminRequestArgs, AdminUrl};
use super::status_report::GatewayStatus;
use crate::snapshot::{self, SharedState};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

const DEFAULT_ADMIN: &str = "127.0.0.1:9091";
const DEGRADED: u8 = 1;
/// Also the status of wrong arguments: in both cases nothing is known about the gateway.
const NOT_REACHED: u8 = 2;

#[derive(clap::Args)]
pub struct StatusArgs {
    /// Address of the gateway's admin pages [default: 127.0.0.1:9091]
    #[arg(long, value_name = "URL")]
    admin: Option<AdminUrl>,
    /// Configuration file whose `server.admin` is the address.
    #[arg(long, short, conflicts_with = "admin")]
    config: Option<PathBuf>,
    /// Prints the status as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    request: AdminRequestArgs,
}

/// Prints the status; the exit code is for scripts.
pub fn run(args: &StatusArgs) -> ExitCode {
    match report(args) {
        Ok(report) => {
            match args.json {
                true => println!("{}", report.json()),
                false => print!("{report}"),
            }
            match report.is_fine() {
                true => ExitCode::SUCCESS,
                false => ExitCode::from(DEGRADED),
            }
        }
        Err(CommandError { message }) => {
            eprintln!("{}", message.trim_end());
            ExitCode::from(NOT_REACHED)
        }
    }
}

fn report(args: &StatusArgs) -> Result<GatewayStatus, CommandError> {
    let url = match (&args.admin, &args.config) {
        (Some(url), _) => url.clone(),
        (None, Some(file)) => configured_url(file)?,
        (None, None) => DEFAULT_ADMIN.parse().map_err(CommandError::new)?,
    };
    let client = AdminClient {
        url: &url,
        args: &args.request,
    };
    let readiness = client.fetch("GET", "/readyz")?;
    let config = client.json("GET", "/config")?;
    let channels = client.json("GET", "/channels")?;
    Ok(GatewayStatus::new(
        &url.to_string(),
        readiness.status == 200,
        config,
        channels,
        SystemTime::now(),
    ))
}

/// `server.admin` of a file. A gateway also runs while its file has an error, so that the rest of the file need not be
/// valid.
fn configured_url(file: &Path) -> Result<AdminUrl, CommandError> {
    let with_hint = |reason: String| {
        let file = file.display();
        CommandError::new(format!(
            "error: {reason}\n  {file} does not have the address of the admin pages; give it with --admin URL"
        ))
    };
    let (admin, is_tls) = match snapshot::build(file, &SharedState::default()) {
        Ok(built) => {
            let server = built.snapshot.server;
            (server.admin, server.admin_tls.is_some())
        }
        Err(_) => {
            let text =
                std::fs::read_to_string(file).map_err(|error| with_hint(error.to_string()))?;
            let parsed = serde_saphyr::from_str::<Value>(&text);
            let server = parsed.map_or(Value::Null, |mut config| config["server"].take());
            let admin = server["admin"].as_str().unwrap_or(DEFAULT_ADMIN);
            (admin.to_owned(), server["admin_tls"].is_object())
        }
    };
    if admin.ends_with(":0") {
        return Err(with_hint(
            "`server.admin` has port 0, so its port is not known".into(),
        ));
    }
    let url: AdminUrl = admin.parse().map_err(with_hint)?;
    Ok(AdminUrl { is_tls, ..url })
}
