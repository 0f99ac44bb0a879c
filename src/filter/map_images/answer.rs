//! What a caller is answered: the provider's answer, with what the protocol promises beyond it.

use crate::filter::view::AnswerView;
use crate::protocol::images::{ImagesAs, complete};
use crate::protocol::json::edit::Edits;
use crate::protocol::json::{Document, Limits};
use crate::state::calendar::unix_ms;
use bytes::Bytes;
use http::{HeaderName, HeaderValue};

/// Names what the caller asked for in vain.
const IGNORED: HeaderName = HeaderName::from_static("x-headgate-ignored");

/// Finishes an answer. One that is no JSON stays as it is: the edit was paid for.
pub(super) async fn finish(answer: &mut AnswerView<'_>, body: &mut Bytes) {
    let Some(request) = &answer.request.body else {
        return;
    };
    let Ok(document) = Document::parse(body.clone(), &Limits::default()) else {
        tracing::warn!(
            id = &*answer.request.id,
            "the answer to an image edit is not JSON"
        );
        return;
    };
    let mut edits = Edits::default();
    complete(&mut edits, &document, request, unix_ms() / 1000);
    let wanted = ImagesAs::asked_by(request);
    if wanted.is_some_and(|wanted| !wanted.unlike(&document).is_empty()) {
        let ignored = HeaderValue::from_static("response_format");
        answer.headers.insert(IGNORED, ignored);
    }
    if !edits.is_empty() {
        *body = edits.apply(body).to_bytes();
    }
}
