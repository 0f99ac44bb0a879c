//! `headgate check`: validates a configuration and prints every problem with its position.

use super::config_file::PositionalConfigFileArgs;
use super::style::{self, styled};
use super::{CommandError, strict_check};
use crate::features::FEATURES;
use headgate_config::reload::caller_folder::CallerFolder;
use headgate_config::snapshot;
use headgate_config::snapshot::{BuiltSnapshot, CrossSnapshotState, Snapshot};
use headgate_gateway as gateway;
use headgate_media::{MediaLocation, MediaStore, SharedMediaState};
use headgate_observe::metrics::Metrics;
use std::sync::Arc;

const EXAMPLE: &str = "\
Example:
  headgate check routes.yaml --strict

Exit status: 0 the file is valid (and with --strict everything can be reached), 1 otherwise.";

#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub struct CheckArgs {
    #[command(flatten)]
    config: PositionalConfigFileArgs,
    /// Also connects to each channel and service, and requests the list of models of each channel with each of its
    /// credentials. Sends nothing that costs.
    #[arg(long)]
    strict: bool,
}

impl CheckArgs {
    /// Whether the command connects to channels and services.
    pub fn connects(&self) -> bool {
        self.strict
    }
}

pub fn run(args: &CheckArgs) -> Result<(), CommandError> {
    let file = &args.config.path();
    let shared = CrossSnapshotState::new(FEATURES);
    let BuiltSnapshot { snapshot, warnings } = snapshot::build(file, &shared)?;
    if !warnings.text.is_empty() {
        anstream::println!("{}", style::report(&warnings.text));
    }
    check_bucket(&snapshot, &shared);
    check_caller_folder(&snapshot, &shared)?;
    let patterns = snapshot.catalog.by_pattern().patterns().len();
    let patterns = match patterns {
        0 => String::new(),
        patterns => format!(" and {} of models", counted(patterns, "pattern")),
    };
    anstream::println!(
        "{} is {}: {}, {}, {}{patterns}, {} (revision {})",
        file.display(),
        styled(style::GOOD, "valid"),
        counted(snapshot.router.routes().len(), "route"),
        counted(snapshot.catalog.channels().count(), "channel"),
        counted(snapshot.catalog.models().count(), "model"),
        counted(snapshot.callers.len(), "caller"),
        snapshot.revision,
    );
    match args.strict {
        true => strict_check::run(&snapshot, &shared.credentials),
        false => Ok(()),
    }
}

/// Reports callers in the folder of callers that would be refused.
fn check_caller_folder(
    snapshot: &Snapshot,
    shared: &CrossSnapshotState,
) -> Result<(), CommandError> {
    let sources = snapshot.caller_sources.as_ref();
    let Some(path) = sources.and_then(|sources| sources.folder.as_deref()) else {
        return Ok(());
    };
    let folder = CallerFolder::default();
    folder.refresh(Some(path), &shared.directory);
    let unreadable = folder
        .error()
        .map(|error| format!("error: {}: {error}", path.display()));
    let refused = shared.directory.refused();
    let refused = refused.iter().map(|refused| {
        let hint = refused.hint().map(|hint| format!("\n  {hint}"));
        format!(
            "error: {}{}",
            refused.first_error(),
            hint.unwrap_or_default()
        )
    });
    let problems: Vec<String> = unreadable.into_iter().chain(refused).collect();
    match problems.is_empty() {
        true => Ok(()),
        false => Err(CommandError::new(problems.join("\n"))),
    }
}

/// Such as `1 route` or `2 routes`.
fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// Warns if the bucket of the media store cannot be written. Nothing else here connects to anybody.
fn check_bucket(snapshot: &Snapshot, shared: &CrossSnapshotState) {
    let MediaLocation::Bucket { bucket, .. } =
        &snapshot.features.get::<MediaStore>().settings.location
    else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let written = runtime
        .map_err(|error| error.to_string())
        .and_then(|runtime| {
            let metrics = Arc::<Metrics>::default();
            let client = gateway::bucket_client(&snapshot.server.dns, metrics);
            shared.features.get::<SharedMediaState>().set_client(client);
            let written = runtime.block_on(snapshot.features.get::<MediaStore>().check_bucket());
            written.map_err(|error| error.to_string())
        });
    if let Err(reason) = written {
        let text = format!(
            "warning: cannot write to the bucket `{}` at {}; what is to be stored will get 503: {reason}\n",
            bucket.bucket, bucket.endpoint
        );
        anstream::println!("{}", style::report(&text));
    }
}
