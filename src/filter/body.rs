//! A request's body: none, JSON, a form whose fields are read, or bytes that no filter looks into.

use super::body_stream::BodyStream;
use crate::protocol::form::MultipartForm;
use crate::protocol::json::JsonDocument;
use bytes::Bytes;

/// The body as the caller sent it.
#[derive(Default)]
pub enum RequestBody {
    /// There is none, or it has not been read yet.
    #[default]
    Absent,
    Json(JsonDocument),
    /// A form, and its fields as JSON, with stand-ins for files. Edits apply to the form itself.
    Form {
        form: MultipartForm,
        described: JsonDocument,
    },
    /// Bytes that pass unread.
    Opaque(Bytes),
    /// Passes unread to the provider while it comes in; it can be sent once.
    Streamed(BodyStream),
}

impl RequestBody {
    /// What it says in JSON, if it was scanned.
    pub fn document(&self) -> Option<&JsonDocument> {
        match self {
            Self::Json(document) => Some(document),
            Self::Form { described, .. } => Some(described),
            Self::Absent | Self::Opaque(_) | Self::Streamed(_) => None,
        }
    }

    /// What it says in JSON, for filters whose kind needs the body.
    ///
    /// # Panics
    /// If no filter of the route needs it.
    pub fn scanned(&self) -> &JsonDocument {
        self.document()
            .expect("a filter that needs the body runs on routes that scan it")
    }

    /// A form whose fields are known.
    pub fn form(&self) -> Option<&MultipartForm> {
        match self {
            Self::Form { form, .. } => Some(form),
            Self::Absent | Self::Json(_) | Self::Opaque(_) | Self::Streamed(_) => None,
        }
    }

    /// The caller's bytes, where they are held.
    pub fn bytes(&self) -> Option<&Bytes> {
        match self {
            Self::Absent | Self::Streamed(_) => None,
            Self::Json(document) => Some(document.body()),
            Self::Form { form, .. } => Some(form.body()),
            Self::Opaque(bytes) => Some(bytes),
        }
    }

    /// How many bytes are held.
    pub fn len(&self) -> usize {
        self.bytes().map_or(0, Bytes::len)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
