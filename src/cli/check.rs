//! `headgate check`: every problem of a configuration, each with its place.

use super::Failure;
use crate::snapshot::{self, Built, Lasting};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// The configuration.
    #[arg(default_value = "routes.yaml")]
    file: PathBuf,
    /// As the positional argument.
    #[arg(long, short, conflicts_with = "file")]
    config: Option<PathBuf>,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let file = args.config.as_ref().unwrap_or(&args.file);
    let Built { snapshot, warnings } = snapshot::build(file, &Lasting::default())?;
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
        println!("… and {} more warnings", warnings.more);
    }
    println!(
        "{} is good: {} routes, {} channels, {} models, {} callers (revision {})",
        file.display(),
        snapshot.router.routes().len(),
        snapshot.catalog.channels().count(),
        snapshot.catalog.models().count(),
        snapshot.callers.len(),
        snapshot.revision,
    );
    Ok(())
}
