//! Removes objects without a record: what a process left that was killed while it wrote, or whose state was in memory.

use super::counters::RemovalReason;
use super::error::MediaStoreError;
use super::object::{ObjectRecord, key_in_name};
use super::storage::{OPERATION_TIMEOUT, file_result};
use super::store::MediaStore;
use headgate_core::state::records::RecordKind;
use object_store::path::Path;
use std::fs::{read_dir, remove_file};
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// The age from which an object is a leftover whose record names another write, and an unfinished file is one. A write
/// takes less, since each of its parts has a deadline.
const SUPERSEDED_AGE: Duration = Duration::from_secs(60 * 60);

impl MediaStore {
    /// Removes what nobody knows of, and returns how many objects that were. An object without a record must be older
    /// than objects live: whoever shares the place, but not the state, would lose its files otherwise.
    ///
    /// # Errors
    /// The records or objects are unreachable; the rest remains for the next round.
    pub async fn remove_leftovers(&self) -> Result<usize, MediaStoreError> {
        let (mut removed, mut failed) = match self.remove_probes(SUPERSEDED_AGE).await {
            Ok(probes) => (probes, None),
            Err(error) => (0, Some(error)),
        };
        for number in 0..=u8::MAX {
            let folder = format!("{number:02x}");
            for (name, found) in self.storage.list(&folder).await? {
                let modified = SystemTime::from(found.last_modified);
                let age = modified.elapsed().unwrap_or_default();
                if self.is_leftover(&name, age).await? {
                    let location = Path::from(format!("{folder}/{name}"));
                    // One object that cannot be removed does not keep the others.
                    if let Err(error) = self.storage.delete(&location).await {
                        failed = Some(error);
                        continue;
                    }
                    removed += 1;
                    let counters = &self.shared.counters;
                    counters.count_removal(RemovalReason::Leftover, found.size);
                }
            }
            removed += self.remove_unfinished_files(&folder).await?;
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(removed),
        }
    }

    async fn is_leftover(&self, name: &str, age: Duration) -> Result<bool, MediaStoreError> {
        let Some(key) = key_in_name(name).filter(|_| age > SUPERSEDED_AGE) else {
            return Ok(false);
        };
        let found = self.state.records().get(RecordKind::MediaObject, key);
        let Some(found) = found.get().await? else {
            return Ok(age > self.settings.ttl + SUPERSEDED_AGE);
        };
        // A record that cannot be read was written by another version of the program.
        let known = ObjectRecord::read(&found.content.value);
        Ok(known.is_some_and(|known| known.name(key) != name))
    }

    /// Removes local files that a killed process was writing: those have `#` and a number after their name.
    async fn remove_unfinished_files(&self, folder: &str) -> Result<usize, MediaStoreError> {
        let Some(directory) = self.storage.directory() else {
            return Ok(0);
        };
        let folder = directory.join(folder);
        let work = spawn_blocking(move || unfinished_files_removed(&folder));
        let removed = file_result(timeout(OPERATION_TIMEOUT, work).await)?;
        for _ in 0..removed {
            let counters = &self.shared.counters;
            counters.count_removal(RemovalReason::Leftover, 0);
        }
        Ok(removed)
    }
}

fn unfinished_files_removed(folder: &PathBuf) -> io::Result<usize> {
    let entries = match read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        entries => entries?,
    };
    let mut removed = 0;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let written = name.to_str().and_then(|name| name.split_once('#'));
        if written.and_then(|(name, _)| key_in_name(name)).is_none() {
            continue;
        }
        // The writer may complete the file, or another gateway remove it, meanwhile.
        let Ok(modified) = entry.metadata().and_then(|found| found.modified()) else {
            continue;
        };
        if modified.elapsed().unwrap_or_default() > SUPERSEDED_AGE {
            removed += usize::from(remove_file(entry.path()).is_ok());
        }
    }
    Ok(removed)
}
