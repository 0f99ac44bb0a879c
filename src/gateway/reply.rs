//! The one place where faults become answers.

use crate::filter::LocalReply;
use crate::filter::view::RequestView;
use crate::protocol::Protocol;
use crate::protocol::error_body;
use crate::protocol::fault::{Fault, FaultKind};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use std::time::Duration;

/// Read by SDKs before `retry-after`, since it is finer.
const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");
/// `false` keeps SDKs from sending a request again, which some do whatever the status.
const X_SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// An answer for `fault`, in the shape of the protocol that the caller speaks.
pub fn from_fault(protocol: Option<Protocol>, fault: &Fault, request_id: &str) -> LocalReply {
    let status = error_body::status(protocol, fault);
    let mut headers = HeaderMap::with_capacity(6);
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    if let Some(wait) = fault.retry_after {
        add_retry_after(&mut headers, wait);
    }
    if fault.may_charge_twice || !fault.kind.is_transient() {
        forbid_retry(&mut headers);
    }
    if fault.kind == FaultKind::Unauthenticated {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    LocalReply {
        status: StatusCode::from_u16(status).expect("every fault has a valid status"),
        headers,
        body: error_body::render(protocol, fault, request_id),
    }
}

/// Keeps the caller's SDK from sending the request again by itself.
pub fn forbid_retry(headers: &mut HeaderMap) {
    headers.insert(X_SHOULD_RETRY, HeaderValue::from_static("false"));
}

/// Rounded up: who waits so long does not come too early.
fn add_retry_after(headers: &mut HeaderMap, wait: Duration) {
    let ms = u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
    headers.insert(
        header::RETRY_AFTER,
        HeaderValue::from(ms.div_ceil(1000).max(1)),
    );
    headers.insert(RETRY_AFTER_MS, HeaderValue::from(ms.max(1)));
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

/// Puts what every answer carries into its head: the request's id, and what filters add to whatever
/// is answered. The one place where that happens.
pub fn complete_head(headers: &mut HeaderMap, protocol: Option<Protocol>, request: &RequestView) {
    add_request_id(headers, protocol, &request.id);
    for (name, value) in &request.response_headers {
        headers.insert(name, value.clone());
    }
}

/// Puts the request id where the caller's protocol looks for it.
pub fn add_request_id(headers: &mut HeaderMap, protocol: Option<Protocol>, request_id: &str) {
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
