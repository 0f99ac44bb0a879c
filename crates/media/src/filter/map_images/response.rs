//! Completes the response to an image edit with the fields and images that the protocol promises.

use super::inline::inline;
use super::to_urls::to_urls;
use crate::hosting::MediaPublisher;
use bytes::Bytes;
use headgate_core::catalog::egress::EgressPolicy;
use headgate_core::filter::view::{RequestView, ResponseView};
use headgate_core::state::calendar::unix_ms;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::images;
use headgate_protocol::images::{RequestedImageDelivery, complete};
use headgate_protocol::json::edit::JsonEdits;
use headgate_protocol::json::{DocumentNode, JsonDocument, JsonLimits, ValueKind};
use headgate_protocol::redact::redact;
use http::{HeaderName, HeaderValue};
use serde::de::IgnoredAny;

/// Lists request fields that had no effect.
const IGNORED: HeaderName = HeaderName::from_static("x-headgate-ignored");
const RESPONSE_FORMAT: HeaderValue = HeaderValue::from_static(images::RESPONSE_FORMAT);

/// Reports `response_format` as ignored if it asks for URLs in a stream: streams always hold base64 images.
pub(super) fn name_ignored_for_streams(request: &mut RequestView) {
    let streams_urls = request.body.document().is_some_and(|requested| {
        let streams = requested
            .root()
            .get("stream")
            .and_then(DocumentNode::as_bool);
        streams == Some(true)
            && RequestedImageDelivery::requested_by(requested) == Some(RequestedImageDelivery::Url)
    });
    if streams_urls {
        request.response_headers.push((IGNORED, RESPONSE_FORMAT));
    }
}

/// Completes a response. What cannot be completed is left as it is, because the edit was paid for.
///
/// # Errors
/// The response is not JSON, not an object, or an error without images.
pub(super) async fn finish(
    response: &mut ResponseView<'_>,
    body: &mut Bytes,
    egress: &EgressPolicy,
    hosting: Option<&MediaPublisher>,
) -> Result<(), Fault> {
    let request = &*response.request;
    let Some(requested) = request.body.document() else {
        return Ok(());
    };
    let document = match JsonDocument::parse(body.clone(), &JsonLimits::default()) {
        Ok(document) => document,
        // The gateway's parser is stricter than JSON requires; the caller's may accept this body.
        Err(_) if serde_json::from_slice::<IgnoredAny>(body).is_ok() => {
            tracing::warn!(
                id = &*request.id,
                "the response to an image edit is not strict JSON"
            );
            return Ok(());
        }
        Err(_) => return Err(no_images(body)),
    };
    let root = document.root();
    let has = |name: &str| root.get(name).is_some_and(|value| !value.is_null());
    if root.kind() != ValueKind::Object || has("error") && !has("data") {
        return Err(no_images(body));
    }
    let mut edits = JsonEdits::default();
    complete(&mut edits, &document, requested, unix_ms() / 1000);
    let is_as_requested = match RequestedImageDelivery::requested_by(requested) {
        None => true,
        Some(RequestedImageDelivery::Url) => {
            let mismatched = RequestedImageDelivery::Url.mismatched_images(&document);
            mismatched.is_empty() || to_urls(&mismatched, body, hosting, request, &mut edits).await
        }
        Some(RequestedImageDelivery::Base64) => {
            let mismatched = RequestedImageDelivery::Base64.mismatched_images(&document);
            let fetch = request.fetch.as_deref();
            inline(&mismatched, fetch, egress, &mut edits, &request.id).await
        }
    };
    if !is_as_requested {
        response.headers.insert(IGNORED, RESPONSE_FORMAT);
    }
    if !edits.is_empty() {
        *body = edits.apply(body).to_bytes();
    }
    Ok(())
}

/// The provider may have made and billed the edit nevertheless.
fn no_images(body: &[u8]) -> Fault {
    const SHOWN_BYTES: usize = 2000;
    let beginning = redact(&body[..body.len().min(SHOWN_BYTES)], &[]).into_owned();
    Fault::new(
        FaultKind::UnreadableResponse,
        "the provider's response has no images, and the edit may have been billed; tell the operator of this gateway",
    )
    .detail(format!("response: {}", String::from_utf8_lossy(&beginning)))
}
