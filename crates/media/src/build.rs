//! Builds the media store from its configuration. Opens nothing.

use crate::config::{MediaBucketConfig, MediaConfig};
use crate::{
    BucketSettings, MediaLimits, MediaLocation, MediaSettings, MediaStore, SharedMediaState,
};
use headgate_core::catalog::base_url;
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
const DEFAULT_REGION: &str = "us-east-1";

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
    let bucket = s3.as_ref();
    let location = bucket.and_then(|bucket| build_bucket(bucket, problems));
    let directory = directory.as_deref().unwrap_or(Path::new(DEFAULT_DIRECTORY));
    let local = || MediaLocation::Directory(directory_in(folder, directory));
    let settings = MediaSettings {
        location: location.map_or_else(local, MediaLocation::Bucket),
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

fn build_bucket(
    config: &MediaBucketConfig,
    problems: &mut dyn ConfigProblemSink,
) -> Option<BucketSettings> {
    let MediaBucketConfig {
        endpoint,
        region,
        bucket,
        prefix,
        path_style,
        access_key_id,
        secret_access_key,
        presigned,
    } = config;
    let region = region.as_deref().unwrap_or(DEFAULT_REGION);
    let has_bucket_in_path = path_style.unwrap_or(endpoint.is_some());
    let amazon = format!("https://s3.{region}.amazonaws.com");
    let server = base_url::parse(endpoint.as_deref().unwrap_or(&amazon));
    let server = server
        .map_err(|reason| problems.error("/media/s3/endpoint", reason, None))
        .ok()?;
    if !server.path.is_empty() {
        let reason = "the endpoint must not have a path";
        problems.error(
            "/media/s3/endpoint",
            reason,
            Some("use `bucket` and `prefix`"),
        );
        return None;
    }
    let scheme = if server.tls { "https" } else { "http" };
    let authority = server.authority.to_str().ok()?;
    Some(BucketSettings {
        endpoint: match has_bucket_in_path {
            true => format!("{scheme}://{authority}"),
            false => format!("{scheme}://{bucket}.{authority}"),
        },
        region: region.to_owned(),
        bucket: bucket.clone(),
        prefix: prefix.trim_matches('/').to_owned(),
        has_bucket_in_path,
        access_key_id: access_key_id.expose().to_owned(),
        secret_access_key: secret_access_key.expose().to_owned(),
        is_presigned: *presigned,
    })
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
