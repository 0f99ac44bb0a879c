//! `headgate key new`: a key for a caller, alone or as an entry of the caller's `keys`.

use super::CommandError;
use super::new_caller_file::{self, CallerFileContent};
use headgate_config::directory::find_name_problem;
use headgate_core::catalog::caller::KeyDigest;
use headgate_core::timestamp::{rfc3339_seconds, utc_date};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const SECONDS_PER_DAY: u64 = 24 * 3600;
/// The longest time to the end of a key, in days.
const DAYS_MAX: u64 = 36_500;

/// The entry of a new key.
#[derive(clap::Args)]
pub struct NewKeyArgs {
    /// Print an entry of `keys` of this caller.
    #[arg(long = "for", value_name = "CALLER")]
    caller: Option<String>,
    /// Write the caller's file into this folder of `caller_sources`. A caller that has a file gets another key if `--label`
    /// names it.
    #[arg(long, requires = "caller", value_name = "FOLDER")]
    into: Option<PathBuf>,
    /// Models of a new file, separated by commas; `*` matches any characters. Default: all.
    #[arg(long, requires = "into", value_delimiter = ',', value_name = "MODELS")]
    models: Vec<String>,
    /// Group of a new file. Default: none.
    #[arg(long, requires = "into")]
    group: Option<String>,
    /// Label of the key in logs and metrics. Default: the date of today.
    #[arg(long, requires = "caller", value_parser = label)]
    label: Option<String>,
    /// Time until the key expires, in days. Default: never.
    #[arg(long, requires = "caller", value_name = "DAYS", value_parser = days)]
    expires: Option<Duration>,
}

/// Prints the key with what belongs into routes.yaml.
///
/// # Errors
/// The key would expire later than times can be written, or the caller's file cannot be written.
pub fn print(key: &str, args: &NewKeyArgs) -> Result<(), CommandError> {
    let digest = KeyDigest::from_key(key.as_bytes()).to_hex();
    let Some(caller) = &args.caller else {
        println!("key:        {key}");
        println!("key_sha256: {digest}");
        println!("Give `key` to the caller and put `key_sha256` into routes.yaml.");
        return Ok(());
    };
    let now = SystemTime::now();
    let label = args.label.clone().unwrap_or_else(|| utc_date(now));
    let mut entry = vec![
        format!("label: \"{label}\""),
        format!("key_sha256: {digest}"),
    ];
    if let Some(span) = args.expires {
        let end = now.checked_add(span);
        let end = end.ok_or_else(|| CommandError::new("error: `--expires` is too far away"))?;
        entry.push(format!("not_after: \"{}\"", rfc3339_seconds(end)));
    }
    match &args.into {
        Some(folder) => {
            let path = args.write_file(folder, caller, &entry)?;
            println!("key:        {key}");
            println!("Give `key` to {caller}; {} has its digest.", path.display());
        }
        None => {
            println!("key:        {key}");
            println!(
                "Give `key` to {caller}, and add this entry to `keys` of the caller in routes.yaml:"
            );
            println!("    keys:");
            println!("      - {}", entry.join("\n        "));
        }
    }
    Ok(())
}

impl NewKeyArgs {
    fn write_file(
        &self,
        folder: &Path,
        caller: &str,
        entry: &[String],
    ) -> Result<PathBuf, CommandError> {
        if let Some(problem) = find_name_problem(caller) {
            return Err(CommandError::new(format!("error: `--for`: {problem}")));
        }
        let is_new = !folder.join(format!("{caller}.yaml")).exists();
        if !is_new && (self.group.is_some() || !self.models.is_empty()) {
            let reason = "error: the caller has a file, whose models and group stay; leave out `--models` and `--group`";
            return Err(CommandError::new(reason));
        }
        let all = ["*".to_owned()];
        let content = CallerFileContent {
            caller,
            models: match self.models.is_empty() {
                true => &all,
                false => &self.models,
            },
            group: self.group.as_deref(),
            key: entry,
        };
        new_caller_file::write(folder, &content, self.label.is_some())
    }
}

fn days(text: &str) -> Result<Duration, String> {
    let days = text.strip_suffix('d').and_then(|days| days.parse().ok());
    match days {
        Some(days @ 1..=DAYS_MAX) => Ok(Duration::from_secs(days * SECONDS_PER_DAY)),
        _ => Err(format!(
            "expected a number of days up to {DAYS_MAX}, such as `90d`"
        )),
    }
}

fn label(text: &str) -> Result<String, String> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    match (1..=64).contains(&text.len()) && text.bytes().all(is_allowed) {
        true => Ok(text.to_owned()),
        false => Err("expected 1 to 64 letters, digits, `.`, `_` and `-`".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_number_of_days() {
        assert_eq!(days("90d"), Ok(Duration::from_secs(90 * 86_400)));
        for wrong in [
            "90",
            "0d",
            "-1d",
            "d",
            "90h",
            "99999999999999999999d",
            "36501d",
        ] {
            assert!(days(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_label_is_one_of_the_configuration() {
        assert_eq!(label("2026-11_a.b").as_deref(), Ok("2026-11_a.b"));
        for wrong in ["", "a b", "ä", "a:b", &"a".repeat(65)] {
            assert!(label(wrong).is_err(), "{wrong}");
        }
    }
}
