//! The body of a request as filters read it. It is set when it arrives; only a checked edit replaces it.

use crate::filter::body::RequestBody;
use headgate_protocol::json::JsonDocument;
use std::ops::Deref;

/// The body of a request, which everyone may read and only the module above may replace.
#[derive(Default)]
pub struct CheckedEditRequestBody(RequestBody);

impl CheckedEditRequestBody {
    /// Sets the body that arrived.
    ///
    /// # Panics
    /// The request has a body already.
    pub fn receive(&mut self, body: RequestBody) {
        let is_first = matches!(self.0, RequestBody::Absent);
        assert!(is_first, "the body of a request arrives once");
        self.0 = body;
    }

    /// Frees the memory of the body. A body that streams has none.
    pub fn free(&mut self) {
        if !matches!(self.0, RequestBody::Streamed(_)) {
            self.0 = RequestBody::Absent;
        }
    }

    pub(super) fn replace(&mut self, document: JsonDocument) {
        self.0 = RequestBody::Json(document);
    }

    pub(super) fn replace_description(&mut self, document: JsonDocument) {
        if let RequestBody::Form { described, .. } = &mut self.0 {
            *described = document;
        }
    }
}

impl Deref for CheckedEditRequestBody {
    type Target = RequestBody;

    fn deref(&self) -> &RequestBody {
        &self.0
    }
}

impl From<RequestBody> for CheckedEditRequestBody {
    fn from(body: RequestBody) -> Self {
        Self(body)
    }
}
