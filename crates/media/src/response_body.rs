//! Bodies of responses that are kept for retries. No URL leads to them.

use super::content::{ContentDigest, ContentInfo, split_pieces};
use super::error::MediaStoreError;
use super::object::StoredObject;
use super::reader::ObjectReader;
use super::store::MediaStore;
use bytes::Bytes;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

/// How long storing the body of a response is tried.
#[derive(Clone, Copy, Debug)]
pub struct StoreDeadline {
    pub(super) max_wait: Duration,
    /// How long after a failure it is tried again, if `max_wait` permits that.
    pub(super) retry_interval: Duration,
}

impl StoreDeadline {
    /// Of a response that its caller waits for.
    pub const BEFORE_DELIVERY: Self = Self {
        max_wait: Duration::from_secs(10),
        retry_interval: Duration::from_secs(10),
    };
    /// Of a stream that was delivered, or whose caller has left: only its duplicates wait.
    pub const AFTER_DELIVERY: Self = Self {
        max_wait: Duration::from_secs(5 * 60),
        retry_interval: Duration::from_secs(10),
    };
}

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
        deadline: StoreDeadline,
    ) -> Result<StoredObject, MediaStoreError> {
        let began = Instant::now();
        let hashed = body.clone();
        let digest = spawn_blocking(move || ContentDigest::from_content(&hashed)).await;
        let digest = digest.map_err(|_| MediaStoreError::ContentChanged)?;
        let content = ContentInfo {
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
