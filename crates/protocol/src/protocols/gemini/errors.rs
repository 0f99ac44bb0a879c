//! Errors as Google's APIs write them: `google.rpc.Status` as JSON, see the reference of `google.rpc.Code` and of
//! `google.rpc.ErrorInfo`.

use crate::error_body::{CustomError, ErrorShape, ProviderErrorWords, error_json};
use crate::error_class::ErrorClass;
use crate::fault::{Fault, FaultKind, ServiceDenialStatus};
use crate::sse;
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};
use std::time::Duration;

/// Errors of the gemini protocol.
pub(super) const ERRORS: ErrorShape = ErrorShape {
    overload_status: None,
    class_header: None,
    template: None,
    class: canonical_status,
    body: |fault, _| fault_body(fault),
    custom_body: |kind, error, _| error_body(kind, error, None),
    words: provider_error_words,
    event: |fault, _, _| sse::encode_event(None, &fault_body(fault)),
    required_texts: &[&["error", "message"], &["error", "status"]],
    schema_name: "GoogleError",
    schema: error_schema,
    has_brackets: true,
};

/// The domain of reasons that are the gateway's own.
const DOMAIN: &str = "headgate";

#[derive(Serialize)]
struct GoogleErrorBody<'a> {
    error: GoogleError<'a>,
}

#[derive(Serialize)]
struct GoogleError<'a> {
    code: u16,
    message: &'a str,
    status: &'a str,
    details: Vec<GoogleErrorDetail<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "@type")]
enum GoogleErrorDetail<'a> {
    #[serde(rename = "type.googleapis.com/google.rpc.ErrorInfo")]
    ErrorInfo {
        reason: &'a str,
        domain: &'static str,
    },
    #[serde(rename = "type.googleapis.com/google.rpc.BadRequest")]
    BadRequest {
        #[serde(rename = "fieldViolations")]
        field_violations: [FieldViolation<'a>; 1],
    },
    #[serde(rename = "type.googleapis.com/google.rpc.RetryInfo")]
    RetryInfo {
        #[serde(rename = "retryDelay")]
        retry_delay: String,
    },
}

#[derive(Serialize)]
struct FieldViolation<'a> {
    field: &'a str,
    description: &'a str,
}

fn fault_body(fault: &Fault) -> Bytes {
    error_body(fault.kind, &fault.into(), fault.retry_after)
}

fn error_body(kind: FaultKind, error: &CustomError<'_>, wait: Option<Duration>) -> Bytes {
    let mut details = vec![GoogleErrorDetail::ErrorInfo {
        reason: error.code.unwrap_or_else(|| kind.code()),
        domain: DOMAIN,
    }];
    details.extend(error.param.map(|field| GoogleErrorDetail::BadRequest {
        field_violations: [FieldViolation {
            field,
            description: error.message,
        }],
    }));
    details.extend(wait.map(|wait| GoogleErrorDetail::RetryInfo {
        retry_delay: format!("{}s", wait.as_millis().div_ceil(1000).max(1)),
    }));
    error_json(&GoogleErrorBody {
        error: GoogleError {
            code: kind.status(),
            message: error.message,
            status: error.class.unwrap_or_else(|| canonical_status(kind)),
            details,
        },
    })
}

/// What clients act on in an error of a provider: its canonical status.
fn provider_error_words(class: ErrorClass) -> ProviderErrorWords {
    let status = match class {
        ErrorClass::ContextTooLong | ErrorClass::ContentPolicy | ErrorClass::InvalidRequest => {
            "INVALID_ARGUMENT"
        }
        ErrorClass::RateLimited => "RESOURCE_EXHAUSTED",
        ErrorClass::Overloaded => "UNAVAILABLE",
        ErrorClass::ModelNotFound => "NOT_FOUND",
        ErrorClass::ServerError | ErrorClass::RefusedCredential | ErrorClass::RefusedAccount => {
            "INTERNAL"
        }
    };
    ProviderErrorWords {
        class: Some(status),
        ..ProviderErrorWords::default()
    }
}

/// The name of the `google.rpc.Code`.
fn canonical_status(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::BadHead
        | FaultKind::HeadTooLarge
        | FaultKind::BadJson
        | FaultKind::Invalid
        | FaultKind::Missing
        | FaultKind::BadHeader
        | FaultKind::UpgradeRequired
        | FaultKind::KeyReused
        | FaultKind::TooLarge
        | FaultKind::UnsupportedMedia
        | FaultKind::Denied(ServiceDenialStatus::BadRequest) => "INVALID_ARGUMENT",
        FaultKind::NotCancellable => "FAILED_PRECONDITION",
        FaultKind::Unauthenticated | FaultKind::Denied(ServiceDenialStatus::Unauthorized) => {
            "UNAUTHENTICATED"
        }
        FaultKind::Forbidden
        | FaultKind::Denied(
            ServiceDenialStatus::Forbidden | ServiceDenialStatus::UnavailableForLegalReasons,
        ) => "PERMISSION_DENIED",
        FaultKind::NoRoute
        | FaultKind::UnknownModel
        | FaultKind::UnknownId
        | FaultKind::Gone
        | FaultKind::Denied(ServiceDenialStatus::NotFound) => "NOT_FOUND",
        FaultKind::MethodNotAllowed => "UNIMPLEMENTED",
        FaultKind::KeyInUse | FaultKind::AnswerNotKept => "ABORTED",
        FaultKind::TooManyRequests
        | FaultKind::TooManyTokens
        | FaultKind::OverBudget
        | FaultKind::Denied(ServiceDenialStatus::TooManyRequests) => "RESOURCE_EXHAUSTED",
        FaultKind::ClientGone | FaultKind::WriteTimeout => "CANCELLED",
        FaultKind::RequestTimeout | FaultKind::UpstreamTimeout | FaultKind::OutcomeUnknown => {
            "DEADLINE_EXCEEDED"
        }
        FaultKind::Overloaded
        | FaultKind::Ending
        | FaultKind::NoChannel
        | FaultKind::CheckUnavailable
        | FaultKind::Connect
        | FaultKind::NoCredential
        | FaultKind::Upstream => "UNAVAILABLE",
        FaultKind::UnreadableResponse | FaultKind::Internal => "INTERNAL",
    }
}

/// The schema of an error body for OpenAPI.
fn error_schema() -> Value {
    json!({
        "type": "object",
        "required": ["error"],
        "properties": {"error": {
            "type": "object",
            "required": ["code", "message", "status"],
            "properties": {
                "code": {"type": "integer", "description": "The HTTP status."},
                "message": {"type": "string", "description": "What was expected, what was received, and what to do."},
                "status": {"type": "string", "description": "The name of a `google.rpc.Code`."},
                "details": {"type": "array", "items": {"type": "object"}, "description": "An `ErrorInfo` of the domain `headgate` has the code of docs/errors.md as its reason."}
            }
        }}
    })
}
