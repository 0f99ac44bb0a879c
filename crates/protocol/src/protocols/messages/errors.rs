//! Errors of the messages protocol, which have the request id in the body and no codes.

use crate::error_body::{CustomError, ErrorShape, ProviderErrorWords, error_json};
use crate::error_class::ErrorClass;
use crate::fault::{FaultKind, ServiceDenialStatus};
use crate::sse;
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};

/// Errors of the messages protocol.
pub(super) const ERRORS: ErrorShape = ErrorShape {
    overload_status: Some(529),
    class_header: None,
    template: None,
    class: error_type,
    body: |fault, request_id| error_body(fault.kind, &fault.into(), request_id),
    custom_body: error_body,
    words: provider_error_words,
    event: |fault, request_id, _| {
        let body = error_body(fault.kind, &fault.into(), request_id);
        sse::encode_event(Some("error"), &body)
    },
    required_texts: &[&["type"], &["error", "type"], &["error", "message"]],
    schema_name: "MessagesError",
    schema: error_schema,
    has_brackets: false,
};

#[derive(Serialize)]
struct MessagesErrorObject<'a> {
    #[serde(rename = "type")]
    class: &'a str,
    message: &'a str,
}

#[derive(Serialize)]
struct MessagesErrorReply<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    error: MessagesErrorObject<'a>,
    request_id: &'a str,
}

fn error_body(kind: FaultKind, error: &CustomError<'_>, request_id: &str) -> Bytes {
    error_json(&MessagesErrorReply {
        kind: "error",
        error: MessagesErrorObject {
            class: error.class.unwrap_or_else(|| error_type(kind)),
            message: error.message,
        },
        request_id,
    })
}

/// The words by which Claude Code and the SDKs know what happened: a prompt that is too long has no code, but a message
/// that begins so.
fn provider_error_words(class: ErrorClass) -> ProviderErrorWords {
    let by_type = |class| ProviderErrorWords {
        class: Some(class),
        ..ProviderErrorWords::default()
    };
    match class {
        ErrorClass::ContextTooLong => ProviderErrorWords {
            prefix: Some("prompt is too long"),
            ..by_type("invalid_request_error")
        },
        ErrorClass::ContentPolicy | ErrorClass::InvalidRequest => by_type("invalid_request_error"),
        ErrorClass::RateLimited => by_type("rate_limit_error"),
        ErrorClass::Overloaded => by_type("overloaded_error"),
        ErrorClass::ModelNotFound => by_type("not_found_error"),
        ErrorClass::ServerError | ErrorClass::RefusedCredential | ErrorClass::RefusedAccount => {
            by_type("api_error")
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
        | FaultKind::MethodNotAllowed
        | FaultKind::UpgradeRequired
        | FaultKind::NotCancellable
        | FaultKind::KeyReused
        | FaultKind::KeyInUse
        | FaultKind::AnswerNotKept
        | FaultKind::UnsupportedMedia
        | FaultKind::RequestTimeout
        | FaultKind::Denied(ServiceDenialStatus::BadRequest)
        | FaultKind::ClientGone
        | FaultKind::WriteTimeout => "invalid_request_error",
        FaultKind::Unauthenticated | FaultKind::Denied(ServiceDenialStatus::Unauthorized) => {
            "authentication_error"
        }
        FaultKind::Forbidden
        | FaultKind::Denied(
            ServiceDenialStatus::Forbidden | ServiceDenialStatus::UnavailableForLegalReasons,
        ) => "permission_error",
        FaultKind::NoRoute
        | FaultKind::UnknownModel
        | FaultKind::UnknownId
        | FaultKind::Gone
        | FaultKind::Denied(ServiceDenialStatus::NotFound) => "not_found_error",
        FaultKind::TooLarge => "request_too_large",
        FaultKind::TooManyRequests
        | FaultKind::TooManyTokens
        | FaultKind::OverBudget
        | FaultKind::Denied(ServiceDenialStatus::TooManyRequests) => "rate_limit_error",
        FaultKind::Overloaded | FaultKind::Ending | FaultKind::NoChannel => "overloaded_error",
        FaultKind::CheckUnavailable
        | FaultKind::Connect
        | FaultKind::NoCredential
        | FaultKind::Upstream
        | FaultKind::UnreadableResponse
        | FaultKind::Internal => "api_error",
        FaultKind::UpstreamTimeout | FaultKind::OutcomeUnknown => "timeout_error",
    }
}

/// The schema of an error body for OpenAPI.
fn error_schema() -> Value {
    json!({
        "type": "object",
        "required": ["type", "error"],
        "properties": {
            "type": {"const": "error"},
            "error": {
                "type": "object",
                "required": ["type", "message"],
                "properties": {"type": {"type": "string"}, "message": {"type": "string"}}
            },
            "request_id": {"type": ["string", "null"]}
        }
    })
}
