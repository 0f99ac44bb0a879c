//! Converts errors of connections to faults; no other file converts Pingora's.

use super::downstream::http1::read_error::Http1ReadError;
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

/// Converts an error while a caller's request was read over HTTP/1.1.
pub fn http1_read(error: Http1ReadError) -> Fault {
    let (kind, message) = match &error {
        Http1ReadError::HeadTooLarge => (
            FaultKind::HeadTooLarge,
            "the request line and header fields are too large; send fewer or shorter ones",
        ),
        Http1ReadError::TooManyFields => (
            FaultKind::HeadTooLarge,
            "the request has too many header fields; send fewer",
        ),
        Http1ReadError::RequestLine => (
            FaultKind::BadHead,
            "malformed request line: expected a method, a target and HTTP/1.1 or HTTP/1.0, separated by single spaces; percent-encode spaces and special characters in the target",
        ),
        Http1ReadError::Target => (
            FaultKind::BadHead,
            "the request target is not a path; begin it with `/`, and percent-encode special characters in it",
        ),
        Http1ReadError::Head(_) => (
            FaultKind::BadHead,
            "malformed HTTP request: invalid header field",
        ),
        Http1ReadError::HeadEnd => (
            FaultKind::BadHead,
            "malformed HTTP request: the end of the header section is ambiguous",
        ),
        Http1ReadError::Chunks => (FaultKind::BadHead, "malformed chunked request body"),
        Http1ReadError::Closed | Http1ReadError::Connection(_) => {
            return gone().detail(error.to_string());
        }
    };
    Fault::new(kind, message).detail(error.to_string())
}

/// Converts an error while a caller's request was read over HTTP/2.
pub fn http2_read(error: Box<Error>) -> Fault {
    match error.etype() {
        ErrorType::ReadTimedout => Fault::new(
            FaultKind::RequestTimeout,
            "request not received in time; send it again",
        ),
        _ => gone().detail(describe(&error)),
    }
}

/// Converts an error while a response was written to a caller over HTTP/1.1.
pub fn http1_write(error: io::Error) -> Fault {
    match error.kind() {
        io::ErrorKind::TimedOut => slow_client(),
        _ => gone().source(error),
    }
}

/// Converts an error while a response was written to a caller over HTTP/2.
pub fn http2_write(error: Box<Error>) -> Fault {
    match error.etype() {
        ErrorType::WriteTimedout => slow_client(),
        _ => gone().source(error),
    }
}

/// The caller does not read its response.
pub fn slow_client() -> Fault {
    Fault::new(
        FaultKind::WriteTimeout,
        "the client did not take the response in time",
    )
    .detail("the client read nothing within `server.limits.write_timeout`")
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
