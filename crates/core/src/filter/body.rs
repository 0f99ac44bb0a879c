//! A request's body: absent, JSON, a parsed form, or bytes that no filter parses.

use super::body_stream::RequestBodyReceiver;
use bytes::Bytes;
use headgate_protocol::form::MultipartForm;
use headgate_protocol::json::JsonDocument;

/// The body as the caller sent it.
#[derive(Default)]
pub enum RequestBody {
    /// The request has no body, or it is not read yet.
    #[default]
    Absent,
    Json(JsonDocument),
    /// A form, and its fields as JSON with stand-ins for files. Edits apply to the form.
    Form {
        form: MultipartForm,
        described: JsonDocument,
    },
    /// Bytes that pass unparsed.
    Opaque(Bytes),
    /// Passes unparsed to the provider while it arrives from the caller. It can be sent only once.
    Streamed(RequestBodyReceiver),
}

impl RequestBody {
    /// The body as JSON, if it was scanned.
    pub fn document(&self) -> Option<&JsonDocument> {
        match self {
            Self::Json(document) => Some(document),
            Self::Form { described, .. } => Some(described),
            Self::Absent | Self::Opaque(_) | Self::Streamed(_) => None,
        }
    }

    /// The body as JSON, for filters whose kind needs the body.
    ///
    /// # Panics
    /// No filter of the route needs the body.
    pub fn scanned(&self) -> &JsonDocument {
        self.document()
            .expect("a filter that needs the body runs on routes that scan it")
    }

    /// The parsed form, if the body is one.
    pub fn form(&self) -> Option<&MultipartForm> {
        match self {
            Self::Form { form, .. } => Some(form),
            Self::Absent | Self::Json(_) | Self::Opaque(_) | Self::Streamed(_) => None,
        }
    }

    /// The caller's bytes, unless the body streams.
    pub fn bytes(&self) -> Option<&Bytes> {
        match self {
            Self::Absent | Self::Streamed(_) => None,
            Self::Json(document) => Some(document.body()),
            Self::Form { form, .. } => Some(form.body()),
            Self::Opaque(bytes) => Some(bytes),
        }
    }

    /// Number of bytes in memory.
    pub fn len(&self) -> usize {
        self.bytes().map_or(0, Bytes::len)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
