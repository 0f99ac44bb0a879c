//! A provider's error in the caller's protocol, with the words that clients act on.

use bytes::Bytes;
use headgate_protocol::Protocol;
use headgate_protocol::error_body::CustomError;
use headgate_protocol::error_class::{ErrorSubject, classify_response, error_message};
use headgate_protocol::fault::FaultKind;
use http::StatusCode;

/// The status of an overload in the messages protocol.
const OVERLOADED: u16 = 529;

/// The body for the caller of an error with this status.
pub fn error_body(
    caller: Protocol,
    status: StatusCode,
    received: &Bytes,
    request_id: &str,
) -> Bytes {
    let errors = &caller.descriptor().errors;
    let class = classify_response(status.as_u16(), received, ErrorSubject::Model).class;
    let message = error_message(received);
    let message =
        message.unwrap_or_else(|| "the provider returned an error without a message".to_owned());
    let words = errors.words(class);
    let message = match words.prefix {
        Some(prefix) if !message.starts_with(prefix) => format!("{prefix}: {message}"),
        Some(_) | None => message,
    };
    let error = CustomError {
        message: &message,
        class: words.class,
        code: words.code,
        param: None,
    };
    errors.render_custom(caller_status(caller, status).as_u16(), &error, request_id)
}

/// The caller's status for a provider's: protocols differ in that of an overload.
pub fn caller_status(caller: Protocol, received: StatusCode) -> StatusCode {
    let own = caller.descriptor().errors.overload_status;
    let is_overload = |status: StatusCode| {
        status.as_u16() == OVERLOADED || status == StatusCode::SERVICE_UNAVAILABLE
    };
    match is_overload(received) {
        true => StatusCode::from_u16(own.unwrap_or(FaultKind::Overloaded.status()))
            .unwrap_or(StatusCode::SERVICE_UNAVAILABLE),
        false => received,
    }
}
