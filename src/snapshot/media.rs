//! Builds the media store from its configuration. Opens nothing.

use super::ProblemCollector;
use crate::config::media::MediaConfig;
use crate::media::{LocalMediaSettings, MediaSettings, MediaStore};
use crate::state::StateStore;
use std::path::{Component, Path, PathBuf, absolute};
use std::sync::Arc;
use std::time::Duration;

/// The longest that a task may live, 259,200 s, and an hour: no file is removed while a task that names it is not
/// terminal.
const TTL_MIN: Duration = Duration::from_secs(259_200 + 3_600);

pub(crate) fn build(
    config: &MediaConfig,
    folder: &Path,
    state: &Arc<dyn StateStore>,
    problems: &mut ProblemCollector<'_>,
) -> Arc<MediaStore> {
    let MediaConfig {
        directory,
        ttl,
        files_per_caller,
    } = config;
    if ttl.duration() < TTL_MIN {
        problems.error(
            "/media/ttl",
            "`ttl` must be at least 73h: tasks may live for 72 hours, and read their media until their end",
            None,
        );
    }
    let directory = folder.join(directory);
    let settings = MediaSettings {
        local: LocalMediaSettings {
            directory: without_parents(&absolute(&directory).unwrap_or(directory)),
        },
        ttl: ttl.duration(),
        objects_per_caller: *files_per_caller,
    };
    Arc::new(MediaStore::new(settings, state.clone()))
}

/// An absolute path without `..`, which names of objects may not have.
fn without_parents(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(plain.pop()),
            component => plain.push(component),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_may_be_beside_the_configuration() {
        for (path, plain) in [
            ("/etc/headgate/../media", "/etc/media"),
            ("/etc/headgate/./media/", "/etc/headgate/media"),
            ("/../../media", "/media"),
        ] {
            assert_eq!(without_parents(Path::new(path)), Path::new(plain), "{path}");
        }
    }
}
