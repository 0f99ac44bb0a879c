//! The configuration file among the arguments of a command: positional, or after `--config`.

use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct ConfigFile {
    /// Path of the configuration file.
    #[arg(default_value = "routes.yaml")]
    file: PathBuf,
    /// Same as the positional argument.
    #[arg(long, short, conflicts_with = "file")]
    config: Option<PathBuf>,
}

impl ConfigFile {
    #[cfg(feature = "simulator")]
    pub fn new(file: PathBuf) -> Self {
        Self { file, config: None }
    }

    pub fn path(&self) -> &Path {
        self.config.as_ref().unwrap_or(&self.file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        config: ConfigFile,
    }

    #[test]
    fn the_file_is_positional_or_an_option_but_not_both() {
        let table: [(&[&str], Option<&str>); 5] = [
            (&[], Some("routes.yaml")),
            (&["a.yaml"], Some("a.yaml")),
            (&["--config", "a.yaml"], Some("a.yaml")),
            (&["-c", "a.yaml"], Some("a.yaml")),
            (&["a.yaml", "-c", "b.yaml"], None),
        ];
        for (arguments, expected) in table {
            let parsed = Command::try_parse_from([&["run"], arguments].concat());
            let path = parsed.ok().map(|command| command.config.path().to_owned());
            assert_eq!(path.as_deref(), expected.map(Path::new), "{arguments:?}");
        }
    }
}
