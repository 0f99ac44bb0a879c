//! The error format of chat, which the responses, image and video protocols share.

use crate::error_body::{CustomError, ErrorShape, ProviderErrorWords, error_json};
use crate::error_class::ErrorClass;
use crate::fault::{Fault, FaultKind, ServiceDenialStatus};
use crate::sse;
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};

/// Errors of the chat protocol.
pub(in crate::protocols) const ERRORS: ErrorShape = ErrorShape {
    overload_status: None,
    class_header: None,
    template: None,
    class: error_type,
    body: |fault, _| error_json(&ChatErrorBody::new(fault)),
    custom_body,
    words: provider_error_words,
    event: |fault, _, _| sse::encode_event(None, &error_json(&ChatErrorBody::new(fault))),
    required_texts: &[&["error", "message"]],
    schema_name: "Error",
    schema: error_schema,
    has_brackets: true,
};

/// All four keys are always present, because clients read them without a check.
#[derive(Serialize)]
pub(in crate::protocols) struct ChatErrorObject<'a> {
    pub message: &'a str,
    #[serde(rename = "type")]
    pub class: &'a str,
    pub param: Option<&'a str>,
    pub code: &'a str,
}

#[derive(Serialize)]
pub(in crate::protocols) struct ChatErrorBody<'a> {
    pub error: ChatErrorObject<'a>,
}

impl<'a> ChatErrorBody<'a> {
    pub fn new(fault: &'a Fault) -> Self {
        let error = ChatErrorObject {
            message: &fault.message,
            class: error_type(fault.kind),
            param: fault.param.as_deref(),
            code: fault.kind.code(),
        };
        Self { error }
    }
}

fn custom_body(kind: FaultKind, error: &CustomError<'_>, _request_id: &str) -> Bytes {
    error_json(&ChatErrorBody {
        error: ChatErrorObject {
            message: error.message,
            class: error.class.unwrap_or_else(|| error_type(kind)),
            param: error.param,
            code: error.code.unwrap_or_else(|| kind.code()),
        },
    })
}

/// The types and codes by which clients know what happened: agents shorten the conversation at
/// `context_length_exceeded`.
pub(in crate::protocols) fn provider_error_words(class: ErrorClass) -> ProviderErrorWords {
    let words = |class, code| ProviderErrorWords {
        class: Some(class),
        code: Some(code),
        prefix: None,
    };
    match class {
        ErrorClass::ContextTooLong => words("invalid_request_error", "context_length_exceeded"),
        ErrorClass::ContentPolicy => words("invalid_request_error", "content_policy_violation"),
        ErrorClass::RateLimited => words("requests", "rate_limit_exceeded"),
        ErrorClass::Overloaded => words("server_error", "server_is_overloaded"),
        ErrorClass::ModelNotFound => words("invalid_request_error", "model_not_found"),
        ErrorClass::InvalidRequest => words("invalid_request_error", "invalid_request"),
        ErrorClass::ServerError | ErrorClass::RefusedCredential | ErrorClass::RefusedAccount => {
            words("server_error", "upstream_error")
        }
    }
}

/// The error `type`.
fn error_type(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::BadHead
        | FaultKind::HeadTooLarge
        | FaultKind::BadJson
        | FaultKind::Invalid
        | FaultKind::Missing
        | FaultKind::BadHeader
        | FaultKind::Unauthenticated
        | FaultKind::NoRoute
        | FaultKind::MethodNotAllowed
        | FaultKind::UpgradeRequired
        | FaultKind::UnknownModel
        | FaultKind::UnknownId
        | FaultKind::KeyReused
        | FaultKind::KeyInUse
        | FaultKind::AnswerNotKept
        | FaultKind::Gone
        | FaultKind::NotCancellable
        | FaultKind::TooLarge
        | FaultKind::UnsupportedMedia
        | FaultKind::RequestTimeout
        | FaultKind::ClientGone
        | FaultKind::WriteTimeout => "invalid_request_error",
        FaultKind::Forbidden
        | FaultKind::Denied(
            ServiceDenialStatus::Forbidden | ServiceDenialStatus::UnavailableForLegalReasons,
        ) => "permission_error",
        FaultKind::Denied(
            ServiceDenialStatus::BadRequest
            | ServiceDenialStatus::Unauthorized
            | ServiceDenialStatus::NotFound,
        ) => "invalid_request_error",
        FaultKind::TooManyRequests | FaultKind::Denied(ServiceDenialStatus::TooManyRequests) => {
            "requests"
        }
        FaultKind::TooManyTokens => "tokens",
        FaultKind::OverBudget => "insufficient_quota",
        FaultKind::Overloaded
        | FaultKind::Ending
        | FaultKind::NoChannel
        | FaultKind::CheckUnavailable
        | FaultKind::Connect
        | FaultKind::NoCredential
        | FaultKind::Upstream
        | FaultKind::UnreadableResponse
        | FaultKind::OutcomeUnknown
        | FaultKind::UpstreamTimeout
        | FaultKind::Internal => "server_error",
    }
}

/// The schema of an error body for OpenAPI.
fn error_schema() -> Value {
    json!({
        "type": "object",
        "required": ["error"],
        "properties": {"error": {
            "type": "object",
            "required": ["message", "type"],
            "properties": {
                "message": {"type": "string", "description": "What was expected, what was received, and what to do."},
                "type": {"type": "string"},
                "param": {"type": ["string", "null"], "description": "The field or header at fault."},
                "code": {"type": ["string", "null"], "description": "See docs/errors.md; providers have others."}
            }
        }}
    })
}
