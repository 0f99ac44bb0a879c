//! `headgate check`: validates a configuration and prints every problem with its position.

use super::CommandError;
use crate::snapshot::{self, BuiltSnapshot, SharedState};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct CheckArgs {
    /// Path of the configuration file.
    #[arg(default_value = "routes.yaml")]
    file: PathBuf,
    /// Same as the positional argument.
    #[arg(long, short, conflicts_with = "file")]
    config: Option<PathBuf>,
}

pub fn run(args: &CheckArgs) -> Result<(), CommandError> {
    let file = args.config.as_ref().unwrap_or(&args.file);
    let BuiltSnapshot { snapshot, warnings } = snapshot::build(file, &SharedState::default())?;
    if !warnings.text.is_empty() {
        println!("{}", warnings.text);
    }
    println!(
        "{} is valid: {} routes, {} channels, {} models, {} callers (revision {})",
        file.display(),
        snapshot.router.routes().len(),
        snapshot.catalog.channels().count(),
        snapshot.catalog.models().count(),
        snapshot.callers.len(),
        snapshot.revision,
    );
    Ok(())
}
