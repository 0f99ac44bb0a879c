//! Stores files in the media store and makes the URLs by which providers and callers read them.

use crate::token::MediaToken;
use crate::{ContentDescriptor, MEDIA_PATH, MediaStore, MediaStoreError, StoredObject};
use bytes::Bytes;
use headgate_core::catalog::public_url::PublicUrl;
use headgate_core::filter::descriptor::{BuildContext, FilterProvision, InvalidSettings};
use headgate_core::task::TaskSettings;
use headgate_protocol::fault::{Fault, FaultKind};
use std::sync::Arc;
use std::time::Duration;

/// Suggested in `retry-after` if the store does not work.
const STORE_RETRY: Duration = Duration::from_secs(10);

/// The media store, and what URLs of its files are made of.
pub struct MediaPublisher {
    store: Arc<MediaStore>,
    tasks: Arc<TaskSettings>,
    /// `None` if URLs lead to a bucket.
    public_url: Option<PublicUrl>,
}

impl MediaPublisher {
    /// `None` if nobody could reach the files: URLs do not lead to a bucket, and the gateway has no public URL or no
    /// route that serves them.
    pub fn from_context(context: &BuildContext<'_>) -> Option<Self> {
        let store = context.features.get::<MediaStore>();
        let is_served = context.public_url.is_some() && serves_media(context);
        if !is_served && !store.is_presigned() {
            return None;
        }
        Some(Self {
            store,
            tasks: context.tasks.clone(),
            public_url: context.public_url.cloned(),
        })
    }

    /// Warns if files would have URLs, were there a route that serves them.
    pub fn warn_of_missing_route(context: &BuildContext<'_>) {
        let store = context.features.get::<MediaStore>();
        if context.public_url.is_some() && !serves_media(context) && !store.is_presigned() {
            context.warn(
                InvalidSettings::new("no route serves stored media, so that they have no URLs")
                    .hint("add a route with `match: GET|HEAD /_headgate/media/{token}` and `request: [serve_media]`"),
            );
        }
    }

    /// Warns of settings by which files could not be stored, or would be lost.
    pub fn warn_of_settings(context: &BuildContext<'_>) {
        let store = context.features.get::<MediaStore>();
        if let Err(reason) = store.check_directory() {
            context.warn(
                InvalidSettings::new(format!("{reason}; what is to be stored will get 503"))
                    .hint("make `media.directory` writable for the user that runs headgate"),
            );
        } else if store.is_directory_open_to_others() {
            context.warn(
                InvalidSettings::new("other users of this machine may read `media.directory`")
                    .hint("run `chmod 700` on it"),
            );
        }
        if !context.state_survives {
            context.warn(
                InvalidSettings::new(
                    "stored files are lost when the gateway stops: `state` is memory",
                )
                .hint("set `state` to a file or to Redis"),
            );
        }
    }

    /// Stores a file for `owner`, and returns its URL. `pieces` are read outside the worker threads.
    ///
    /// # Errors
    /// The content cannot be stored: 503, or 429 if the caller has too much of it.
    pub async fn store(
        &self,
        owner: &Arc<str>,
        content: &ContentDescriptor,
        pieces: impl Iterator<Item = Bytes> + Send + 'static,
    ) -> Result<String, Fault> {
        let stored = self.store.put(owner, content, pieces).await;
        let stored = stored.map_err(store_fault)?;
        self.media_url(&stored, &content.content_type).await
    }

    async fn media_url(&self, stored: &StoredObject, content_type: &str) -> Result<String, Fault> {
        let presigned = self.store.presigned_url(stored, content_type).await;
        if let Some(url) = presigned.map_err(store_fault)? {
            return Ok(url);
        }
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
        let public_url = self.public_url.as_ref().ok_or_else(unavailable)?;
        Ok(public_url.join(&format!("{MEDIA_PATH}{token}")))
    }
}

fn store_fault(error: MediaStoreError) -> Fault {
    if let MediaStoreError::OwnerFull = error {
        return Fault::new(
            FaultKind::TooManyRequests,
            "this API key has as many stored media files, or as many bytes in them, as it may have; send http or https URLs, or try again when files have expired",
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

/// Whether a route serves the files of the media store at the path that their URLs have.
fn serves_media(context: &BuildContext<'_>) -> bool {
    (context.is_provided_at)(MEDIA_PATH, FilterProvision::Media)
}
