//! `headgate top`: what a running gateway does, in the terminal, updated every second.

use super::admin_address::AdminAddressArgs;
use super::admin_client::{AdminClient, AdminClientAuthArgs, AdminUrl};
use super::{CommandError, style};
use anstream::ColorChoice;
use headgate_top::{AdminPageError, AdminPageSource, TopPalette};
use serde_json::Value;
use std::io;
use std::process::ExitCode;

/// The exit code if the admin pages cannot be read; also that of wrong arguments.
const NOT_READ: u8 = 2;
const TOO_MANY_REQUESTS: u16 = 429;

#[derive(clap::Args)]
pub struct TopArgs {
    #[command(flatten)]
    address: AdminAddressArgs,
    #[command(flatten)]
    request: AdminClientAuthArgs,
    /// Prints the state once as plain text and exits, as it does if the output is no terminal.
    #[arg(long)]
    once: bool,
}

/// The admin pages of one gateway.
struct RemoteAdminPages {
    url: AdminUrl,
    args: AdminClientAuthArgs,
}

/// Shows the gateway until the user quits.
pub fn run(args: &TopArgs) -> ExitCode {
    match show(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            style::print_error(&error);
            ExitCode::from(NOT_READ)
        }
    }
}

fn show(args: &TopArgs) -> Result<(), CommandError> {
    let url = args.address.url()?;
    let palette = match anstream::AutoStream::choice(&io::stdout()) {
        ColorChoice::Never => TopPalette::Plain,
        _ => TopPalette::Coloured,
    };
    let pages = RemoteAdminPages {
        url: url.clone(),
        args: args.request.clone(),
    };
    let shown = headgate_top::show(url.to_string(), Box::new(pages), palette, args.once);
    shown.map_err(CommandError::new)
}

impl AdminPageSource for RemoteAdminPages {
    fn page(&self, path: &str) -> Result<Value, AdminPageError> {
        let client = AdminClient {
            url: &self.url,
            args: &self.args,
        };
        let response = client.fetch("GET", path);
        let response = response.map_err(|error| AdminPageError::Unreachable(error.message))?;
        let is_refusal =
            (400..500).contains(&response.status) && response.status != TOO_MANY_REQUESTS;
        client
            .json_in(&response, path)
            .map_err(|error| match is_refusal {
                true => AdminPageError::Refused(error.message),
                false => AdminPageError::Unreachable(error.message),
            })
    }
}
