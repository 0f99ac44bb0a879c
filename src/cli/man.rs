//! `headgate man`: the manual pages.

use super::{Cli, CommandError};
use clap::CommandFactory;
use std::io::Write;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct ManArgs {
    /// Writes the pages of all commands to this folder, which must exist, instead of printing headgate(1).
    #[arg(long, value_name = "FOLDER")]
    to: Option<PathBuf>,
}

pub fn run(args: &ManArgs) -> Result<(), CommandError> {
    // The commit and the features are of one build; the pages are of a version.
    let command = Cli::command().long_version(None::<&str>);
    let Some(folder) = &args.to else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        return Ok(std::io::stdout().write_all(&page)?);
    };
    clap_mangen::generate_to(command, folder).map_err(|error| {
        let folder = folder.display();
        CommandError::new(format!(
            "error: cannot write the pages to {folder}: {error}; create the folder, or name another one with --to"
        ))
    })
}
