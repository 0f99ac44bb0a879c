//! Stores the images of a response that has them in base64, and inserts their URLs.

use super::image_content::InlineImageContent;
use crate::hosting::MediaPublisher;
use crate::within;
use bytes::Bytes;
use headgate_core::filter::view::RequestView;
use headgate_protocol::data_uri::DataUri;
use headgate_protocol::fault::Fault;
use headgate_protocol::images::ImageToConvert;
use headgate_protocol::json::edit::JsonEdits;
use headgate_protocol::json::quoted;
use std::sync::Arc;
use std::time::Duration;

/// How long a caller waits for the store after the response.
const WITHIN: Duration = Duration::from_secs(20);

/// Why an image of a response has no URL, for the operator.
#[derive(Debug, thiserror::Error)]
enum UnstoredImageReason {
    #[error("its base64 is invalid, or it is no image")]
    NotAnImage,
    #[error("{}", .0.detail.as_ref().unwrap_or(&.0.message))]
    Store(#[from] Fault),
    #[error("the media store did not respond in time")]
    TimedOut,
}

/// Stores the images of `mismatched`, which are in `body`, and inserts their URLs. Returns whether it did: either all
/// of them become URLs, or none.
pub(super) async fn to_urls(
    mismatched: &[ImageToConvert<'_>],
    body: &Bytes,
    hosting: Option<&MediaPublisher>,
    request: &RequestView,
    edits: &mut JsonEdits,
) -> bool {
    let (Some(hosting), Some(caller)) = (hosting, &request.caller) else {
        return false;
    };
    let storing = store_all(mismatched, body, hosting, &caller.name);
    let stored = within(WITHIN, storing).await;
    match stored.unwrap_or(Err(UnstoredImageReason::TimedOut)) {
        Ok(urls) => {
            for (image, url) in mismatched.iter().zip(urls) {
                image.refer(edits, quoted(&url));
            }
            true
        }
        Err(error) => {
            tracing::warn!(id = &*request.id, %error, "cannot store an edited image");
            false
        }
    }
}

async fn store_all(
    mismatched: &[ImageToConvert<'_>],
    body: &Bytes,
    hosting: &MediaPublisher,
    owner: &Arc<str>,
) -> Result<Vec<String>, UnstoredImageReason> {
    let mut urls = Vec::new();
    for image in mismatched {
        let text = image
            .base64_span()
            .map(|span| body.slice(span))
            .ok_or(UnstoredImageReason::NotAnImage)?;
        let content = InlineImageContent::Base64(match DataUri::read(&text) {
            None => DataUri::from_base64(text),
            Some(uri) => uri.map_err(|_| UnstoredImageReason::NotAnImage)?,
        });
        let identified = content
            .identify()
            .map_err(|_| UnstoredImageReason::NotAnImage)?;
        urls.push(hosting.store(owner, &identified, content.pieces()).await?);
    }
    Ok(urls)
}
