//! Whether objects can be written, for `headgate check`.

use super::error::MediaStoreError;
use super::object::random_write;
use super::store::MediaStore;
use bytes::Bytes;
use object_store::path::Path;
use std::fs::{OpenOptions, remove_file};
use std::os::unix::fs::PermissionsExt;

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

    /// Writes an object to the bucket, and removes it.
    ///
    /// # Errors
    /// That is not possible.
    pub async fn check_bucket(&self) -> Result<(), MediaStoreError> {
        if self.storage.directory().is_some() {
            return Ok(());
        }
        let probe = Path::from(format!("check/{:016x}", random_write()));
        let content = Bytes::from_static(b"headgate check");
        self.storage.put(&probe, content, "text/plain").await?;
        self.storage.delete(&probe).await
    }
}
