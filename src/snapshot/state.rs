//! Where state is kept, from its configuration. Nothing is opened here.

use super::Problems;
use crate::config::state::{SqliteConfig, StateConfig};
use crate::state::site::{FileSite, Site};
use std::path::Path;

/// The store that `config` describes; memory where it has problems, which are reported.
pub(crate) fn build(config: &StateConfig, folder: &Path, problems: &mut Problems<'_>) -> Site {
    match config {
        StateConfig::Memory => Site::Memory,
        StateConfig::Sqlite(SqliteConfig { path, keep }) => {
            let path = folder.join(path);
            let parent = path
                .parent()
                .filter(|parent| !parent.as_os_str().is_empty());
            if parent.is_some_and(|parent| !parent.is_dir()) {
                problems.error(
                    "/state",
                    "the folder of this file does not exist",
                    Some(
                        "make it, or name another; the path is relative to the folder of this file",
                    ),
                );
            }
            Site::File(FileSite {
                path,
                keep: keep.duration(),
            })
        }
        StateConfig::Redis(_) => {
            problems.error("/state", "there is no store for Redis yet", None);
            Site::Memory
        }
    }
}
