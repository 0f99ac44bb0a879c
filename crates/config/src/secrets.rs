//! Secrets that a configuration keeps in files of their own, `{file: path}`.

use super::document::PointerLocatedProblem;
use headgate_core::regular_file::UnreadableFile;
use headgate_core::{pointer, regular_file};
use serde_json::Value;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A key is a line; a file far larger is the wrong one.
const SECRET_BYTES_MAX: u64 = 64 << 10;

/// What came of reading secrets.
pub(super) struct SecretFileReadResult {
    pub findings: Vec<PointerLocatedProblem>,
    /// The files that were read, or wanted.
    pub files: Vec<PathBuf>,
    /// What the files hold.
    pub contents: Vec<String>,
}

/// Puts the content of its file in the place of every `{file: path}` at these pointers.
pub(super) fn read_files(
    value: &mut Value,
    pointers: &[String],
    folder: &Path,
) -> SecretFileReadResult {
    let (mut findings, mut files, mut contents) = (Vec::new(), Vec::new(), Vec::new());
    for pointer in pointers {
        let Some(secret) = value.pointer_mut(pointer) else {
            continue;
        };
        let Some(path) = secret["file"].as_str().filter(|path| !path.is_empty()) else {
            continue;
        };
        let file = folder.join(path);
        files.push(file.clone());
        match read(Path::new(path), &file) {
            Ok(content) => {
                contents.push(content.clone());
                *secret = Value::String(content);
            }
            Err((reason, hint)) => {
                findings.push(PointerLocatedProblem::value(
                    pointer::child(pointer, "file"),
                    reason,
                    Some(hint),
                ));
            }
        }
    }
    SecretFileReadResult {
        findings,
        files,
        contents,
    }
}

/// The file's text without the line break at its end, or a reason and what to do.
fn read(path: &Path, file: &Path) -> Result<String, (String, String)> {
    let text = regular_file::read_text(file, SECRET_BYTES_MAX).map_err(|error| {
        let reason = format!("cannot read the secret's file: {error}");
        (reason, reading_hint(&error, path, file))
    })?;
    let end = text.strip_suffix('\n').unwrap_or(&text);
    let end = end.strip_suffix('\r').unwrap_or(end);
    match end {
        "" => {
            let hint = format!("write the secret into `{}`", file.display());
            Err(("the secret's file is empty".into(), hint))
        }
        secret => Ok(secret.to_owned()),
    }
}

/// What to do about a file that could not be read. `path` is as it is written, `file` where it leads to.
fn reading_hint(error: &UnreadableFile, path: &Path, file: &Path) -> String {
    let file = file.display();
    match error {
        UnreadableFile::Io(error) if error.kind() == ErrorKind::PermissionDenied => {
            format!("let the user that runs the gateway read `{file}`")
        }
        UnreadableFile::TooLarge(_) | UnreadableFile::NotUtf8(_) => {
            "a secret is one line of text; name the file that has it".into()
        }
        UnreadableFile::Io(_) | UnreadableFile::Irregular(_) if path.is_absolute() => {
            "name a file that has the secret and nothing else".into()
        }
        UnreadableFile::Io(_) | UnreadableFile::Irregular(_) => {
            "the path is relative to the folder of this file; name a file that has the secret and nothing else".into()
        }
    }
}
