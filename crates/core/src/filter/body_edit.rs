//! Edits of request bodies: earlier filters check an edited body again before it replaces the caller's.

pub mod checked_edit_body;

use super::Filter;
use super::body::RequestBody;
use super::view::{AttemptView, RequestView};
use crate::catalog::model::Candidate;
use bytes::Bytes;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::edit::JsonEdits;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use std::sync::Arc;

/// The only way to change the body of a request: has the filters before the one that edits check what it made of the
/// body.
pub struct CheckedBodyEditor {
    /// Name of the kind of the filter that edits.
    name: &'static str,
    earlier: Vec<Arc<dyn Filter>>,
}

/// An edited body that may replace the body of the request: it is within the limit, and every earlier filter accepts it.
pub struct CheckedBody(JsonDocument);

/// A body that a filter edited, as the filters before it check it.
#[derive(Clone, Copy)]
pub struct EditedBody<'a> {
    pub document: &'a JsonDocument,
    /// The candidate of the attempt that the body is for; `None` if it is for all attempts.
    pub candidate: Option<&'a Candidate>,
}

impl CheckedBodyEditor {
    /// The editor of the filter `name`; `earlier` are the filters before it.
    pub fn new(name: &'static str, earlier: Vec<Arc<dyn Filter>>) -> Self {
        Self { name, earlier }
    }

    /// Checks a body that has the edits in [`RequestView::edits`].
    ///
    /// # Errors
    /// The body is larger than the route allows, or an earlier filter refuses it.
    pub fn check(
        &self,
        request: &RequestView,
        document: JsonDocument,
    ) -> Result<CheckedBody, Fault> {
        self.check_with_files(request, document, 0)
    }

    /// As [`Self::check`], for a body to which the gateway added `file_bytes` of files that the caller uploaded: the limit
    /// of the body is not about them.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn check_with_files(
        &self,
        request: &RequestView,
        document: JsonDocument,
        file_bytes: u64,
    ) -> Result<CheckedBody, Fault> {
        let bytes = document.body().len() as u64;
        if bytes > request.body_limit.saturating_add(file_bytes) {
            return Err(too_large(bytes, request.body_limit));
        }
        let edited = EditedBody {
            document: &document,
            candidate: None,
        };
        for filter in &self.earlier {
            let checked = filter.check_edited_body(request, edited);
            checked.map_err(|fault| invalid_edit(self.name, &fault))?;
        }
        Ok(CheckedBody(document))
    }
}

impl RequestView {
    /// The JSON body that a filter may edit; `None` if there is none.
    ///
    /// # Errors
    /// The body is a form.
    pub fn editable_body(&self) -> Result<Option<&JsonDocument>, Fault> {
        match &*self.body {
            RequestBody::Json(document) => Ok(Some(document)),
            RequestBody::Form { .. } => Err(form_refused()),
            RequestBody::Opaque(bytes) if self.is_form(bytes) => Err(form_refused()),
            RequestBody::Absent | RequestBody::Opaque(_) | RequestBody::Streamed(_) => Ok(None),
        }
    }

    /// Replaces the body, and the edits in [`Self::edits`], which the new body has: later filters read it in place of the
    /// caller's.
    pub fn replace_body(&mut self, CheckedBody(document): CheckedBody) {
        self.body.replace(document);
        self.edits = JsonEdits::default();
    }

    /// Replaces the description of a form, which later filters read. The form and its edits stay: the filter edits it in
    /// each attempt.
    pub fn replace_description(&mut self, CheckedBody(document): CheckedBody) {
        self.body.replace_description(document);
    }
}

impl AttemptView {
    /// The body of the attempt with the edits so far; `None` if it is not JSON, or a filter made another one.
    ///
    /// # Errors
    /// The edited body is too large.
    pub fn edited_document(&self, request: &RequestView) -> Result<Option<JsonDocument>, Fault> {
        match (&*request.body, &self.request_override.body) {
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
        return Err(too_large(bytes, limit));
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

fn too_large(bytes: u64, limit: u64) -> Fault {
    Fault::new(
        FaultKind::TooLarge,
        format!(
            "the request body has {bytes} bytes with what the gateway adds to it, more than the limit of {limit} bytes; send a smaller body"
        ),
    )
}

fn form_refused() -> Fault {
    Fault::new(
        FaultKind::UnsupportedMedia,
        "the gateway edits requests of this path and cannot edit forms; send the request as JSON",
    )
}
