//! Digests of the files of a configuration: they show whether a file has changed, and whether a reload changes anything.

use crate::compute_revision;
use headgate_core::regular_file;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The largest file of a configuration is a module of a plugin. No larger one was loaded.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// A file that was read sooner after its last change may have changed again without another time.
const CLOCK_TICK_MAX: Duration = Duration::from_secs(1);

/// Files with the digest of each. Other files in the same folders do not matter.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileDigests(Vec<FileDigest>);

#[derive(Clone, Debug)]
struct FileDigest {
    path: PathBuf,
    /// The digest of the content, or why the file cannot be read: a report that says that a file is missing is wrong once
    /// there is a pipe.
    digest: Result<String, String>,
    /// The version that was read, if a later one is sure to differ.
    version: Option<FileStatStamp>,
}

/// What changes with every write to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileStatStamp {
    inode: (u64, u64),
    bytes: u64,
    /// Seconds and nanoseconds since the epoch. Unlike the time of the content, nobody can set it.
    changed: (i64, i64),
}

impl FileDigests {
    /// Reads the files. The order of `files` does not matter.
    pub fn read(files: &[PathBuf]) -> Self {
        Self::with(files, |_| None)
    }

    /// Like [`Self::read`], but reads only files that were written since: modules of plugins have megabytes.
    pub fn renewed(&self, files: &[PathBuf]) -> Self {
        Self::with(files, |path| {
            let found = self
                .0
                .binary_search_by(|known| known.path.as_path().cmp(path));
            Some(&self.0[found.ok()?])
        })
    }

    fn with<'k>(files: &[PathBuf], known: impl Fn(&Path) -> Option<&'k FileDigest>) -> Self {
        let read = |path: &PathBuf| match known(path).filter(|known| known.is_current()) {
            Some(known) => known.clone(),
            None => FileDigest::read(path),
        };
        let mut digests: Vec<_> = files.iter().map(read).collect();
        digests.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        digests.dedup();
        Self(digests)
    }
}

impl FileDigest {
    fn read(path: &Path) -> Self {
        // Before the file is read, so that a write meanwhile is noticed.
        let version = fs::metadata(path)
            .ok()
            .and_then(|found| FileStatStamp::from_metadata(&found));
        Self {
            path: path.to_owned(),
            digest: regular_file::read(path, FILE_BYTES_MAX)
                .map(|bytes| compute_revision(&bytes))
                .map_err(|unreadable| unreadable.to_string()),
            version,
        }
    }

    fn is_current(&self) -> bool {
        let found = fs::metadata(&self.path).ok();
        let found = found.as_ref().and_then(FileStatStamp::from_metadata);
        found.is_some() && found == self.version
    }
}

impl PartialEq for FileDigest {
    fn eq(&self, other: &Self) -> bool {
        (&self.path, &self.digest) == (&other.path, &other.digest)
    }
}

impl Eq for FileDigest {}

impl FileStatStamp {
    /// None if the last change is so recent that the next one might have the same time.
    fn from_metadata(found: &Metadata) -> Option<Self> {
        let since = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .ok()?;
        let settled = since.checked_sub(CLOCK_TICK_MAX)?.as_secs();
        let is_settled = u64::try_from(found.ctime()).is_ok_and(|changed| changed < settled);
        is_settled.then(|| Self {
            inode: (found.dev(), found.ino()),
            bytes: found.size(),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_a_removed_and_an_unreadable_file_change_the_digests() {
        let folder = std::env::temp_dir().join(format!("headgate-digests-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let files = [folder.join("a"), folder.join("b")];
        std::fs::write(&files[0], "1").unwrap();
        std::fs::write(&files[1], "2").unwrap();
        let before = FileDigests::read(&files);
        let reversed = [files[1].clone(), files[0].clone()];
        assert_eq!(FileDigests::read(&reversed), before);
        assert_ne!(FileDigests::read(&files[..1]), before);
        std::fs::write(&files[1], "3").unwrap();
        assert_ne!(FileDigests::read(&files), before);
        std::fs::write(&files[1], "2").unwrap();
        assert_eq!(FileDigests::read(&files), before);
        std::fs::remove_file(&files[1]).unwrap();
        let missing = FileDigests::read(&files);
        assert_ne!(missing, before);
        assert_eq!(FileDigests::read(&files), missing);
        std::fs::create_dir(&files[1]).unwrap();
        assert_ne!(FileDigests::read(&files), missing);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn only_files_that_were_written_are_read_again() {
        let folder = std::env::temp_dir().join(format!("headgate-renewed-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let files = [folder.join("a"), folder.join("b")];
        for file in &files {
            std::fs::write(file, "1").unwrap();
        }
        let fresh = FileDigests::read(&files);
        assert!(fresh.0.iter().all(|file| file.version.is_none()));
        std::thread::sleep(CLOCK_TICK_MAX * 5 / 2);
        let mut settled = fresh.renewed(&files);
        assert_eq!(settled, fresh);
        // A digest that is kept shows that the file was not read.
        for file in &mut settled.0 {
            assert!(file.version.is_some());
            file.digest = Ok("kept".to_owned());
        }
        std::fs::write(&files[1], "1").unwrap();
        let renewed = settled.renewed(&[files[1].clone(), files[0].clone()]);
        let digests: Vec<_> = renewed.0.iter().map(|file| file.digest.clone()).collect();
        assert_eq!(digests, [Ok("kept".to_owned()), fresh.0[1].digest.clone()]);
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(
            settled
                .renewed(&files)
                .0
                .iter()
                .all(|file| file.digest.is_err())
        );
    }
}
