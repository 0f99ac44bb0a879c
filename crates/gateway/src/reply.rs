//! Converts faults to local replies, and adds the headers of every response.

use bytes::Bytes;
use headgate_core::filter::LocalReply;
use headgate_core::filter::view::RequestView;
use headgate_core::request_id::RequestId;
use headgate_protocol::Protocol;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::request_coding;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use std::time::Duration;

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// SDKs read this before `retry-after`, because it is more precise.
const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");
/// `false` stops SDKs from retrying, which some otherwise do for any status.
const X_SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// The reply for `fault`, in the error format of the caller's protocol.
pub fn from_fault(protocol: Option<Protocol>, fault: &Fault, request_id: &str) -> LocalReply {
    let errors = &Protocol::descriptor_for(protocol).errors;
    let status = errors.status(fault);
    let mut headers = HeaderMap::with_capacity(6);
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    if let Some(name) = errors.class_header {
        let class = HeaderValue::from_static(errors.class(fault.kind));
        headers.insert(HeaderName::from_static(name), class);
    }
    if let Some(wait) = fault.retry_after {
        add_retry_after(&mut headers, wait);
    }
    if fault.forbids_retry || !fault.kind.is_transient() {
        forbid_retry(&mut headers);
    }
    if status == StatusCode::UNAUTHORIZED.as_u16() {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    // RFC 9110, section 15.5.16: only if the coding is the problem.
    if fault.kind == FaultKind::UnsupportedMedia
        && fault.param.as_deref() == Some(request_coding::PARAMETER)
    {
        let accepted = HeaderValue::from_static(request_coding::ACCEPTED);
        headers.insert(header::ACCEPT_ENCODING, accepted);
    }
    LocalReply {
        status: StatusCode::from_u16(status).expect("every fault has a valid status"),
        headers,
        body: errors.render(fault, request_id),
    }
}

/// Stops the caller's SDK from retrying by itself.
pub fn forbid_retry(headers: &mut HeaderMap) {
    headers.insert(X_SHOULD_RETRY, HeaderValue::from_static("false"));
}

/// Rounds up, so that a client that waits exactly this long is not early.
pub fn add_retry_after(headers: &mut HeaderMap, wait: Duration) {
    let ms = u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
    headers.insert(
        header::RETRY_AFTER,
        HeaderValue::from(ms.div_ceil(1000).max(1)),
    );
    headers.insert(RETRY_AFTER_MS, HeaderValue::from(ms.max(1)));
}

/// The error event for a failure after the first byte; `None` without a protocol.
pub fn event_from_fault(
    protocol: Option<Protocol>,
    fault: &Fault,
    request_id: &str,
    events_seen: u64,
) -> Option<Bytes> {
    let errors = &protocol?.descriptor().errors;
    Some(errors.render_event(fault, request_id, events_seen))
}

/// Adds to a head what every response carries: the request id, and headers that filters set. No other function does
/// this.
pub fn complete_head(headers: &mut HeaderMap, protocol: Option<Protocol>, request: &RequestView) {
    headers.reserve(request.response_headers.len() + 2);
    add_request_id(headers, protocol, &request.id);
    request.add_response_headers(headers);
}

/// Adds the request id under the header names of the caller's protocol.
pub fn add_request_id(headers: &mut HeaderMap, protocol: Option<Protocol>, id: &RequestId) {
    let own = protocol.and_then(|protocol| protocol.descriptor().headers.request_id.as_ref());
    if let Some(name) = own {
        headers.insert(name, id.header_value());
    }
    headers.insert(X_REQUEST_ID, id.header_value());
}

/// The value of the `Allow` header of a 405.
pub fn allow(methods: &[Method]) -> HeaderValue {
    let list: Vec<&str> = methods.iter().map(Method::as_str).collect();
    HeaderValue::from_str(&list.join(", ")).expect("methods are tokens")
}
