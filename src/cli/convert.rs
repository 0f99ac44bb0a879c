//! `headgate convert`: the configuration of another gateway as a routes.yaml.

use super::{CommandError, input_file};
use headgate_convert::{SourceFormat, convert};
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
    format: SourceFormatArg,
    /// Path of the file; `-` reads the standard input.
    file: PathBuf,
    /// Path of the routes.yaml to write, which must not exist [default: standard output].
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// The other gateway.
#[derive(Clone, Copy, clap::ValueEnum)]
enum SourceFormatArg {
    /// A config.yaml of LiteLLM.
    Litellm,
    /// Channels of new-api as JSON: the response of `GET /api/channel/`, or an array of channels.
    NewApi,
}

impl SourceFormatArg {
    fn format(self) -> SourceFormat {
        match self {
            Self::Litellm => SourceFormat::Litellm,
            Self::NewApi => SourceFormat::NewApi,
        }
    }
}

/// Prints the converted file; returns whether a setting has no counterpart.
pub fn run(args: &ConvertArgs) -> Result<bool, CommandError> {
    let shown = args.file.display();
    let text = input_file::read_text(&args.file)?;
    let conversion = convert(args.format.format(), &text)
        .map_err(|reason| CommandError::new(format!("error: {shown}: {reason}")))?;
    let yaml = conversion.yaml();
    match &args.output {
        Some(output) => write_new(output, &yaml)?,
        None => print!("{yaml}"),
    }
    let summary = conversion.summary();
    eprint!("{summary}");
    Ok(conversion.has_unconverted())
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
