//! The kind of a response body, determined from its headers.

use crate::filter::view::ResponseBodyKind;
use crate::protocol::Protocol;
use http::{HeaderMap, header};

/// Media types of error pages; no supported protocol uses them.
const PAGES: &[&str] = &["text/html", "application/xhtml+xml", "text/xml"];

/// The kind of a response to a request of this protocol. Video protocols have no streams: an event stream is parsed
/// like any other body, and rejected.
pub(in crate::gateway) fn body_kind_for(
    protocol: Option<Protocol>,
    headers: &HeaderMap,
) -> ResponseBodyKind {
    let is_video = matches!(
        protocol,
        Some(Protocol::Video | Protocol::FamilyA | Protocol::FamilyB)
    );
    match body_kind_of(headers) {
        ResponseBodyKind::Stream if is_video => ResponseBodyKind::Other,
        kind => kind,
    }
}

pub(crate) fn body_kind_of(headers: &HeaderMap) -> ResponseBodyKind {
    // The gateway requests no content coding; an encoded body can neither be parsed nor masked.
    let coded = headers
        .get(header::CONTENT_ENCODING)
        .is_some_and(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity"));
    if coded {
        return ResponseBodyKind::Foreign;
    }
    let content_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    if content_type == "application/json" {
        return ResponseBodyKind::Json;
    }
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("text/event-stream") {
        ResponseBodyKind::Stream
    } else if essence.eq_ignore_ascii_case("application/json") {
        ResponseBodyKind::Json
    } else if PAGES.iter().any(|page| essence.eq_ignore_ascii_case(page)) {
        ResponseBodyKind::Foreign
    } else {
        ResponseBodyKind::Other
    }
}
