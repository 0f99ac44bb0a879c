//! Bodies of responses that are kept for retries. No URL leads to them.

use super::content::{ContentDescriptor, ContentDigest, split_pieces};
use super::error::MediaStoreError;
use super::object::StoredObject;
use super::reader::ObjectReader;
use super::store::MediaStore;
use bytes::Bytes;
use headgate_core::large_bodies::{
    BodyStoreRetryPolicy, LargeBodyFuture, LargeResponseReader, LargeResponseStore,
    StoredBodyReference,
};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

impl MediaStore {
    /// Stores the body of a response to a caller for at least `lifetime`. It counts apart from the files of its caller,
    /// with the same maximum.
    ///
    /// # Errors
    /// The body could not be stored before the deadline.
    pub async fn put_response_body(
        self: &Arc<Self>,
        caller: &str,
        body: Bytes,
        lifetime: Duration,
        deadline: BodyStoreRetryPolicy,
    ) -> Result<StoredObject, MediaStoreError> {
        let began = Instant::now();
        let hashed = body.clone();
        let digest = spawn_blocking(move || ContentDigest::from_content(&hashed)).await;
        let digest = digest.map_err(|_| MediaStoreError::ContentChanged)?;
        let content = ContentDescriptor {
            digest,
            size: body.len() as u64,
            content_type: "application/octet-stream".into(),
        };
        let owner = format!("{caller}\u{1f}responses").into();
        loop {
            let turns = self.shared.response_writes.clone();
            let put = self.put_for(
                &owner,
                &content,
                split_pieces(body.clone()),
                turns,
                lifetime,
            );
            let remaining = deadline.max_wait.saturating_sub(began.elapsed());
            let error = match timeout(remaining, put).await {
                Ok(Ok(object)) => return Ok(object),
                Ok(Err(error)) => error,
                Err(_) => MediaStoreError::Busy,
            };
            let is_last = began.elapsed() + deadline.retry_interval >= deadline.max_wait;
            if is_last || !error.is_temporary() {
                return Err(error);
            }
            sleep(deadline.retry_interval).await;
        }
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

/// The media store as the store of large bodies.
pub(crate) struct MediaLargeBodyStore(pub Arc<MediaStore>);

impl LargeResponseStore for MediaLargeBodyStore {
    fn put<'a>(
        &'a self,
        caller: &'a str,
        body: Bytes,
        lifetime: Duration,
        deadline: BodyStoreRetryPolicy,
    ) -> LargeBodyFuture<'a, StoredBodyReference> {
        Box::pin(async move {
            let put = self.0.put_response_body(caller, body, lifetime, deadline);
            let object = put.await?;
            Ok(StoredBodyReference {
                sha256: object.digest.to_string(),
                size: object.size,
            })
        })
    }

    fn open<'a>(
        &'a self,
        body: &'a StoredBodyReference,
    ) -> LargeBodyFuture<'a, Option<Box<dyn LargeResponseReader>>> {
        Box::pin(async move {
            let Some(digest) = ContentDigest::from_hex(&body.sha256) else {
                return Ok(None);
            };
            let opened = self.0.open_response_body(digest, body.size).await?;
            Ok(opened.map(|reader| Box::new(reader) as Box<dyn LargeResponseReader>))
        })
    }

    fn file_lifetime(&self) -> Duration {
        self.0.settings.ttl
    }
}

impl LargeResponseReader for ObjectReader {
    fn next_piece(&mut self) -> LargeBodyFuture<'_, Option<Bytes>> {
        Box::pin(async { Ok(ObjectReader::next_piece(self).await?) })
    }
}
