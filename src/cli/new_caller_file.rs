//! The file of a caller in a folder of callers: written whole, or with one key more.

use super::CommandError;
use headgate_config::directory::{CallerProblem, parse_caller_text};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// What a new file has besides its key.
pub struct CallerFileContent<'a> {
    pub caller: &'a str,
    pub models: &'a [String],
    pub group: Option<&'a str>,
    /// The lines of the entry of `keys`, without indentation.
    pub key: &'a [String],
}

/// Writes the file of a caller that has none, or adds the key to that of a caller which has one, if `may_add`. Readers see the
/// old file or the new one.
///
/// # Errors
/// The file is there and `may_add` is not set, the key does not fit, or the folder cannot be written.
pub fn write(
    folder: &Path,
    content: &CallerFileContent<'_>,
    may_add: bool,
) -> Result<PathBuf, CommandError> {
    let path = folder.join(format!("{}.yaml", content.caller));
    let lock = File::open(folder).and_then(|folder| folder.lock().map(|()| folder));
    let _lock = lock.map_err(|error| failed(folder, &error))?;
    let known = match fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(failed(&path, &error)),
    };
    let text = match known {
        None => content.new_text(),
        Some(_) if !may_add => {
            return Err(CommandError::new(format!(
                "error: caller `{}` has a file already: {}\n  name the new key with `--label` to add it there, or choose another caller",
                content.caller,
                path.display()
            )));
        }
        Some(text) => content.add_key(&path, &text)?,
    };
    let parsed = parse_caller_text(&path, &text);
    parsed.map_err(|problems| invalid(&path, &problems))?;
    replace(folder, &path, &text).map_err(|error| failed(&path, &error))?;
    Ok(path)
}

impl CallerFileContent<'_> {
    fn new_text(&self) -> String {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let models: Vec<String> = self.models.iter().map(|model| quoted(model)).collect();
        let mut text = format!(
            "name: {}\nmodels: [{}]\n",
            quoted(self.caller),
            models.join(", ")
        );
        if let Some(group) = self.group {
            text.push_str(&format!("group: {}\n", quoted(group)));
        }
        text.push_str("keys:\n");
        text.push_str(&self.entry("  "));
        text
    }

    /// The text with the key as the first entry of `keys`.
    fn add_key(&self, path: &Path, text: &str) -> Result<String, CommandError> {
        let known = parse_caller_text(path, text).map_err(|problems| invalid(path, &problems))?;
        if known.name != self.caller {
            return Err(CommandError::new(format!(
                "error: {} is the file of caller `{}`, and nothing was added\n  correct its `name`, or use `--for {}` with a file of that name",
                path.display(),
                known.name,
                known.name
            )));
        }
        let break_at_end = if text.ends_with('\n') { "" } else { "\n" };
        let added = match text
            .split_inclusive('\n')
            .position(|line| line.trim_end() == "keys:")
        {
            Some(line) => {
                let (before, after): (Vec<_>, Vec<_>) = text
                    .split_inclusive('\n')
                    .enumerate()
                    .partition(|(index, _)| *index <= line);
                let join = |lines: Vec<(usize, &str)>| {
                    lines.into_iter().map(|(_, line)| line).collect::<String>()
                };
                let first = after.iter().map(|(_, line)| line);
                let first = first.map(|line| line.trim_start()).zip(&after);
                let mut first = first.filter(|(content, _)| content.starts_with('-'));
                let indent = first
                    .next()
                    .map_or(2, |(content, (_, line))| line.len() - content.len());
                format!(
                    "{}{}{}",
                    join(before),
                    self.entry(&" ".repeat(indent)),
                    join(after)
                )
            }
            None => format!("{text}{break_at_end}keys:\n{}", self.entry("  ")),
        };
        let new = parse_caller_text(path, &added);
        let is_added = new.is_ok_and(|new| {
            let has_label = |label: &str| known.keys.iter().any(|key| key.label == label);
            new.keys.len() == known.keys.len() + 1
                && new.keys.iter().filter(|key| !has_label(&key.label)).count() == 1
                && new.key_sha256 == known.key_sha256
        });
        match is_added {
            true => Ok(added),
            false => Err(CommandError::new(format!(
                "error: cannot add the key to {}\n  its label must be a new one, and `keys` a list with an entry on each line; or add the entry that `headgate key new --for {}` prints",
                path.display(),
                self.caller
            ))),
        }
    }

    fn entry(&self, indent: &str) -> String {
        let lines = self.key.iter().enumerate();
        let lines = lines.map(|(index, line)| match index {
            0 => format!("{indent}- {line}\n"),
            _ => format!("{indent}  {line}\n"),
        });
        lines.collect()
    }
}

fn replace(folder: &Path, path: &Path, text: &str) -> std::io::Result<()> {
    let new = folder.join(format!(".{}.new", std::process::id()));
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&new)?;
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written?;
    File::open(folder)?.sync_all()
}

fn invalid(path: &Path, problems: &[CallerProblem]) -> CommandError {
    let first = problems.first();
    let reason = first.map_or("it is not valid", |problem| problem.reason.as_str());
    CommandError::new(format!(
        "error: no caller can be written to {}: {reason}",
        path.display()
    ))
}

fn failed(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::new(format!("error: cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(text: &str, label: &str) -> Result<String, String> {
        let key = [
            format!("label: \"{label}\""),
            format!("key_sha256: {}", "a".repeat(64)),
        ];
        let content = CallerFileContent {
            caller: "web",
            models: &["*".to_owned()],
            group: None,
            key: &key,
        };
        let added = content.add_key(Path::new("web.yaml"), text);
        added.map_err(|error| error.message)
    }

    #[test]
    fn a_key_is_added_and_nothing_else_changes() {
        let digest = "b".repeat(64);
        let entry = |indent: &str| {
            format!(
                "{indent}- label: \"new\"\n{indent}  key_sha256: {}\n",
                "a".repeat(64)
            )
        };
        for (before, after) in [
            (
                "name: web # mine\nkeys:\n",
                format!("- label: old\n  key_sha256: {digest}\nmodels: []\n"),
            ),
            (
                "name: web\nmodels: []\nkeys:\n",
                format!("    # the first one\n    - {{label: old, key_sha256: {digest}}}\n"),
            ),
        ] {
            let indent = " ".repeat(
                after.find('-').unwrap()
                    - after[..after.find('-').unwrap()]
                        .rfind('\n')
                        .map_or(0, |at| at + 1),
            );
            let expected = format!("{before}{}{after}", entry(&indent));
            assert_eq!(add(&format!("{before}{after}"), "new"), Ok(expected));
        }
        let only = format!("name: web\nmodels: []\nkey_sha256: {digest}");
        assert_eq!(
            add(&only, "new"),
            Ok(format!("{only}\nkeys:\n{}", entry("  ")))
        );
    }

    #[test]
    fn a_key_that_does_not_fit_is_refused() {
        let digest = "b".repeat(64);
        let inline =
            format!("name: web\nmodels: []\nkeys: [{{label: old, key_sha256: {digest}}}]\n");
        let block =
            format!("name: web\nmodels: []\nkeys:\n  - label: old\n    key_sha256: {digest}\n");
        let other = block.replace("name: web", "name: other");
        for (text, label) in [
            (&inline[..], "new"),
            (&block, "old"),
            ("name: [", "new"),
            (&other, "new"),
        ] {
            assert!(add(text, label).is_err(), "{text}");
        }
    }
}
