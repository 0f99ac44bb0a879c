//! Stores files in the media store and makes the URLs by which providers and callers read them.

use super::descriptor::BuildContext;
use crate::catalog::public_url::PublicUrl;
use crate::media::token::MediaToken;
use crate::media::{ContentInfo, MEDIA_PATH, MediaStore, MediaStoreError, StoredObject};
use crate::protocol::fault::{Fault, FaultKind};
use crate::task::TaskSettings;
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;

/// Suggested in `retry-after` if the store does not work.
const STORE_RETRY: Duration = Duration::from_secs(10);

/// The media store, and what URLs of its files are made of.
pub struct MediaHosting {
    store: Arc<MediaStore>,
    tasks: Arc<TaskSettings>,
    public_url: PublicUrl,
}

impl MediaHosting {
    /// `None` if nobody could reach the files: the gateway has no public URL.
    pub fn from_context(context: &BuildContext<'_>) -> Option<Self> {
        Some(Self {
            store: context.media.clone(),
            tasks: context.tasks.clone(),
            public_url: context.public_url?.clone(),
        })
    }

    /// Stores a file for `owner`, and returns its URL. `pieces` are read outside the worker threads.
    ///
    /// # Errors
    /// The content cannot be stored: 503, or 429 if the caller has too much of it.
    pub async fn store(
        &self,
        owner: &Arc<str>,
        content: &ContentInfo,
        pieces: impl Iterator<Item = Bytes> + Send + 'static,
    ) -> Result<String, Fault> {
        let stored = self.store.put(owner, content, pieces).await;
        let stored = stored.map_err(fault_of)?;
        self.url_of(&stored, &content.content_type)
    }

    fn url_of(&self, stored: &StoredObject, content_type: &str) -> Result<String, Fault> {
        let keys = self
            .tasks
            .keys()
            .map_err(|error| unavailable().source(error))?;
        let token = MediaToken {
            digest: stored.digest,
            expires_s: stored.expires_s,
            content_type: content_type.to_owned(),
        };
        let token = token.seal(keys);
        Ok(self.public_url.join(&format!("{MEDIA_PATH}{token}")))
    }
}

fn fault_of(error: MediaStoreError) -> Fault {
    if let MediaStoreError::OwnerFull = error {
        return Fault::new(
            FaultKind::TooManyRequests,
            "this API key has as many stored media files as it may have; send http or https URLs, or try again when files have expired",
        );
    }
    tracing::error!(%error, "cannot write to the media store");
    unavailable().detail(error.to_string()).source(error)
}

fn unavailable() -> Fault {
    Fault::new(
        FaultKind::Overloaded,
        "the gateway cannot store media at the moment; try again later, or send http or https URLs",
    )
    .retry_after(STORE_RETRY)
}
