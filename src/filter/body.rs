//! A request's body once it is whole: JSON, a form whose fields are read, or a form that passes as it came.

use super::BodyNeed;
use super::view::{RequestView, SentForm};
use crate::protocol::fault::Fault;
use crate::protocol::form::Form;
use crate::protocol::images::{self, FilesAs, Rewrite};
use crate::protocol::json::{Document, Limits};
use bytes::Bytes;

/// How a body is to be read.
#[derive(Debug, PartialEq, Eq)]
pub enum Reading {
    /// There is none, and nobody needs one.
    Nothing,
    Json,
    /// A form whose fields somebody needs to know.
    Form {
        boundary: String,
    },
    /// A form that nobody looks into.
    Unread,
}

/// A body as it was read.
pub enum Sent {
    Nothing,
    Json(Document),
    Form(SentForm, Option<Document>),
}

impl Reading {
    /// What is to be done with `body`, which came with `request`.
    pub fn of(request: &RequestView, body: &[u8], need: BodyNeed) -> Self {
        match (need, request.form_boundary()) {
            (BodyNeed::Scanned, Some(boundary)) if request.takes_form => Self::Form {
                boundary: boundary.to_owned(),
            },
            (BodyNeed::Scanned, _) => Self::Json,
            (BodyNeed::Untouched, _) if request.is_form(body) => Self::Unread,
            (BodyNeed::Untouched, _) if body.is_empty() => Self::Nothing,
            (BodyNeed::Untouched, _) => Self::Json,
        }
    }

    /// Reads the body. A large one takes its time.
    ///
    /// # Errors
    /// It is not what its type says, or could be read in two ways.
    pub fn read(self, body: Bytes) -> Result<Sent, Fault> {
        let scan = |body| Document::parse(body, &Limits::default()).map_err(Fault::from);
        match self {
            Self::Nothing => Ok(Sent::Nothing),
            Self::Unread => Ok(Sent::Form(SentForm::Unread(body), None)),
            Self::Json => scan(body).map(Sent::Json),
            Self::Form { boundary } => {
                let form = Form::parse(body, &boundary)?;
                // Image edits are the only requests that are read as a form.
                let described = images::json_of(&form, FilesAs::StandIns, Rewrite::NONE)?;
                let described = scan(described)?;
                Ok(Sent::Form(SentForm::Read(form), Some(described)))
            }
        }
    }
}

impl RequestView {
    /// Takes the body as it was read.
    pub fn take(&mut self, sent: Sent) {
        match sent {
            Sent::Nothing => {}
            Sent::Json(document) => self.body = Some(document),
            Sent::Form(form, described) => {
                if let SentForm::Read(form) = &form {
                    // Every reader at the provider finds the same parts under the same names.
                    form.put_plainly(&mut self.edits);
                    images::name_as_list(form, &mut self.edits);
                }
                self.form = Some(form);
                self.body = described;
            }
        }
    }

    /// Bytes of the body that the caller sent.
    pub fn body_bytes(&self) -> usize {
        match (&self.form, &self.body) {
            (Some(form), _) => form.bytes().len(),
            (None, Some(document)) => document.body().len(),
            (None, None) => 0,
        }
    }
}
