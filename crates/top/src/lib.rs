//! What a running gateway does, in the terminal, updated every second.

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

pub use feed::{AdminPageError, AdminPageSource};
pub use palette::TopPalette;

use feed::TopFeed;
use state::TopState;
use std::io::{self, IsTerminal};

/// The width of a frame that is printed once, in columns.
const ONCE_WIDTH: u16 = 100;

/// Shows the gateway at `url` until the user quits; prints its state as plain text if `is_once`, or if the output is no
/// terminal.
///
/// # Errors
/// The gateway refuses to be read, or the terminal fails; with a message for the terminal.
pub fn show(
    url: String,
    source: Box<dyn AdminPageSource>,
    palette: TopPalette,
    is_once: bool,
) -> Result<(), String> {
    let feed = TopFeed::new(source);
    // A wrong address or key ends the command before it changes the screen.
    let first = feed.everything().map_err(AdminPageError::into_message)?;
    let mut state = TopState::new(url, palette);
    first.into_iter().for_each(|update| state.apply(update));
    if !is_once && io::stdout().is_terminal() {
        return screen::run(&mut state, feed);
    }
    for line in frame::whole(&state, ONCE_WIDTH) {
        println!("{}", line.to_string().trim_end());
    }
    Ok(())
}
