//! The object store: a local directory, or a bucket of an S3-compatible server.

use super::error::MediaStoreError;
use super::settings::MediaLocation;
use super::shared::SharedMediaState;
use bytes::Bytes;
use http::Method;
use object_store::aws::AmazonS3;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::signer::{SignedUrlOptions, Signer};
use object_store::{
    Attribute, Attributes, GetResultPayload, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt, PutMultipartOptions, PutOptions,
};
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// How long one operation on an object may take.
pub(super) const OPERATION_TIMEOUT: Duration = Duration::from_secs(60);

/// Objects under names, all below one prefix.
pub(super) struct ObjectStorage {
    objects: Arc<dyn ObjectStore>,
    prefix: Path,
    place: StoragePlace,
}

enum StoragePlace {
    Directory(PathBuf),
    Bucket {
        signer: Arc<AmazonS3>,
        is_presigned: bool,
    },
}

/// The content of an object that is open for reading.
pub(super) enum OpenObject {
    File(Arc<File>),
    /// In a bucket: each piece is requested.
    Remote,
}

impl ObjectStorage {
    /// A storage that opens nothing until it is used.
    ///
    /// # Errors
    /// The settings cannot be those of a storage; a sentence for the operator.
    pub fn new(location: &MediaLocation, shared: &Arc<SharedMediaState>) -> Result<Self, String> {
        match location {
            MediaLocation::Directory(directory) => Ok(Self {
                objects: Arc::new(LocalFileSystem::new().with_fsync(true)),
                prefix: Path::from_absolute_path(directory).map_err(|error| error.to_string())?,
                place: StoragePlace::Directory(directory.clone()),
            }),
            MediaLocation::Bucket {
                bucket,
                is_presigned,
            } => {
                let opened = bucket.open(&shared.client);
                let signer = Arc::new(opened.map_err(|error| error.to_string())?);
                Ok(Self {
                    objects: signer.clone(),
                    prefix: Path::parse(&bucket.prefix).map_err(|error| error.to_string())?,
                    place: StoragePlace::Bucket {
                        signer,
                        is_presigned: *is_presigned,
                    },
                })
            }
        }
    }

    /// The size of the parts that an object is written in, in bytes. Buckets take none below 5 MiB but the last.
    pub fn part_bytes(&self) -> usize {
        match self.place {
            StoragePlace::Directory(_) => 1 << 20,
            StoragePlace::Bucket { .. } => 5 << 20,
        }
    }

    /// The directory of local files.
    pub fn directory(&self) -> Option<&PathBuf> {
        match &self.place {
            StoragePlace::Directory(directory) => Some(directory),
            StoragePlace::Bucket { .. } => None,
        }
    }

    pub fn is_presigned(&self) -> bool {
        matches!(self.place, StoragePlace::Bucket { is_presigned, .. } if is_presigned)
    }

    /// Prepares a write: creates the directory of a local store, for the user of the process only.
    pub async fn prepare(&self) -> Result<(), MediaStoreError> {
        let StoragePlace::Directory(directory) = &self.place else {
            return Ok(());
        };
        let directory = directory.clone();
        let create = move || {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(directory)
        };
        file_result(timeout(OPERATION_TIMEOUT, spawn_blocking(create)).await)
    }

    /// Writes a small object.
    pub async fn put(
        &self,
        location: &Path,
        content: Bytes,
        content_type: &str,
    ) -> Result<(), MediaStoreError> {
        let (path, options) = (
            self.path(location),
            PutOptions {
                attributes: self.attributes(content_type),
                ..PutOptions::default()
            },
        );
        let written = self.objects.put_opts(&path, content.into(), options);
        in_time(written).await.map(drop)
    }

    /// Begins to write an object in parts.
    pub async fn put_parts(
        &self,
        location: &Path,
        content_type: &str,
    ) -> Result<Box<dyn MultipartUpload>, MediaStoreError> {
        let (path, objects) = (self.path(location), self.objects.clone());
        let options = PutMultipartOptions {
            attributes: self.attributes(content_type),
            ..PutMultipartOptions::default()
        };
        match self.place {
            StoragePlace::Bucket { .. } => {
                in_time(objects.put_multipart_opts(&path, options)).await
            }
            // A local upload creates its folder and its file where it is called.
            StoragePlace::Directory(_) => {
                let runtime = Handle::current();
                let begin = move || runtime.block_on(objects.put_multipart_opts(&path, options));
                let begun = timeout(OPERATION_TIMEOUT, spawn_blocking(begin)).await;
                let begun = begun.map_err(|_| MediaStoreError::Stalled(OPERATION_TIMEOUT))?;
                let begun = begun.map_err(|error| MediaStoreError::Files(io::Error::other(error)));
                Ok(begun??)
            }
        }
    }

