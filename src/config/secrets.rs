//! Secrets that a configuration keeps in files of their own, `{file: path}`.

use super::document::PointerProblem;
use super::pointer;
use serde_json::Value;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// A key is a line; a file far larger is the wrong one.
const LARGEST: u64 = 64 * 1024;

/// What came of reading secrets.
pub(super) struct FileSecrets {
    pub findings: Vec<PointerProblem>,
    /// The files that were read, or wanted.
    pub files: Vec<PathBuf>,
    /// What the files hold.
    pub contents: Vec<String>,
}

/// Puts the content of its file in the place of every `{file: path}` at these pointers.
pub(super) fn read_files(value: &mut Value, pointers: &[String], folder: &Path) -> FileSecrets {
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
        match read(&file) {
            Ok(content) => {
                contents.push(content.clone());
                *secret = Value::String(content);
            }
            Err(reason) => {
                let hint = "the path is relative to the folder of this file";
                findings.push(PointerProblem::value(
                    pointer::child(pointer, "file"),
                    reason,
                    Some(hint.into()),
                ));
            }
        }
    }
    FileSecrets {
        findings,
        files,
        contents,
    }
}

/// The file's text without the line break at its end.
fn read(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_string(&mut text));
    if let Err(error) = read {
        return Err(format!(
            "cannot read the secret's file: {}",
            io_words(&error)
        ));
    }
    if text.len() as u64 > LARGEST {
        return Err("the secret's file is larger than 64 KiB".into());
    }
    let end = text.strip_suffix('\n').unwrap_or(&text);
    let end = end.strip_suffix('\r').unwrap_or(end);
    match end {
        "" => Err("the secret's file is empty".into()),
        secret => Ok(secret.to_owned()),
    }
}

/// An I/O error without its number.
pub fn io_words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".into(),
        io::ErrorKind::PermissionDenied => "permission denied".into(),
        io::ErrorKind::IsADirectory => "is a directory".into(),
        io::ErrorKind::InvalidData => "not UTF-8 text".into(),
        kind => kind.to_string(),
    }
}
