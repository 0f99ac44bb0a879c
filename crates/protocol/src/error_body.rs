//! Error responses of each protocol: status, body, and the error event of a stream.

mod received;
#[cfg(test)]
mod tests;

pub use received::is_rendered;

use bytes::Bytes;
use serde::Serialize;

use super::Protocol;
use super::fault::{DenialStatus, Fault, FaultKind};
use super::sse;

/// The HTTP status of a local reply in this protocol; `None` is a route without a protocol.
///
/// Only the messages protocol has its own status for an overload, 529.
pub fn status(protocol: Option<Protocol>, fault: &Fault) -> u16 {
    match (protocol, fault.kind) {
        (
            Some(Protocol::Messages),
            FaultKind::Overloaded | FaultKind::Ending | FaultKind::NoChannel,
        ) => 529,
        (_, kind) => kind.status(),
    }
}

/// The JSON body of a local reply in this protocol; routes without a protocol use the format of chat.
///
/// Only the messages protocol and family B have the request id in the body.
pub fn render(protocol: Option<Protocol>, fault: &Fault, request_id: &str) -> Bytes {
    match protocol {
        Some(Protocol::Messages) => json(&MessagesErrorBody::new(fault, request_id)),
        Some(Protocol::FamilyA) => json(&ChatErrorBody::of_family_a(fault)),
        Some(Protocol::FamilyB) => json(&FamilyBErrorBody::new(fault, request_id)),
        Some(Protocol::Chat | Protocol::Responses | Protocol::ImageEdit | Protocol::Video)
        | None => json(&ChatErrorBody::new(fault)),
    }
}

/// The event that ends a stream with an error.
///
/// `sequence` is the next `sequence_number` of a responses stream; other protocols ignore it. The video protocols have
/// no streams, so they use the event of chat.
pub fn error_event(protocol: Protocol, fault: &Fault, request_id: &str, sequence: u64) -> Bytes {
    match protocol {
        Protocol::Chat | Protocol::Video | Protocol::FamilyA | Protocol::FamilyB => {
            sse::encode_event(None, &json(&ChatErrorBody::new(fault)))
        }
        Protocol::ImageEdit => sse::encode_event(Some("error"), &json(&ChatErrorBody::new(fault))),
        Protocol::Messages => sse::encode_event(
            Some("error"),
            &json(&MessagesErrorBody::new(fault, request_id)),
        ),
        Protocol::Responses => sse::encode_event(
            Some("error"),
            &json(&ResponsesErrorEvent::new(fault, sequence)),
        ),
    }
}

/// The JSON body of an error that the operator words, in this protocol, as [`render`] makes that of a fault.
pub fn render_custom(
    protocol: Option<Protocol>,
    status: u16,
    error: &CustomError<'_>,
    request_id: &str,
) -> Bytes {
    let kind = kind_of(status);
    let code = error.code.unwrap_or_else(|| kind.code());
    let CustomError { message, class, .. } = *error;
    match protocol {
        Some(Protocol::Messages) => json(&MessagesErrorBody {
            kind: "error",
            error: MessagesErrorObject {
                class: class.unwrap_or_else(|| messages_class(kind)),
                message,
            },
            request_id,
        }),
        Some(Protocol::FamilyB) => json(&FamilyBErrorBody {
            code: error.code.unwrap_or_else(|| family_b_code(kind)),
            message,
            request_id,
        }),
        Some(
            Protocol::Chat
            | Protocol::Responses
            | Protocol::ImageEdit
            | Protocol::Video
            | Protocol::FamilyA,
        )
        | None => json(&ChatErrorBody {
            error: ChatErrorObject {
                message,
                class: class.unwrap_or_else(|| chat_class(kind)),
                param: None,
                code,
            },
        }),
    }
}

/// An error that the operator words.
#[derive(Clone, Copy, Debug)]
pub struct CustomError<'a> {
    pub message: &'a str,
    /// The error `type`; by the status if there is none. Family B has no types.
    pub class: Option<&'a str>,
    /// The error `code`; by the status if there is none. The messages protocol has no codes.
    pub code: Option<&'a str>,
}

/// The kind of fault whose type and code fit a status.
fn kind_of(status: u16) -> FaultKind {
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

/// All four keys are always present, because clients read them without a check.
#[derive(Serialize)]
struct ChatErrorObject<'a> {
    message: &'a str,
    #[serde(rename = "type")]
    class: &'a str,
    param: Option<&'a str>,
    code: &'a str,
}

#[derive(Serialize)]
struct ChatErrorBody<'a> {
    error: ChatErrorObject<'a>,
}

#[derive(Serialize)]
struct MessagesErrorObject<'a> {
    #[serde(rename = "type")]
    class: &'a str,
    message: &'a str,
}

#[derive(Serialize)]
struct MessagesErrorBody<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    error: MessagesErrorObject<'a>,
    request_id: &'a str,
}

/// The top-level keys of an error of family B's native API.
#[derive(Serialize)]
struct FamilyBErrorBody<'a> {
    code: &'a str,
    message: &'a str,
    request_id: &'a str,
}

#[derive(Serialize)]
struct ResponsesErrorEvent<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    code: &'static str,
    message: &'a str,
    param: Option<&'a str>,
    sequence_number: u64,
}

impl<'a> ChatErrorBody<'a> {
    fn new(fault: &'a Fault) -> Self {
        let error = ChatErrorObject {
            message: &fault.message,
            class: chat_class(fault.kind),
            param: fault.param.as_deref(),
            code: fault.kind.code(),
        };
        Self { error }
    }

