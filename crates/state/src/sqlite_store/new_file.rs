//! Creates the state file, and renames a corrupt one.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Creates the file, readable only for its owner: it records which caller requested what.
pub fn create(path: &Path) -> io::Result<()> {
    // Opening a pipe would wait for its reader.
    if path.metadata().is_ok_and(|found| !found.is_file()) {
        return Err(io::Error::other("it is no regular file"));
    }
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
        .map(drop)
}

/// Renames the file, and SQLite's other files beside it.
pub fn rename_corrupt_file(path: &Path) -> io::Result<PathBuf> {
    let beside = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    let renamed = beside(".broken");
    std::fs::rename(path, &renamed)?;
    for suffix in ["-wal", "-shm"] {
        match std::fs::remove_file(beside(suffix)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(renamed)
}
