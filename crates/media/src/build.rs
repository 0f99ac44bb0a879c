//! Builds the media store from its configuration. Opens nothing.

use crate::config::MediaConfig;
use crate::{MediaLimits, MediaLocation, MediaSettings, MediaStore, SharedMediaState};
use headgate_core::feature::section::ConfigProblemSink;
use headgate_core::state::StateStore;
use std::path::{Component, Path, PathBuf, absolute};
use std::sync::Arc;
use std::time::Duration;

/// The longest that a task may live, 259,200 s, and an hour: no file is removed while a task that names it is not
/// terminal.
const TTL_MIN: Duration = Duration::from_secs(259_200 + 3_600);
/// The longest that a presigned URL may be valid, by the rules of S3.
const PRESIGNED_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The directory of files if none is configured, in the folder of the configuration.
const DEFAULT_DIRECTORY: &str = "media";

pub(crate) fn build(
    config: &MediaConfig,
    folder: &Path,
    state: &Arc<dyn StateStore>,
    shared: &Arc<SharedMediaState>,
    problems: &mut dyn ConfigProblemSink,
) -> Arc<MediaStore> {
    let MediaConfig {
        directory,
        s3,
        ttl,
        files_per_caller,
        bytes_per_caller,
        max_bytes,
    } = config;
    if ttl.duration() < TTL_MIN {
        problems.error(
            "/media/ttl",
            "`ttl` must be at least 73h: tasks may live for 72 hours, and read their media until their end",
            None,
        );
    }
    if let Some(bucket) = s3 {
        if directory.is_some() {
            let reason = "`directory` has no effect with `s3`";
            problems.error("/media/directory", reason, Some("remove one of them"));
        }
        if bucket.presigned && ttl.duration() > PRESIGNED_MAX {
            let reason = "`ttl` must be at most 168h with `presigned`: S3 allows no longer URLs";
            problems.error("/media/ttl", reason, None);
        }
    }
    let location = s3.as_ref().and_then(|config| {
        Some(MediaLocation::Bucket {
            bucket: config.bucket.build("/media/s3", problems)?,
            is_presigned: config.presigned,
        })
    });
    let directory = directory.as_deref().unwrap_or(Path::new(DEFAULT_DIRECTORY));
    let local = || MediaLocation::Directory(directory_in(folder, directory));
    let settings = MediaSettings {
        location: location.unwrap_or_else(local),
        ttl: ttl.duration(),
        limits: MediaLimits {
            objects_per_caller: *files_per_caller,
            bytes_per_caller: bytes_per_caller.bytes(),
            bytes: max_bytes.bytes(),
        },
    };
    let store = MediaStore::new(settings.clone(), state.clone(), shared.clone());
    let store = store.or_else(|reason| {
        problems.error("/media", reason, None);
        let location = MediaLocation::Directory(std::env::temp_dir());
        let settings = MediaSettings {
            location,
            ..settings
        };
        MediaStore::new(settings, state.clone(), shared.clone())
    });
    Arc::new(store.expect("the directory of temporary files has a plain name"))
}

/// An absolute path without `..`, which names of objects may not have.
fn directory_in(folder: &Path, directory: &Path) -> PathBuf {
    let directory = folder.join(directory);
    without_parents(&absolute(&directory).unwrap_or(directory))
}

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
