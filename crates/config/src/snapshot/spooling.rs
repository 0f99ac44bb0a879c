//! Builds the spool settings for large request bodies, and checks the folder.

use super::ProblemCollector;
use crate::routes::BodySpoolConfig;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// When a body is spooled, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodySpoolPolicy {
    /// The size in bytes above which a body is spooled.
    pub threshold: u64,
    pub folder: Arc<Path>,
}

/// Builds the settings that `config` describes; reports a folder that cannot be used.
pub(crate) fn build(
    config: &BodySpoolConfig,
    folder: &Path,
    problems: &mut ProblemCollector<'_>,
) -> BodySpoolPolicy {
    let BodySpoolConfig {
        threshold,
        folder: named,
    } = config;
    let spool_folder = match named {
        Some(named) => folder.join(named),
        None => std::env::temp_dir(),
    };
    if let Err(error) = nameless_file(&spool_folder) {
        let shown = spool_folder.display();
        let reason = format!("cannot create files in {shown}: {error}");
        match named {
            Some(_) => problems.error(
                "/server/spool/folder",
                reason,
                Some("create this folder and make it writable for the user that runs headgate"),
            ),
            None => problems.warning(
                "",
                format!("{reason}; request bodies above {threshold} will get 503"),
                Some("set `server.spool.folder`"),
            ),
        }
    }
    BodySpoolPolicy {
        threshold: threshold.bytes(),
        folder: spool_folder.into(),
    }
}

/// Creates an unlinked file in `folder`: no other process can open it, and the system removes it when it is closed.
///
/// # Errors
/// The file cannot be created.
pub fn nameless_file(folder: &Path) -> io::Result<File> {
    let path = fresh_path(folder)?;
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

fn fresh_path(folder: &Path) -> io::Result<PathBuf> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(folder.join(format!(
        "headgate-spool-{:032x}",
        u128::from_ne_bytes(random)
    )))
}

#[cfg(test)]
mod tests {
    use super::nameless_file;
    use std::fs;
    use std::io::{Read, Seek, Write};

    #[test]
    fn a_file_without_a_name_holds_what_is_written_and_leaves_nothing_behind() {
        let folder = std::env::temp_dir().join(format!("headgate-spooling-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let mut file = nameless_file(&folder).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        file.write_all(b"body").unwrap();
        file.rewind().unwrap();
        let mut read = String::new();
        file.read_to_string(&mut read).unwrap();
        assert_eq!(read, "body");
        fs::remove_dir(&folder).unwrap();
        assert!(nameless_file(&folder).is_err());
    }
}
