//! The progress of a command that takes longer than a second: one line on a terminal, which is erased at the end.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Commands that are done before show nothing.
const SHOWN_AFTER: Duration = Duration::from_secs(1);
/// The time between two updates of the line.
const UPDATE_INTERVAL: Duration = Duration::from_millis(100);

pub struct ProgressLine {
    /// What is done with each item, such as `checked`.
    verb: &'static str,
    total: usize,
    next_update: Instant,
    /// Columns of the line on the terminal; zero if there is none.
    width: usize,
}

impl ProgressLine {
    pub fn new(verb: &'static str, total: usize) -> Self {
        Self {
            verb,
            total,
            next_update: Instant::now() + SHOWN_AFTER,
            width: 0,
        }
    }

    /// Shows how many items are done.
    pub fn update(&mut self, done: usize) {
        let now = Instant::now();
        if now < self.next_update || !std::io::stderr().is_terminal() {
            return;
        }
        self.next_update = now + UPDATE_INTERVAL;
        let line = format!("{} {done} of {}", self.verb, self.total);
        self.width = line.len();
        self.write(&format!("\r{line}"));
    }

    /// A terminal that is gone is no reason to fail.
    fn write(&self, text: &str) {
        let mut terminal = std::io::stderr();
        let _ = terminal.write_all(text.as_bytes());
        let _ = terminal.flush();
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.width > 0 {
            // Blanks erase it on terminals without escape sequences, too.
            self.write(&format!("\r{:1$}\r", "", self.width));
        }
    }
}
