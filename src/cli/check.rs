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
    for warning in &warnings.shown {
        println!(
            "warning: {} ({}:{}:{}){}",
            warning.reason,
            file.display(),
            warning.line,
            warning.column,
            warning
                .hint
                .as_ref()
                .map(|hint| format!("; {hint}"))
                .unwrap_or_default(),
        );
    }
    if warnings.more > 0 {
        println!("{} more warnings not shown", warnings.more);
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
