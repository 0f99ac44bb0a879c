//! Digests of the files of a configuration: they show whether a file has changed, and whether a reload changes anything.

use crate::config::revision_of;
use std::path::{Path, PathBuf};

/// Files with the digest of each; none for a file that cannot be read. Other files in the same folders do not matter.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileDigests(Vec<(PathBuf, Option<String>)>);

impl FileDigests {
    /// Reads the files. The order of `files` does not matter.
    pub fn of(files: &[PathBuf]) -> Self {
        let mut digests: Vec<_> = files
            .iter()
            .map(|file| (file.clone(), digest(file)))
            .collect();
        digests.sort_unstable();
        digests.dedup();
        Self(digests)
    }
}

fn digest(file: &Path) -> Option<String> {
    Some(revision_of(&std::fs::read(file).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_a_removed_and_an_added_file_change_the_digests() {
        let folder = std::env::temp_dir().join(format!("headgate-digests-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let files = [folder.join("a"), folder.join("b")];
        std::fs::write(&files[0], "1").unwrap();
        std::fs::write(&files[1], "2").unwrap();
        let before = FileDigests::of(&files);
        let reversed = [files[1].clone(), files[0].clone()];
        assert_eq!(FileDigests::of(&reversed), before);
        assert_ne!(FileDigests::of(&files[..1]), before);
        std::fs::write(&files[1], "3").unwrap();
        assert_ne!(FileDigests::of(&files), before);
        std::fs::write(&files[1], "2").unwrap();
        assert_eq!(FileDigests::of(&files), before);
        std::fs::remove_file(&files[1]).unwrap();
        assert_ne!(FileDigests::of(&files), before);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
