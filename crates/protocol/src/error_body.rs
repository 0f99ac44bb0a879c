//! Error responses of each protocol: status, body, and the error event of a stream.

mod template;
#[cfg(test)]
mod tests;

pub(crate) use template::ErrorBodyTemplate;

use super::error_class::ErrorClass;
use super::fault::{Fault, FaultKind};
use super::json::skim;
use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;

/// How a protocol reports errors.
#[derive(Clone, Copy, Debug)]
pub struct ErrorShape {
    /// The status of an overload of the gateway, in place of 503.
    pub overload_status: Option<u16>,
    /// The header with the error type of a local reply, in lower case.
    pub class_header: Option<&'static str>,
    /// The body of a declared protocol, in place of `body`, `custom_body`, `event` and `schema`.
    pub(crate) template: Option<&'static ErrorBodyTemplate>,
    /// The error `type` of a fault.
    pub(crate) class: fn(FaultKind) -> &'static str,
    /// The body for a fault and a request id.
    pub(crate) body: fn(&Fault, &str) -> Bytes,
    /// The body of an error that the operator words; its type and code are those of the kind of fault, unless it has its own.
    pub(crate) custom_body: fn(FaultKind, &CustomError<'_>, &str) -> Bytes,
    /// What an error of a provider is called.
    pub(crate) words: fn(ErrorClass) -> ProviderErrorWords,
    /// The event for a fault, a request id, and the next sequence number of the stream.
    pub(crate) event: fn(&Fault, &str, u64) -> Bytes,
    /// Paths to the texts that every error of the protocol has.
    pub required_texts: &'static [&'static [&'static str]],
    /// The name of the error body's schema in OpenAPI; protocols of one format have the same.
    pub schema_name: &'static str,
    pub(crate) schema: fn() -> Value,
    /// Whether names of parameters have indexes in brackets: `messages[0].role` instead of `messages.0.role`.
    pub has_brackets: bool,
}

/// What clients of a protocol act on in an error of a provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProviderErrorWords {
    /// The error `type`; by the status if there is none.
    pub class: Option<&'static str>,
    /// The error `code`; by the status if there is none.
    pub code: Option<&'static str>,
    /// How the message begins, where clients read it.
    pub prefix: Option<&'static str>,
}

/// An error that the operator words.
#[derive(Clone, Copy, Debug)]
pub struct CustomError<'a> {
    pub message: &'a str,
    /// The error `type`; by the status if there is none. Family B has no types.
    pub class: Option<&'a str>,
    /// The error `code`; by the status if there is none. The messages protocol has no codes.
    pub code: Option<&'a str>,
    /// The field or header at fault.
    pub param: Option<&'a str>,
}

impl<'a> From<&'a Fault> for CustomError<'a> {
    /// The message of a fault, with the type and the code of its kind.
    fn from(fault: &'a Fault) -> Self {
        Self {
            message: &fault.message,
            class: None,
            code: None,
            param: fault.param.as_deref(),
        }
    }
}

impl ErrorShape {
    /// The HTTP status of a local reply.
    pub fn status(&self, fault: &Fault) -> u16 {
        let own = match fault.kind {
            FaultKind::Overloaded | FaultKind::Ending | FaultKind::NoChannel => {
                self.overload_status
            }
            _ => None,
        };
        own.unwrap_or_else(|| fault.kind.status())
    }

    /// The JSON body of a local reply. Only the messages protocol and family B have the request id in it.
    pub fn render(&self, fault: &Fault, request_id: &str) -> Bytes {
        match self.template {
            Some(template) => {
                let kind = (fault.kind, self.status(fault));
                template.body(self, kind, &fault.into(), request_id)
            }
            None => (self.body)(fault, request_id),
        }
    }

    /// The JSON body of an error that the operator words, as [`Self::render`] makes that of a fault.
    pub fn render_custom(&self, status: u16, error: &CustomError<'_>, request_id: &str) -> Bytes {
        let kind = fault_kind_for_status(status);
        match self.template {
            Some(template) => template.body(self, (kind, status), error, request_id),
            None => (self.custom_body)(kind, error, request_id),
        }
    }

    /// The event that ends a stream with an error.
    ///
    /// `sequence` is the next `sequence_number` of a responses stream; other protocols ignore it. The video protocols have
    /// no streams, so they use the event of chat.
    pub fn render_event(&self, fault: &Fault, request_id: &str, sequence: u64) -> Bytes {
        match self.template {
            Some(template) => template.event(&self.render(fault, request_id)),
            None => (self.event)(fault, request_id, sequence),
        }
    }

    /// The error type of a fault.
    pub fn class(&self, kind: FaultKind) -> &'static str {
        (self.class)(kind)
    }

    /// What clients of the protocol act on in an error of this class.
    pub fn words(&self, class: ErrorClass) -> ProviderErrorWords {
        (self.words)(class)
    }

    /// The schema of an error body for OpenAPI.
    pub fn body_schema(&self) -> Value {
        match self.template {
            Some(template) => template.schema(),
            None => (self.schema)(),
        }
    }

    /// Whether a provider's body is an error as clients of the protocol parse it.
    pub fn is_rendered(&self, body: &[u8]) -> bool {
        let is_text = |path: &&[&str]| {
            skim::find(body, path).is_some_and(|value| body[value].starts_with(b"\""))
        };
        self.required_texts.iter().all(is_text)
    }
}

/// The kind of fault whose type and code fit a status.
fn fault_kind_for_status(status: u16) -> FaultKind {
    match status {
        401 => FaultKind::Unauthenticated,
        403 => FaultKind::Forbidden,
        404 => FaultKind::UnknownId,
        405 => FaultKind::MethodNotAllowed,
        410 => FaultKind::Gone,
        413 => FaultKind::TooLarge,
        415 => FaultKind::UnsupportedMedia,
        429 => FaultKind::TooManyRequests,
        503 | 529 => FaultKind::Overloaded,
        504 => FaultKind::UpstreamTimeout,
        400..=499 => FaultKind::Invalid,
        _ => FaultKind::Internal,
    }
}

/// The JSON of an error body.
pub(crate) fn error_json(body: &impl Serialize) -> Bytes {
    serde_json::to_vec(body)
        .expect("error bodies are plain structs of strings")
        .into()
}
