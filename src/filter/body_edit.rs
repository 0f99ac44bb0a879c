//! Edited bodies of requests: later filters read them, and earlier filters check them again.

use super::body::RequestBody;
use super::view::{AttemptView, RequestView};
use crate::catalog::model::Candidate;
use crate::protocol::fault::{Fault, FaultKind};
use crate::protocol::json::edit::JsonEdits;
use crate::protocol::json::{JsonDocument, JsonLimits};
use bytes::Bytes;

/// A body that a filter edited, as the filters before it check it.
#[derive(Clone, Copy)]
pub struct EditedBody<'a> {
    pub document: &'a JsonDocument,
    /// The candidate of the attempt that the body is for; `None` if it is for all attempts.
    pub candidate: Option<&'a Candidate>,
}

impl RequestView {
    /// The JSON body that a filter may edit; `None` if there is none.
    ///
    /// # Errors
    /// The body is a form.
    pub fn editable_body(&self) -> Result<Option<&JsonDocument>, Fault> {
        match &self.body {
            RequestBody::Json(document) => Ok(Some(document)),
            RequestBody::Form { .. } => Err(form_refused()),
            RequestBody::Opaque(bytes) if self.is_form(bytes) => Err(form_refused()),
            RequestBody::Absent | RequestBody::Opaque(_) | RequestBody::Streamed(_) => Ok(None),
        }
    }

    /// Proposes an edited body, with the edits that are in [`Self::edits`]. The chain has the filters before this one check
    /// it; later filters then read it in place of the caller's body.
    pub fn propose_body(&mut self, document: JsonDocument) {
        self.proposed_body = Some(Box::new(document));
    }

    /// Makes a body that all filters accept the request's body.
    pub(super) fn accept_body(&mut self, document: JsonDocument) {
        self.body = RequestBody::Json(document);
        self.edits = JsonEdits::default();
    }
}

impl AttemptView {
    /// The body of the attempt with the edits so far; `None` if it is not JSON, or a filter made another one.
    ///
    /// # Errors
    /// The edited body is too large.
    pub(super) fn edited_document(
        &self,
        request: &RequestView,
    ) -> Result<Option<JsonDocument>, Fault> {
        match (&request.body, &self.request_override.body) {
            (RequestBody::Json(document), None) => {
                edited_document(document.body(), &self.edits, request.body_limit).map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// The fault of a request that an edit made invalid. The caller cannot know what `editor` edits: the operator finds it in
/// the log.
pub(super) fn invalid_edit(editor: &str, fault: &Fault) -> Fault {
    let detail = fault.detail.as_deref().unwrap_or_default();
    let separator = if detail.is_empty() { "" } else { "; " };
    Fault::new(
        FaultKind::Internal,
        "internal error: the gateway edits this request, and the result is invalid; tell the operator of this gateway",
    )
    .detail(format!("edit of `{editor}`: {}{separator}{detail}", fault.message))
}

/// The JSON body with these edits, of at most `limit` bytes.
///
/// # Errors
/// The edited body is too large, or too deep.
pub fn edited_document(body: &Bytes, edits: &JsonEdits, limit: u64) -> Result<JsonDocument, Fault> {
    let segments = edits.apply(body);
    let bytes = segments.len() as u64;
    if bytes > limit {
        return Err(Fault::new(
            FaultKind::TooLarge,
            format!(
                "the request body has {bytes} bytes with what the gateway adds to it, more than the limit of {limit} bytes; send a smaller body"
            ),
        ));
    }
    let edited = segments.to_bytes();
    drop(segments);
    JsonDocument::parse(edited, &JsonLimits::default()).map_err(|error| {
        Fault::new(
            FaultKind::Invalid,
            "the request is nested too deeply or has too many values for the gateway to edit it; send a simpler body",
        )
        .detail(error.to_string())
    })
}

fn form_refused() -> Fault {
    Fault::new(
        FaultKind::UnsupportedMedia,
        "the gateway edits requests of this path and cannot edit forms; send the request as JSON",
    )
}