    /// The native API of family A has the same keys; its SDK recognises a refused key by this type and code.
    fn of_family_a(fault: &'a Fault) -> Self {
        let mut body = Self::new(fault);
        if fault.kind == FaultKind::Unauthenticated {
            body.error.class = "Unauthorized";
            body.error.code = "AuthenticationError";
        }
        body
    }
}

impl<'a> MessagesErrorBody<'a> {
    fn new(fault: &'a Fault, request_id: &'a str) -> Self {
        let error = MessagesErrorObject {
            class: messages_class(fault.kind),
            message: &fault.message,
        };
        Self {
            kind: "error",
            error,
            request_id,
        }
    }
}

impl<'a> FamilyBErrorBody<'a> {
    fn new(fault: &'a Fault, request_id: &'a str) -> Self {
        Self {
            code: family_b_code(fault.kind),
            message: &fault.message,
            request_id,
        }
    }
}

impl<'a> ResponsesErrorEvent<'a> {
    fn new(fault: &'a Fault, sequence: u64) -> Self {
        Self {
            kind: "error",
            code: fault.kind.code(),
            message: &fault.message,
            param: fault.param.as_deref(),
            sequence_number: sequence,
        }
    }
}

/// The error `type` in the protocols with chat's error format.
fn chat_class(kind: FaultKind) -> &'static str {
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
        | FaultKind::Denied(DenialStatus::Forbidden | DenialStatus::UnavailableForLegalReasons) => {
            "permission_error"
        }
        FaultKind::Denied(
            DenialStatus::BadRequest | DenialStatus::Unauthorized | DenialStatus::NotFound,
        ) => "invalid_request_error",
        FaultKind::TooManyRequests | FaultKind::Denied(DenialStatus::TooManyRequests) => "requests",
        FaultKind::TooManyTokens => "tokens",
        FaultKind::OverBudget => "insufficient_quota",
        FaultKind::Overloaded
        | FaultKind::Ending
        | FaultKind::NoChannel
        | FaultKind::CheckUnavailable
        | FaultKind::Connect
        | FaultKind::Upstream
        | FaultKind::UnreadableResponse
        | FaultKind::OutcomeUnknown
        | FaultKind::UpstreamTimeout
        | FaultKind::Internal => "server_error",
    }
}

/// The error `type` in the messages protocol.
fn messages_class(kind: FaultKind) -> &'static str {
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
        | FaultKind::Denied(DenialStatus::BadRequest)
        | FaultKind::ClientGone
        | FaultKind::WriteTimeout => "invalid_request_error",
        FaultKind::Unauthenticated | FaultKind::Denied(DenialStatus::Unauthorized) => {
            "authentication_error"
        }
        FaultKind::Forbidden
        | FaultKind::Denied(DenialStatus::Forbidden | DenialStatus::UnavailableForLegalReasons) => {
            "permission_error"
        }
        FaultKind::NoRoute
        | FaultKind::UnknownModel
        | FaultKind::UnknownId
        | FaultKind::Gone
        | FaultKind::Denied(DenialStatus::NotFound) => "not_found_error",
        FaultKind::TooLarge => "request_too_large",
        FaultKind::TooManyRequests
        | FaultKind::TooManyTokens
        | FaultKind::OverBudget
        | FaultKind::Denied(DenialStatus::TooManyRequests) => "rate_limit_error",
        FaultKind::Overloaded | FaultKind::Ending | FaultKind::NoChannel => "overloaded_error",
        FaultKind::CheckUnavailable
        | FaultKind::Connect
        | FaultKind::Upstream
        | FaultKind::UnreadableResponse
        | FaultKind::Internal => "api_error",
        FaultKind::UpstreamTimeout | FaultKind::OutcomeUnknown => "timeout_error",
    }
}

/// The error `code` in family B, from Model Studio's list of error codes.
fn family_b_code(kind: FaultKind) -> &'static str {
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
        FaultKind::Unauthenticated | FaultKind::Denied(DenialStatus::Unauthorized) => {
            "InvalidApiKey"
        }
        FaultKind::Forbidden
        | FaultKind::Denied(DenialStatus::Forbidden | DenialStatus::UnavailableForLegalReasons) => {
            "AccessDenied"
        }
        FaultKind::Denied(DenialStatus::BadRequest) => "DataInspectionFailed",
        FaultKind::NoRoute
        | FaultKind::UnknownId
        | FaultKind::Gone
        | FaultKind::Denied(DenialStatus::NotFound) => "NotFound",
        FaultKind::MethodNotAllowed | FaultKind::UpgradeRequired | FaultKind::NotCancellable => {
            "UnsupportedOperation"
        }
        FaultKind::KeyInUse | FaultKind::AnswerNotKept => "Conflict",
        FaultKind::UnknownModel => "ModelNotFound",
        FaultKind::TooLarge => "BadRequest.TooLarge",
        FaultKind::RequestTimeout => "RequestTimeOut",
        FaultKind::TooManyRequests | FaultKind::Denied(DenialStatus::TooManyRequests) => {
            "Throttling.RateQuota"
        }
        FaultKind::TooManyTokens | FaultKind::OverBudget => "Throttling.AllocationQuota",
        FaultKind::Overloaded
        | FaultKind::NoChannel
        | FaultKind::Ending
        | FaultKind::CheckUnavailable => "ServiceUnavailable",
        FaultKind::Connect
        | FaultKind::Upstream
        | FaultKind::UnreadableResponse
        | FaultKind::Internal => "InternalError",
        FaultKind::UpstreamTimeout | FaultKind::OutcomeUnknown => "InternalError.Timeout",
    }
}

fn json(body: &impl Serialize) -> Bytes {
    serde_json::to_vec(body)
        .expect("error bodies are plain structs of strings")
        .into()
}
