//! Converts Pingora's errors to faults; no other file does.

use super::listen::http1_inspection::InspectionError;
use headgate_channel::outcome::ConnectFailure;
use headgate_protocol::fault::{Fault, FaultKind};
use pingora_error::{Error, ErrorType};
use std::io;

/// Converts an error on the provider's side, before or during the response.
pub fn upstream(error: Box<Error>) -> Fault {
    let kind = match error.etype() {
        ErrorType::ConnectTimedout
        | ErrorType::TLSHandshakeTimedout
        | ErrorType::ReadTimedout
        | ErrorType::WriteTimedout => FaultKind::UpstreamTimeout,
        ErrorType::ConnectRefused
        | ErrorType::ConnectNoRoute
        | ErrorType::ConnectError
        | ErrorType::ConnectProxyFailure
        | ErrorType::BindError
        | ErrorType::SocketError
        | ErrorType::TLSHandshakeFailure
        | ErrorType::TLSWantX509Lookup
        | ErrorType::InvalidCert
        | ErrorType::HandshakeError => FaultKind::Connect,
        _ => FaultKind::Upstream,
    };
    let message = match kind {
        FaultKind::Connect => "the provider could not be reached; try again",
        FaultKind::UpstreamTimeout => "the provider did not respond in time; try again",
        _ => "the connection to the provider was closed; try again",
    };
    Fault::new(kind, message)
        .detail(describe(&error))
        .source(error)
}

/// Where making a connection failed; `None` if the fault does not tell.
pub fn connect_failure(fault: &Fault) -> Option<ConnectFailure> {
    if fault.kind == FaultKind::UpstreamTimeout {
        return Some(ConnectFailure::Timeout);
    }
    let source = fault.source.as_deref()?;
    // The lookup of addresses reports errors of the system, all others are Pingora's.
    if source.is::<io::Error>() {
        return Some(ConnectFailure::Dns);
    }
    match source.downcast_ref::<Box<Error>>()?.etype() {
        ErrorType::ConnectRefused => Some(ConnectFailure::Refused),
        ErrorType::ConnectNoRoute => Some(ConnectFailure::Unreachable),
        ErrorType::ConnectTimedout => Some(ConnectFailure::Timeout),
        ErrorType::TLSHandshakeFailure
        | ErrorType::TLSHandshakeTimedout
        | ErrorType::TLSWantX509Lookup
        | ErrorType::InvalidCert => Some(ConnectFailure::Tls),
        _ => None,
    }
}

/// Converts an error while the caller's request was read.
pub fn downstream_read(error: Box<Error>) -> Fault {
    if let Some(refused) = refused_bytes(&error) {
        return inspection(refused);
    }
    match error.etype() {
        ErrorType::InvalidHTTPHeader if has_too_many_fields(&error) => Fault::new(
            FaultKind::HeadTooLarge,
            "the request has too many header fields; send fewer",
        ),
        ErrorType::InvalidHTTPHeader => {
            // Pingora's error text quotes the head, which holds the caller's key.
            Fault::new(
                FaultKind::BadHead,
                "malformed HTTP request: invalid header field",
            )
        }
        ErrorType::ReadTimedout => Fault::new(
            FaultKind::RequestTimeout,
            "request not received in time; send it again",
        ),
        // Pingora reports malformed chunks as read errors with these names.
        ErrorType::Custom("InvalidChunk" | "InvalidTrailerEnd") => {
            inspection(InspectionError::Chunks)
        }
        _ => gone().detail(describe(&error)),
    }
}

/// Converts an error while the response was written to the caller.
pub fn downstream_write(error: Box<Error>) -> Fault {
    match error.etype() {
        ErrorType::WriteTimedout => Fault::new(
            FaultKind::WriteTimeout,
            "the client did not take the response in time",
        )
        .detail("the client read nothing within `server.limits.write_timeout`"),
        _ => gone().source(error),
    }
}

/// Converts an error of the gateway's own inspection of an HTTP/1.1 connection.
pub fn inspection(refused: InspectionError) -> Fault {
    let (kind, message) = match refused {
        InspectionError::HeadTooLarge => (
            FaultKind::HeadTooLarge,
            "the request line and header fields are too large; send fewer or shorter ones",
        ),
        InspectionError::HeadEnd => (
            FaultKind::BadHead,
            "malformed HTTP request: the end of the header section is ambiguous",
        ),
        InspectionError::Chunks | InspectionError::BodyEnd => {
            (FaultKind::BadHead, "malformed chunked request body")
        }
    };
    Fault::new(kind, message).detail(refused.to_string())
}

fn refused_bytes(error: &Error) -> Option<InspectionError> {
    let cause = error.cause.as_deref()?.downcast_ref::<io::Error>()?;
    cause.get_ref()?.downcast_ref::<InspectionError>().copied()
}

/// Pingora's HTTP parser accepts 256 fields.
fn has_too_many_fields(error: &Error) -> bool {
    let cause = error.cause.as_deref();
    cause.is_some_and(|cause| cause.to_string() == "too many headers")
}

/// The caller closed the connection.
pub fn gone() -> Fault {
    Fault::new(FaultKind::ClientGone, "the client closed the connection")
}

/// The process ends, and its drain deadline has passed.
pub fn ending() -> Fault {
    Fault::new(
        FaultKind::Ending,
        "the gateway is restarting; send the request again",
    )
}

/// The text of an error. Omits Pingora's text about malformed heads, which quotes the head and the bytes after it,
/// secrets included.
fn describe(error: &Error) -> String {
    match error.etype() {
        ErrorType::InvalidHTTPHeader => "malformed header section".into(),
        _ => error.to_string().trim().to_owned(),
    }
}
