//! `family_b`: video tasks with `input` and `parameters`, as in the API of Alibaba Cloud's Model Studio.

use super::chat;
use super::descriptor::{GenAiTraceNames, ProtocolDescriptor, TaskApiFormat};
use super::video::TASKS;
use crate::error_body::{CustomError, ErrorShape, error_json};
use crate::fault::{FaultKind, ServiceDenialStatus};
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};

/// The protocol of family B.
pub(super) static DESCRIPTOR: ProtocolDescriptor = ProtocolDescriptor {
    name: "family_b",
    path: "/api/v1/services/aigc/video-generation/video-synthesis",
    stream_path: None,
    websocket: None,
    further_paths: &[],
    clouds: None,
    tasks: Some(TaskApiFormat::Native),
    errors: ErrorShape {
        body: |fault, request_id| error_body(fault.kind, &fault.into(), request_id),
        custom_body: error_body,
        required_texts: &[&["code"], &["message"]],
        schema_name: "FamilyBError",
        schema: error_schema,
        ..chat::ERRORS
    },
    traces: GenAiTraceNames {
        provider: Some("family_b"),
        ..TASKS.traces
    },
    ..TASKS
};

/// The top-level keys of an error of family B's native API.
#[derive(Serialize)]
struct FamilyBErrorReply<'a> {
    code: &'a str,
    message: &'a str,
    request_id: &'a str,
}

fn error_body(kind: FaultKind, error: &CustomError<'_>, request_id: &str) -> Bytes {
    error_json(&FamilyBErrorReply {
        code: error.code.unwrap_or_else(|| error_code(kind)),
        message: error.message,
        request_id,
    })
}

/// The error `code`, from Model Studio's list of error codes.
fn error_code(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::BadHead
        | FaultKind::HeadTooLarge
        | FaultKind::BadJson
        | FaultKind::Invalid
        | FaultKind::Missing
        | FaultKind::BadHeader
        | FaultKind::KeyReused
        | FaultKind::UnsupportedMedia
        | FaultKind::ClientGone
        | FaultKind::WriteTimeout => "InvalidParameter",
        FaultKind::Unauthenticated | FaultKind::Denied(ServiceDenialStatus::Unauthorized) => {
            "InvalidApiKey"
        }
        FaultKind::Forbidden
        | FaultKind::Denied(
            ServiceDenialStatus::Forbidden | ServiceDenialStatus::UnavailableForLegalReasons,
        ) => "AccessDenied",
        FaultKind::Denied(ServiceDenialStatus::BadRequest) => "DataInspectionFailed",
        FaultKind::NoRoute
        | FaultKind::UnknownId
        | FaultKind::Gone
        | FaultKind::Denied(ServiceDenialStatus::NotFound) => "NotFound",
        FaultKind::MethodNotAllowed | FaultKind::UpgradeRequired | FaultKind::NotCancellable => {
            "UnsupportedOperation"
        }
        FaultKind::KeyInUse | FaultKind::AnswerNotKept => "Conflict",
        FaultKind::UnknownModel => "ModelNotFound",
        FaultKind::TooLarge => "BadRequest.TooLarge",
        FaultKind::RequestTimeout => "RequestTimeOut",
        FaultKind::TooManyRequests | FaultKind::Denied(ServiceDenialStatus::TooManyRequests) => {
            "Throttling.RateQuota"
        }
        FaultKind::TooManyTokens | FaultKind::OverBudget => "Throttling.AllocationQuota",
        FaultKind::Overloaded
        | FaultKind::NoChannel
        | FaultKind::Ending
        | FaultKind::CheckUnavailable => "ServiceUnavailable",
        FaultKind::Connect
        | FaultKind::NoCredential
        | FaultKind::Upstream
        | FaultKind::UnreadableResponse
        | FaultKind::Internal => "InternalError",
        FaultKind::UpstreamTimeout | FaultKind::OutcomeUnknown => "InternalError.Timeout",
    }
}

/// The schema of an error body for OpenAPI.
fn error_schema() -> Value {
    json!({
        "type": "object",
        "required": ["code", "message"],
        "properties": {
            "code": {"type": "string"},
            "message": {"type": "string"},
            "request_id": {"type": "string"}
        }
    })
}
