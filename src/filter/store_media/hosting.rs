//! Stores a checked data URI and makes its URL.

use super::check::CheckedContent;
use super::found::FoundDataUri;
use crate::catalog::public_url::PublicUrl;
use crate::media::token::MediaToken;
use crate::media::{MEDIA_PATH, MediaStore, MediaStoreError};
use crate::protocol::data_uri::DataUriDecoder;
use crate::protocol::fault::{Fault, FaultKind};
use crate::task::TaskSettings;
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;

/// Suggested in `retry-after` if the store does not work.
const STORE_RETRY: Duration = Duration::from_secs(10);

/// What URLs of stored media are made of.
pub(super) struct MediaHosting {
    pub store: Arc<MediaStore>,
    pub tasks: Arc<TaskSettings>,
    pub public_url: PublicUrl,
}

impl MediaHosting {
    /// Stores the content of a data URI, and returns its URL.
    ///
    /// # Errors
    /// The content cannot be stored: 503, or 429 if the caller has too much of it.
    pub async fn host(
        &self,
        owner: &Arc<str>,
        found: &FoundDataUri,
        content: CheckedContent,
    ) -> Result<String, Fault> {
        let CheckedContent {
            digest,
            size,
            content_type,
        } = content;
        let pieces = DecodedPieces(found.uri.decoder());
        let stored = self.store.put(owner, digest, size, pieces).await;
        let stored = stored.map_err(|error| fault_of(error, &found.param))?;
        let keys = self
            .tasks
            .keys()
            .map_err(|error| unavailable().source(error))?;
        let token = MediaToken {
            digest,
            expires_s: stored.expires_s,
            content_type: content_type.to_owned(),
        };
        let token = token.seal(keys);
        Ok(self.public_url.join(&format!("{}{token}", MEDIA_PATH)))
    }
}

/// The content of a data URI whose base64 is known to be valid.
struct DecodedPieces(DataUriDecoder);

impl Iterator for DecodedPieces {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let mut piece = Vec::new();
        self.0.next_piece(&mut piece).ok()?;
        (!piece.is_empty()).then(|| piece.into())
    }
}

fn fault_of(error: MediaStoreError, param: &str) -> Fault {
    if let MediaStoreError::OwnerFull = error {
        return Fault::new(
            FaultKind::TooManyRequests,
            "this API key has as many stored media files as it may have; send http or https URLs, or try again when files have expired",
        )
        .param(param);
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
