//! Whether objects can be written, for `headgate check`.

use super::error::MediaStoreError;
use super::object::random_write;
use super::store::MediaStore;
use bytes::Bytes;
use object_store::path::Path;
use std::fs::{OpenOptions, remove_file};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

/// The folder of the objects that checks write.
const PROBE_FOLDER: &str = "check";

impl MediaStore {
    /// Whether files can be created in the directory, or where it will be created. A bucket is not checked here.
    ///
    /// # Errors
    /// They cannot; a sentence for the operator.
    pub fn check_directory(&self) -> Result<(), String> {
        let Some(directory) = self.storage.directory() else {
            return Ok(());
        };
        let existing = directory.ancestors().find(|ancestor| ancestor.exists());
        let existing = existing.unwrap_or(directory);
        if !existing.is_dir() {
            return Err(format!("{} is not a directory", existing.display()));
        }
        let probe = existing.join(format!(".headgate-{:016x}", random_write()));
        let created = OpenOptions::new().write(true).create_new(true).open(&probe);
        let removed = created.and_then(|_| remove_file(&probe));
        removed.map_err(|error| format!("cannot create files in {}: {error}", existing.display()))
    }

    /// Whether others than the user of the process may read the directory, which then exists.
    pub fn is_directory_open_to_others(&self) -> bool {
        let directory = self.storage.directory();
        let found = directory.and_then(|directory| directory.metadata().ok());
        found.is_some_and(|found| found.permissions().mode() & 0o077 != 0)
    }

    /// Writes an object to the bucket, lists its folder, and removes the object.
    ///
    /// # Errors
    /// That is not possible.
    pub async fn check_bucket(&self) -> Result<(), MediaStoreError> {
        if self.storage.directory().is_some() {
            return Ok(());
        }
        let probe = Path::from(format!("{PROBE_FOLDER}/{:016x}", random_write()));
        let content = Bytes::from_static(b"headgate check");
        self.storage.put(&probe, content, "text/plain").await?;
        // Leftovers are found by lists.
        let listed = self.storage.list(PROBE_FOLDER).await;
        self.storage.delete(&probe).await?;
        listed.map(drop)
    }

    /// Removes the objects of checks whose process was killed, which are older than `age`, and returns how many.
    pub(super) async fn remove_probes(&self, age: Duration) -> Result<usize, MediaStoreError> {
        let mut removed = 0;
        for (name, found) in self.storage.list(PROBE_FOLDER).await? {
            let modified = SystemTime::from(found.last_modified);
            if is_probe(&name) && modified.elapsed().unwrap_or_default() > age {
                let probe = Path::from(format!("{PROBE_FOLDER}/{name}"));
                self.storage.delete(&probe).await?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}

fn is_probe(name: &str) -> bool {
    name.len() == 16 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}