    /// Opens an object; `None` if there is none of this size.
    pub async fn open(
        &self,
        location: &Path,
        size: u64,
    ) -> Result<Option<OpenObject>, MediaStoreError> {
        let path = self.path(location);
        let opened = match self.place {
            StoragePlace::Directory(_) => {
                let found = in_time(self.objects.get_opts(&path, Default::default())).await;
                found.map(|found| (found.meta.size, Some(found.payload)))
            }
            StoragePlace::Bucket { .. } => {
                let found = in_time(self.objects.head(&path)).await;
                found.map(|found| (found.size, None))
            }
        };
        match opened {
            Ok((found, _)) if found != size => Ok(None),
            Ok((_, Some(GetResultPayload::File(file, _)))) => {
                Ok(Some(OpenObject::File(Arc::new(file))))
            }
            Ok(_) => Ok(Some(OpenObject::Remote)),
            Err(error) if is_not_found(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A part of an object in a bucket.
    pub async fn get(
        &self,
        location: &Path,
        start: u64,
        end: u64,
    ) -> Result<Bytes, MediaStoreError> {
        in_time(self.objects.get_range(&self.path(location), start..end)).await
    }

    /// Whether there is an object of this size.
    pub async fn contains(&self, location: &Path, size: u64) -> Result<bool, MediaStoreError> {
        match in_time(self.objects.head(&self.path(location))).await {
            Ok(found) => Ok(found.size == size),
            Err(error) if is_not_found(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes an object, if it is there.
    pub async fn delete(&self, location: &Path) -> Result<(), MediaStoreError> {
        match in_time(self.objects.delete(&self.path(location))).await {
            Err(error) if !is_not_found(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// The complete objects of a folder, with their names in it.
    pub async fn list(&self, folder: &str) -> Result<Vec<(String, ObjectMeta)>, MediaStoreError> {
        let folder = self.path(&Path::from(folder));
        let listed = match in_time(self.objects.list_with_delimiter(Some(&folder))).await {
            Err(error) if is_not_found(&error) => return Ok(Vec::new()),
            listed => listed?,
        };
        let named = listed.objects.into_iter().filter_map(|found| {
            let name = found.location.filename()?.to_owned();
            Some((name, found))
        });
        Ok(named.collect())
    }

    /// The URL of an object for whoever has it, if URLs lead to the bucket.
    pub async fn presigned_url(
        &self,
        location: &Path,
        content_type: &str,
        is_attachment: bool,
        expires_in: Duration,
    ) -> Result<Option<String>, MediaStoreError> {
        let StoragePlace::Bucket {
            signer,
            is_presigned: true,
        } = &self.place
        else {
            return Ok(None);
        };
        let mut query = vec![("response-content-type", content_type)];
        if is_attachment {
            query.push(("response-content-disposition", "attachment"));
        }
        let options = SignedUrlOptions::new().with_query(query);
        let path = self.path(location);
        let signed = signer.signed_url_opts(Method::GET, &path, expires_in, &options);
        Ok(Some(signed.await?.to_string()))
    }

    fn path(&self, location: &Path) -> Path {
        self.prefix.parts().chain(location.parts()).collect()
    }

    /// Files have no attributes.
    fn attributes(&self, content_type: &str) -> Attributes {
        match self.place {
            StoragePlace::Directory(_) => Attributes::new(),
            StoragePlace::Bucket { .. } => {
                Attributes::from_iter([(Attribute::ContentType, content_type.to_owned())])
            }
        }
    }
}

async fn in_time<T>(
    operation: impl Future<Output = object_store::Result<T>>,
) -> Result<T, MediaStoreError> {
    let done = timeout(OPERATION_TIMEOUT, operation).await;
    let done = done.map_err(|_| MediaStoreError::Stalled(OPERATION_TIMEOUT))?;
    Ok(done?)
}

fn is_not_found(error: &MediaStoreError) -> bool {
    matches!(
        error,
        MediaStoreError::Objects(object_store::Error::NotFound { .. })
    )
}

/// The result of work on files outside the worker threads.
pub(super) fn file_result<T>(
    done: Result<Result<io::Result<T>, tokio::task::JoinError>, tokio::time::error::Elapsed>,
) -> Result<T, MediaStoreError> {
    let done = done.map_err(|_| MediaStoreError::Stalled(OPERATION_TIMEOUT))?;
    done.map_err(io::Error::other)
        .and_then(|done| done)
        .map_err(MediaStoreError::Files)
}
