//! `headgate completions`: completion scripts of shells.

use super::{Cli, CommandError};
use clap::CommandFactory;
use clap_complete::Shell;
use std::io::Write;

#[derive(clap::Args)]
pub struct CompletionsArgs {
    /// The shell.
    shell: Shell,
}

pub fn run(args: &CompletionsArgs) -> Result<(), CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "headgate", &mut script);
    Ok(std::io::stdout().write_all(&script)?)
}
