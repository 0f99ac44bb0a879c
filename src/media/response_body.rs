//! Bodies of responses that are kept for retries. No URL leads to them.

use super::content::{ContentDigest, ContentInfo, pieces_of};
use super::error::MediaStoreError;
use super::object::StoredObject;
use super::reader::ObjectReader;
use super::store::MediaStore;
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// How long a caller waits for its response because the body is being stored.
const PUT_TIMEOUT: Duration = Duration::from_secs(10);

impl MediaStore {
    /// Stores the body of a response to a caller for at least `lifetime`. It counts apart from the files of its caller,
    /// with the same maximum.
    ///
    /// # Errors
    /// The body could not be stored in time.
    pub async fn put_response_body(
        self: &Arc<Self>,
        caller: &str,
        body: Bytes,
        lifetime: Duration,
    ) -> Result<StoredObject, MediaStoreError> {
        let hashed = body.clone();
        let digest = spawn_blocking(move || ContentDigest::of(&hashed)).await;
        let digest = digest.map_err(|_| MediaStoreError::ContentChanged)?;
        let content = ContentInfo {
            digest,
            size: body.len() as u64,
            content_type: "application/octet-stream".into(),
        };
        let owner = format!("{caller}\u{1f}responses").into();
        let turns = self.shared.response_writes.clone();
        let put = self.put_for(&owner, &content, pieces_of(body), turns, lifetime);
        timeout(PUT_TIMEOUT, put)
            .await
            .map_err(|_| MediaStoreError::Busy)?
    }

    /// Opens the body of a response; `None` if it has expired, or somebody else has removed it.
    ///
    /// # Errors
    /// The records or the objects are unreachable.
    pub async fn open_response_body(
        self: &Arc<Self>,
        digest: ContentDigest,
        size: u64,
    ) -> Result<Option<ObjectReader>, MediaStoreError> {
        match self.find(digest).await? {
            Some(object) if object.size == size => self.open(&object, 0, size).await,
            Some(_) | None => Ok(None),
        }
    }
}
