//! The configuration file among the arguments of a command: positional or after `--config`, else that of
//! HEADGATE_CONFIG, else `routes.yaml`.

use std::path::PathBuf;

const VARIABLE: &str = "HEADGATE_CONFIG";
pub const DEFAULT_FILE: &str = "routes.yaml";

/// The file of commands that have no other positional argument.
#[derive(clap::Args)]
pub struct PositionalConfigFileArgs {
    /// Path of the configuration file [env: HEADGATE_CONFIG] [default: routes.yaml]
    #[arg(conflicts_with = "config")]
    file: Option<PathBuf>,
    #[command(flatten)]
    option: ConfigFileOptionArgs,
}

/// The file of commands whose positional arguments are others.
#[derive(clap::Args)]
pub struct ConfigFileOptionArgs {
    /// Path of the configuration file [env: HEADGATE_CONFIG] [default: routes.yaml]
    #[arg(long, short, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl PositionalConfigFileArgs {
    #[cfg(feature = "simulator")]
    pub fn new(file: PathBuf) -> Self {
        let option = ConfigFileOptionArgs { config: None };
        Self {
            file: Some(file),
            option,
        }
    }

    pub fn path(&self) -> PathBuf {
        self.file.clone().unwrap_or_else(|| self.option.path())
    }
}

impl ConfigFileOptionArgs {
    pub fn path(&self) -> PathBuf {
        self.given().unwrap_or_else(|| DEFAULT_FILE.into())
    }

    /// The path of an argument or of the variable.
    pub fn given(&self) -> Option<PathBuf> {
        self.config.clone().or_else(path_of_variable)
    }
}

/// The path in HEADGATE_CONFIG, unless the variable is empty or not set.
pub fn path_of_variable() -> Option<PathBuf> {
    let value = std::env::var_os(VARIABLE)?;
    (!value.is_empty()).then(|| value.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        config: PositionalConfigFileArgs,
    }

    #[test]
    fn the_file_is_positional_or_an_option_but_not_both() {
        let table: [(&[&str], Option<&str>); 4] = [
            (&["a.yaml"], Some("a.yaml")),
            (&["--config", "a.yaml"], Some("a.yaml")),
            (&["-c", "a.yaml"], Some("a.yaml")),
            (&["a.yaml", "-c", "b.yaml"], None),
        ];
        for (arguments, expected) in table {
            let parsed = Command::try_parse_from([&["run"], arguments].concat());
            let path = parsed.ok().map(|command| command.config.path());
            assert_eq!(path, expected.map(PathBuf::from), "{arguments:?}");
        }
    }
}
