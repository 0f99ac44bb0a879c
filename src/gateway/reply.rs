//! The one place where faults become answers.

use crate::filter::Reply;
use crate::protocol::Protocol;
use crate::protocol::error_body;
use crate::protocol::fault::{Fault, FaultKind};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};

/// An answer for `fault`, in the shape of the protocol that the caller speaks.
pub fn from_fault(protocol: Option<Protocol>, fault: &Fault, request_id: &str) -> Reply {
    let status = error_body::status(protocol, fault);
    let mut headers = HeaderMap::with_capacity(6);
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    if let Some(wait) = fault.retry_after {
        headers.insert(
            header::RETRY_AFTER,
            HeaderValue::from(wait.as_secs().max(1)),
        );
    }
    if fault.kind == FaultKind::Unauthenticated {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    Reply {
        status: StatusCode::from_u16(status).expect("every fault has a valid status"),
        headers,
        body: error_body::render(protocol, fault, request_id),
    }
}

/// The event that tells a caller of a failure behind the first byte; none where the protocol has no events.
pub fn event_from_fault(
    protocol: Option<Protocol>,
    fault: &Fault,
    request_id: &str,
    events_seen: u64,
) -> Option<Bytes> {
    protocol.map(|protocol| error_body::error_event(protocol, fault, request_id, events_seen))
}

/// Puts the request id where the caller's protocol looks for it.
pub fn name_request(headers: &mut HeaderMap, protocol: Option<Protocol>, request_id: &str) {
    let Ok(id) = HeaderValue::from_str(request_id) else {
        return;
    };
    if protocol == Some(Protocol::Messages) {
        headers.insert(HeaderName::from_static("request-id"), id.clone());
    }
    headers.insert(HeaderName::from_static("x-request-id"), id);
}

/// Where no route says which protocol the caller speaks, its headers do.
pub fn guessed_protocol(headers: &HeaderMap) -> Option<Protocol> {
    let speaks_messages =
        headers.contains_key("anthropic-version") || headers.contains_key("x-api-key");
    speaks_messages.then_some(Protocol::Messages)
}

/// The `Allow` header of a 405.
pub fn allow(methods: &[Method]) -> HeaderValue {
    let list: Vec<&str> = methods.iter().map(Method::as_str).collect();
    HeaderValue::from_str(&list.join(", ")).expect("methods are tokens")
}
