//! `headgate convert`: the configuration of another gateway as a routes.yaml, with comments on what has no counterpart.

mod channel_draft;
mod litellm;
mod naming;
mod new_api;
mod routes_draft;
mod scalars;
mod source_settings;
#[cfg(test)]
mod tests;
mod writer;
mod yaml_text;

use super::{CommandError, input_file};
use routes_draft::RoutesDraft;
use serde_json::Value;
use source_settings::SourceSettings;
use std::path::{Path, PathBuf};

const EXAMPLE: &str = "\
Examples:
  headgate convert litellm config.yaml --output routes.yaml
  headgate convert new-api channels.json > routes.yaml

Keys are not copied: the result refers to variables, and comments name those to set.

Exit status: 0 every setting has a counterpart, 1 some have none (the result has a comment for each), 2 the file cannot
be read or written.";

#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub struct ConvertArgs {
    /// Format of the file.
    format: SourceFormat,
    /// Path of the file; `-` reads the standard input.
    file: PathBuf,
    /// Path of the routes.yaml to write, which must not exist [default: standard output].
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// The other gateway.
#[derive(Clone, Copy, clap::ValueEnum)]
enum SourceFormat {
    /// A config.yaml of LiteLLM.
    Litellm,
    /// Channels of new-api as JSON: the response of `GET /api/channel/`, or an array of channels.
    NewApi,
}

/// A converted file.
struct Conversion {
    routes: RoutesDraft,
    settings: SourceSettings,
}

/// Prints the converted file; returns whether a setting has no counterpart.
pub fn run(args: &ConvertArgs) -> Result<bool, CommandError> {
    let shown = args.file.display();
    let text = input_file::read_text(&args.file)?;
    let conversion = convert(args.format, &text)
        .map_err(|reason| CommandError::new(format!("error: {shown}: {reason}")))?;
    let yaml = writer::write(&conversion.routes, &conversion.settings);
    match &args.output {
        Some(output) => write_new(output, &yaml)?,
        None => print!("{yaml}"),
    }
    let summary = conversion.settings.summary();
    eprint!("{summary}");
    Ok(conversion.settings.has_unconverted())
}

fn convert(format: SourceFormat, text: &str) -> Result<Conversion, String> {
    match format {
        SourceFormat::Litellm => {
            // The error's snippet could have a key in it.
            let config: Value = serde_saphyr::from_str(text)
                .map_err(|error| format!("invalid YAML: {}", error.without_snippet()))?;
            litellm::read(&config)
        }
        SourceFormat::NewApi => {
            let export: Value =
                serde_json::from_str(text).map_err(|error| format!("invalid JSON: {error}"))?;
            new_api::read(export)
        }
    }
}

/// Writes a file that does not exist yet: a routes.yaml in use must not be overwritten by mistake.
fn write_new(path: &Path, text: &str) -> Result<(), CommandError> {
    use std::io::Write;
    let shown = path.display();
    let failed =
        |error: std::io::Error| CommandError::new(format!("error: cannot write {shown}: {error}"));
    let mut file = std::fs::File::create_new(path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)
}
