//! How a complete body is parsed, according to what the filters of its route need.

use super::RequestBodyNeed;
use super::body::RequestBody;
use super::view::RequestView;
use bytes::Bytes;
use headgate_protocol::fault::Fault;
use headgate_protocol::form::MultipartForm;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use headgate_protocol::{FormReading, Protocol};

/// How to parse a body.
#[derive(Debug, PartialEq, Eq)]
pub enum RequestBodyFormat {
    /// The body is empty, and no filter needs one.
    Absent,
    Json,
    /// A form whose fields a filter needs.
    Form {
        boundary: String,
        /// The protocol, which says how the form is read.
        protocol: Option<Protocol>,
    },
    Opaque,
}

impl RequestBodyFormat {
    /// How to parse `body` of `request`, given what the filters of the route need.
    pub fn for_request(request: &RequestView, body: &[u8], need: RequestBodyNeed) -> Self {
        match need {
            RequestBodyNeed::Scanned => Self::scanned(request),
            RequestBodyNeed::Untouched | RequestBodyNeed::Whole if body.is_empty() => Self::Absent,
            RequestBodyNeed::Untouched => Self::Opaque,
            RequestBodyNeed::Whole if request.is_form(body) => Self::Opaque,
            RequestBodyNeed::Whole => Self::Json,
        }
    }

    fn scanned(request: &RequestView) -> Self {
        let boundary = request.takes_form.then(|| request.form_boundary());
        match boundary.flatten() {
            Some(boundary) => Self::Form {
                boundary: boundary.to_owned(),
                protocol: request.protocol,
            },
            None => Self::Json,
        }
    }

    /// Parses the body. Takes long for a large one: call it off the worker threads.
    ///
    /// # Errors
    /// The body is malformed or ambiguous.
    pub fn read(self, body: Bytes) -> Result<RequestBody, Fault> {
        let scan = |body| JsonDocument::parse(body, &JsonLimits::default()).map_err(Fault::from);
        match self {
            Self::Absent => Ok(RequestBody::Absent),
            Self::Opaque => Ok(RequestBody::Opaque(body)),
            Self::Json => scan(body).map(RequestBody::Json),
            Self::Form { boundary, protocol } => {
                let form = MultipartForm::parse(body, &boundary)?;
                match FormReading::for_protocol(protocol) {
                    FormReading::Converted(encode) => scan(encode(&form)?).map(RequestBody::Json),
                    FormReading::Kept(kept) => Ok(RequestBody::Form {
                        described: scan((kept.describe)(&form)?)?,
                        form,
                    }),
                }
            }
        }
    }
}

impl RequestView {
    /// Sets the parsed body that arrived.
    pub fn receive_body(&mut self, body: RequestBody) {
        if let Some(form) = body.form() {
            // Normalised, so that every parser at the provider finds the same parts under the same names.
            FormReading::for_protocol(self.protocol).normalise(form, &mut self.edits);
        }
        self.body.receive(body);
    }
}
