//! What a caller is answered: the provider's answer, with what the protocol promises beyond it.

use super::inline::inline;
use crate::catalog::egress::Egress;
use crate::filter::view::{AnswerView, RequestView};
use crate::protocol::images::{self, ImagesAs, complete};
use crate::protocol::json::edit::Edits;
use crate::protocol::json::{Document, Limits, Node};
use crate::state::calendar::unix_ms;
use bytes::Bytes;
use http::{HeaderName, HeaderValue};

/// Names what the caller asked for in vain.
const IGNORED: HeaderName = HeaderName::from_static("x-headgate-ignored");
const RESPONSE_FORMAT: HeaderValue = HeaderValue::from_static(images::RESPONSE_FORMAT);

/// Streams hold images themselves, whatever was asked for.
pub(super) fn say_what_streams_lack(request: &mut RequestView) {
    let streams_urls = request.body.as_ref().is_some_and(|asked| {
        let streams = asked.root().get("stream").and_then(Node::as_bool);
        streams == Some(true) && ImagesAs::asked_by(asked) == Some(ImagesAs::Url)
    });
    if streams_urls {
        request.answer_headers.insert(IGNORED, RESPONSE_FORMAT);
    }
}

/// Finishes an answer. Whatever cannot be done stays undone: the edit was paid for.
pub(super) async fn finish(answer: &mut AnswerView<'_>, body: &mut Bytes, egress: &Egress) {
    let request = &*answer.request;
    let Some(asked) = &request.body else {
        return;
    };
    let Ok(document) = Document::parse(body.clone(), &Limits::default()) else {
        tracing::warn!(id = &*request.id, "the answer to an image edit is not JSON");
        return;
    };
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
}
