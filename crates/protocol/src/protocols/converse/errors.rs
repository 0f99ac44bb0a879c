//! Errors as Amazon Bedrock Runtime writes them: the name in `__type` and in a header, and a message. The names are those of
//! the API reference of Converse, and of AWS's common errors.

use crate::error_body::{CustomError, ErrorShape, ProviderErrorWords, error_json};
use crate::error_class::ErrorClass;
use crate::fault::{Fault, FaultKind, ServiceDenialStatus};
use crate::sse;
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};

/// Errors of the converse protocol.
pub(super) const ERRORS: ErrorShape = ErrorShape {
    overload_status: None,
    class_header: Some("x-amzn-errortype"),
    template: None,
    class: error_name,
    body: |fault, _| error_body(fault.kind, &fault.into()),
    custom_body: |kind, error, _| error_body(kind, error),
    words: provider_error_words,
    event: |fault, _, _| sse::encode_event(Some("error"), &event_data(fault)),
    required_texts: &[&["message"]],
    schema_name: "BedrockError",
    schema: error_schema,
    has_brackets: false,
};

#[derive(Serialize)]
struct BedrockErrorBody<'a> {
    #[serde(rename = "__type")]
    name: &'a str,
    message: &'a str,
}

/// An error of a stream, before it becomes a frame.
#[derive(Serialize)]
struct BedrockStreamEvent<'a> {
    error: BedrockStreamError<'a>,
}

#[derive(Serialize)]
struct BedrockStreamError<'a> {
    #[serde(rename = "type")]
    name: &'static str,
    message: &'a str,
}

fn error_body(kind: FaultKind, error: &CustomError<'_>) -> Bytes {
    error_json(&BedrockErrorBody {
        name: error.class.unwrap_or_else(|| error_name(kind)),
        message: error.message,
    })
}

fn event_data(fault: &Fault) -> Bytes {
    let name = match fault.kind.status() {
        429 => "throttlingException",
        400..=499 => "validationException",
        503 => "serviceUnavailableException",
        502 | 504 => "modelStreamErrorException",
        _ => "internalServerException",
    };
    error_json(&BedrockStreamEvent {
        error: BedrockStreamError {
            name,
            message: &fault.message,
        },
    })
}

/// What clients act on in an error of a provider: its name.
fn provider_error_words(class: ErrorClass) -> ProviderErrorWords {
    let name = match class {
        ErrorClass::ContextTooLong | ErrorClass::ContentPolicy | ErrorClass::InvalidRequest => {
            "ValidationException"
        }
        ErrorClass::RateLimited => "ThrottlingException",
        ErrorClass::Overloaded => "ServiceUnavailableException",
        ErrorClass::ModelNotFound => "ResourceNotFoundException",
        ErrorClass::ServerError | ErrorClass::RefusedCredential | ErrorClass::RefusedAccount => {
            "InternalServerException"
        }
    };
    ProviderErrorWords {
        class: Some(name),
        ..ProviderErrorWords::default()
    }
}

/// The name of the error, by which botocore finds its exception.
fn error_name(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::BadHead
        | FaultKind::HeadTooLarge
        | FaultKind::BadJson
        | FaultKind::Invalid
        | FaultKind::Missing
        | FaultKind::BadHeader
        | FaultKind::UpgradeRequired
        | FaultKind::TooLarge
        | FaultKind::UnsupportedMedia
        | FaultKind::ClientGone
        | FaultKind::WriteTimeout
        | FaultKind::RequestTimeout
        | FaultKind::Denied(ServiceDenialStatus::BadRequest) => "ValidationException",
        FaultKind::KeyReused
        | FaultKind::KeyInUse
        | FaultKind::AnswerNotKept
        | FaultKind::NotCancellable => "ConflictException",
        FaultKind::Unauthenticated | FaultKind::Denied(ServiceDenialStatus::Unauthorized) => {
            "UnrecognizedClientException"
        }
        FaultKind::Forbidden
        | FaultKind::Denied(
            ServiceDenialStatus::Forbidden | ServiceDenialStatus::UnavailableForLegalReasons,
        ) => "AccessDeniedException",
        FaultKind::NoRoute | FaultKind::MethodNotAllowed => "UnknownOperationException",
        FaultKind::UnknownModel
        | FaultKind::UnknownId
        | FaultKind::Gone
        | FaultKind::Denied(ServiceDenialStatus::NotFound) => "ResourceNotFoundException",
        FaultKind::TooManyRequests
        | FaultKind::TooManyTokens
        | FaultKind::Denied(ServiceDenialStatus::TooManyRequests) => "ThrottlingException",
        FaultKind::OverBudget => "ServiceQuotaExceededException",
        FaultKind::Overloaded
        | FaultKind::Ending
        | FaultKind::NoChannel
        | FaultKind::CheckUnavailable => "ServiceUnavailableException",
        FaultKind::UpstreamTimeout | FaultKind::OutcomeUnknown => "ModelTimeoutException",
        FaultKind::Connect
        | FaultKind::NoCredential
        | FaultKind::Upstream
        | FaultKind::UnreadableResponse
        | FaultKind::Internal => "InternalServerException",
    }
}

/// The schema of an error body for OpenAPI.
fn error_schema() -> Value {
    json!({
        "type": "object",
        "required": ["message"],
        "properties": {
            "__type": {"type": "string", "description": "The name of the error, which is also in the header `x-amzn-errortype`."},
            "message": {"type": "string", "description": "What was expected, what was received, and what to do."}
        }
    })
}
