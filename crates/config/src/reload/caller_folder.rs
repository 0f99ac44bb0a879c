//! The folder of files of callers: reads them in parallel, and finds out which of them have changed.

use crate::caller_file::{self, InvalidCallerFile};
use crate::snapshot::directory::{CallerChange, CallerDirectory, CallerRecord, CallerSource};
use headgate_core::state::lock::lock;
use std::collections::{BTreeMap, HashSet};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::SystemTime;

/// How the name of a caller's file ends.
const EXTENSION: &str = "yaml";
/// Files that one thread reads at least.
const FILES_PER_THREAD: usize = 500;

/// The folder as it was read last.
#[derive(Debug, Default)]
pub struct CallerFolder(Mutex<FolderListing>);

#[derive(Debug, Default)]
struct FolderListing {
    path: Option<PathBuf>,
    files: BTreeMap<String, CallerFileStamp>,
    /// Why the folder cannot be read.
    error: Option<String>,
}

/// What changes with every write to a file; no version of one that cannot be inspected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CallerFileStamp {
    version: Option<(u64, u64, i64, i64)>,
    /// Whether a later write is sure to have another version: clocks tick slowly.
    is_settled: bool,
}

impl CallerFolder {
    /// Reads the files that have changed since the last call, and all of another folder. Without a folder there are no
    /// callers of it. While the folder cannot be read, its callers stay.
    pub fn refresh(&self, path: Option<&Path>, directory: &CallerDirectory) {
        let mut known = lock(&self.0);
        let Some(path) = path else {
            if known.path.is_some() {
                *known = FolderListing::default();
                directory.replace(CallerSource::Folder, Vec::new());
            }
            return;
        };
        let is_other = known.path.as_deref() != Some(path);
        let files = match list(path) {
            Ok(files) => files,
            Err(error) => {
                let error = error.to_string();
                if known.error.as_ref() != Some(&error) {
                    let folder = path.display();
                    tracing::error!(%folder, error, "cannot read the folder of callers; those that were read stay");
                }
                known.error = Some(error);
                return;
            }
        };
        known.error = None;
        if is_other {
            known.files.clear();
        }
        let gone = known.files.keys().filter(|name| !files.contains_key(*name));
        let gone = gone.map(|name| CallerChange::Remove(name.clone()));
        let mut changes: Vec<_> = gone.collect();
        let is_new =
            |(name, stamp): &(&String, &CallerFileStamp)| known.files.get(*name) != Some(stamp);
        let new: Vec<&str> = files
            .iter()
            .filter(is_new)
            .map(|(name, _)| name.as_str())
            .collect();
        changes.extend(read_all(path, &new));
        match is_other {
            true => directory.replace(CallerSource::Folder, changes),
            false if changes.is_empty() => {}
            false => directory.change(CallerSource::Folder, changes),
        }
        known.path = Some(path.to_path_buf());
        known.files = files;
    }

    /// Reads these files, whatever is known of them.
    pub fn refresh_files(&self, names: &HashSet<String>, directory: &CallerDirectory) {
        let mut known = lock(&self.0);
        let Some(path) = known.path.clone() else {
            return;
        };
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        for name in &names {
            match stamp(&file_path(&path, name)) {
                Some(stamp) => known.files.insert((*name).to_owned(), stamp),
                None => known.files.remove(*name),
            };
        }
        let changes: Vec<_> = read_all(&path, &names).collect();
        directory.change(CallerSource::Folder, changes);
    }

    /// The number of files.
    pub fn file_count(&self) -> usize {
        lock(&self.0).files.len()
    }

    /// Why the folder cannot be read, if it cannot.
    pub fn error(&self) -> Option<String> {
        lock(&self.0).error.clone()
    }
}

/// The caller whose file a path is; `None` for other files.
pub(super) fn caller_name(path: &Path) -> Option<&str> {
    let is_yaml = path.extension().is_some_and(|end| end == EXTENSION);
    let name = path.file_stem()?.to_str()?;
    (is_yaml && !name.starts_with('.')).then_some(name)
}

fn file_path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.{EXTENSION}"))
}

fn list(folder: &Path) -> std::io::Result<BTreeMap<String, CallerFileStamp>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if let Some(name) = caller_name(&path)
            && let Some(stamp) = stamp(&path)
        {
            files.insert(name.to_owned(), stamp);
        }
    }
    Ok(files)
}

/// The stamp of a file, or of what a link leads to; `None` if there is none.
fn stamp(path: &Path) -> Option<CallerFileStamp> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => None,
        Ok(metadata) => Some(CallerFileStamp::new(&metadata)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(_) => Some(CallerFileStamp {
            version: None,
            is_settled: true,
        }),
    }
}

impl CallerFileStamp {
    fn new(metadata: &Metadata) -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.unwrap_or_default().as_secs();
        let changed = u64::try_from(metadata.ctime()).unwrap_or(0);
        Self {
            version: Some((
                metadata.ino(),
                metadata.size(),
                metadata.ctime(),
                metadata.ctime_nsec(),
            )),
            is_settled: changed + 2 <= now,
        }
    }
}

/// Reads the files of these callers, with several threads if there are many.
fn read_all(folder: &Path, names: &[&str]) -> impl Iterator<Item = CallerChange> + use<> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let share = names.len().div_ceil(threads).max(FILES_PER_THREAD);
    let changes: Vec<Vec<CallerChange>> = thread::scope(|scope| {
        let parts: Vec<_> = names
            .chunks(share)
            .map(|names| scope.spawn(move || read_part(folder, names)))
            .collect();
        let parts = parts.into_iter();
        parts.map(|part| part.join().unwrap_or_default()).collect()
    });
    changes.into_iter().flatten()
}

fn read_part(folder: &Path, names: &[&str]) -> Vec<CallerChange> {
    let changes = names.iter().map(|name| {
        let path = file_path(folder, name);
        let place: Arc<str> = path.display().to_string().into();
        if stamp(&path).is_none() {
            return CallerChange::Remove((*name).to_owned());
        }
        match caller_file::load(&path, name) {
            Ok(config) => CallerChange::Set(CallerRecord {
                config: Arc::new(config),
                place,
            }),
            Err(InvalidCallerFile { problems, text }) => CallerChange::Unreadable {
                name: (*name).to_owned(),
                place,
                problems,
                text,
            },
        }
    });
    changes.collect()
}
