//! Reads the files of corpora.

use crate::targets::FuzzTarget;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The checked-in corpus of a target.
pub fn folder(target: &FuzzTarget) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target.name)
}

/// The files of a folder with their content, in the order of their names.
///
/// # Errors
/// A file cannot be read.
pub fn read_folder(folder: &Path) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut paths = entries.collect::<io::Result<Vec<PathBuf>>>()?;
    paths.retain(|path| path.is_file());
    paths.sort_unstable();
    let files = paths.into_iter().map(|path| {
        let content = fs::read(&path)?;
        Ok((path, content))
    });
    files.collect()
}
