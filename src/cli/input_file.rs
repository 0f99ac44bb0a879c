//! Files that are named on the command line, and `-` for the standard input: read up to a limit.

use super::CommandError;
use headgate_core::regular_file;
use headgate_core::regular_file::UnreadableFile;
use std::io::stdin;
use std::path::Path;

/// Largest file or standard input of a command, in bytes.
pub const INPUT_BYTES_MAX: u64 = 256 << 20;

/// The content of a file, or of the standard input if the path is `-`.
///
/// # Errors
/// It cannot be read, or is larger than [`INPUT_BYTES_MAX`].
pub fn read(path: &Path) -> Result<Vec<u8>, CommandError> {
    let read = match path.as_os_str() == "-" {
        true => regular_file::read_stream(stdin().lock(), INPUT_BYTES_MAX),
        false => regular_file::read(path, INPUT_BYTES_MAX),
    };
    read.map_err(|error| unreadable(path, &error))
}

/// As [`read`], for a text.
///
/// # Errors
/// As [`read`], or the content is not UTF-8.
pub fn read_text(path: &Path) -> Result<String, CommandError> {
    regular_file::text(read(path)?).map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &UnreadableFile) -> CommandError {
    let shown = match path.as_os_str() == "-" {
        true => "the standard input".into(),
        false => path.display().to_string(),
    };
    let hint = match error {
        UnreadableFile::Irregular(_) => "\n  to read from a pipe, give `-` as the file",
        UnreadableFile::TooLarge(_) => "\n  give a part of it",
        UnreadableFile::NotUtf8(_) => "\n  save it as UTF-8",
        UnreadableFile::Io(_) => "",
    };
    CommandError::new(format!("error: cannot read {shown}: {error}{hint}"))
}
