//! How an answer's body comes, by its headers.

use crate::filter::view::ResponseBodyKind;
use crate::protocol::Protocol;
use http::{HeaderMap, header};

/// What is written for people: no protocol answers with it.
const PAGES: &[&str] = &["text/html", "application/xhtml+xml", "text/xml"];

/// An answer to somebody who speaks this protocol. Tasks of video are never answered by a stream: what comes
/// as one is read like anything else, and found to be no answer.
pub(super) fn body_kind_for(protocol: Option<Protocol>, headers: &HeaderMap) -> ResponseBodyKind {
    let is_video = matches!(
        protocol,
        Some(Protocol::Video | Protocol::FamilyA | Protocol::FamilyB)
    );
    match body_kind_of(headers) {
        ResponseBodyKind::Stream if is_video => ResponseBodyKind::Other,
        kind => kind,
    }
}

pub(in crate::gateway) fn body_kind_of(headers: &HeaderMap) -> ResponseBodyKind {
    // Nobody asked for a coding: what is in one can be neither masked nor read.
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
