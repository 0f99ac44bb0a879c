//! What a caller is answered: the provider's answer, with what the protocol promises beyond it.

use super::inline::inline;
use crate::catalog::egress::Egress;
use crate::filter::view::{AnswerView, RequestView};
use crate::protocol::fault::{Fault, FaultKind};
use crate::protocol::images::{self, ImagesAs, complete};
use crate::protocol::json::edit::Edits;
use crate::protocol::json::{Document, Kind, Limits, Node};
use crate::protocol::redact::redact;
use crate::state::calendar::unix_ms;
use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use serde::de::IgnoredAny;

/// Names what the caller asked for in vain.
const IGNORED: HeaderName = HeaderName::from_static("x-headgate-ignored");
const RESPONSE_FORMAT: HeaderValue = HeaderValue::from_static(images::RESPONSE_FORMAT);

/// Streams hold images themselves, whatever was asked for.
pub(super) fn say_what_streams_lack(request: &mut RequestView) {
    let streams_urls = request.body.document().is_some_and(|asked| {
        let streams = asked.root().get("stream").and_then(Node::as_bool);
        streams == Some(true) && ImagesAs::asked_by(asked) == Some(ImagesAs::Url)
    });
    if streams_urls {
        request.answer_headers.insert(IGNORED, RESPONSE_FORMAT);
    }
}

/// Finishes an answer. Whatever cannot be done stays undone: the edit was paid for.
///
/// # Errors
/// The answer is none: no JSON at all, no object, or an error instead of images.
pub(super) async fn finish(
    answer: &mut AnswerView<'_>,
    body: &mut Bytes,
    egress: &Egress,
) -> Result<(), Fault> {
    let request = &*answer.request;
    let Some(asked) = request.body.document() else {
        return Ok(());
    };
    let document = match Document::parse(body.clone(), &Limits::default()) {
        Ok(document) => document,
        // Stricter than the caller's reader may be.
        Err(_) if serde_json::from_slice::<IgnoredAny>(body).is_ok() => {
            tracing::warn!(
                id = &*request.id,
                "the answer to an image edit is no strict JSON"
            );
            return Ok(());
        }
        Err(_) => return Err(no_images(body)),
    };
    let root = document.root();
    let says = |name: &str| root.get(name).is_some_and(|value| !value.is_null());
    if root.kind() != Kind::Object || says("error") && !says("data") {
        return Err(no_images(body));
    }
    let mut edits = Edits::default();
    complete(&mut edits, &document, asked, unix_ms() / 1000);
    let is_as_asked = match ImagesAs::asked_by(asked) {
        None => true,
        Some(ImagesAs::Url) => ImagesAs::Url.unlike(&document).is_empty(),
        Some(ImagesAs::Base64) => {
            let unlike = ImagesAs::Base64.unlike(&document);
            let fetch = request.fetch.as_deref();
            inline(&unlike, fetch, egress, &mut edits, &request.id).await
        }
    };
    if !is_as_asked {
        answer.headers.insert(IGNORED, RESPONSE_FORMAT);
    }
    if !edits.is_empty() {
        *body = edits.apply(body).to_bytes();
    }
    Ok(())
}

/// The edit may have been made, and paid for, all the same.
fn no_images(body: &[u8]) -> Fault {
    const SHOWN_BYTES: usize = 2000;
    let beginning = redact(&body[..body.len().min(SHOWN_BYTES)], &[]).into_owned();
    Fault::new(
        FaultKind::UnreadableAnswer,
        "the provider took the request, but its answer has no images; tell the operator of this gateway",
    )
    .detail(format!("it answered: {}", String::from_utf8_lossy(&beginning)))
}
