//! `headgate top`: what a running gateway does, in the terminal, updated every second.

mod amount;
mod feed;
mod frame;
mod hang_up;
mod overview_page;
mod palette;
mod screen;
mod spark;
mod state;
mod table;
mod table_pages;
#[cfg(test)]
mod tests;

use super::CommandError;
use super::admin_address::AdminAddressArgs;
use super::admin_client::AdminRequestArgs;
use super::style;
use anstream::ColorChoice;
use feed::{FetchFailure, TopFeed};
use palette::TopPalette;
use state::TopState;
use std::io::{self, IsTerminal};
use std::process::ExitCode;

/// The exit code if the admin pages cannot be read; also that of wrong arguments.
const NOT_READ: u8 = 2;
/// The width of a frame that is printed once, in columns.
const ONCE_WIDTH: u16 = 100;

#[derive(clap::Args)]
pub struct TopArgs {
    #[command(flatten)]
    address: AdminAddressArgs,
    #[command(flatten)]
    request: AdminRequestArgs,
    /// Prints the state once as plain text and exits, as it does if the output is no terminal.
    #[arg(long)]
    once: bool,
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
    let feed = TopFeed::new(url.clone(), args.request.clone());
    // A wrong address or key ends the command before it changes the screen.
    let first = feed.everything().map_err(FetchFailure::into_error)?;
    let is_screen = !args.once && io::stdout().is_terminal();
    let palette = match anstream::AutoStream::choice(&io::stdout()) {
        ColorChoice::Never => TopPalette::Plain,
        _ => TopPalette::Coloured,
    };
    let mut state = TopState::new(url.to_string(), palette);
    first.into_iter().for_each(|update| state.apply(update));
    if is_screen {
        return screen::run(&mut state, feed);
    }
    for line in frame::whole(&state, ONCE_WIDTH) {
        println!("{}", line.to_string().trim_end());
    }
    Ok(())
}
