//! How an answer's body comes, by its headers.

use crate::filter::view::AnswerKind;
use crate::protocol::Protocol;
use http::{HeaderMap, header};

/// What is written for people: no protocol answers with it.
const PAGES: &[&str] = &["text/html", "application/xhtml+xml", "text/xml"];

/// An answer to somebody who speaks this protocol. Tasks of video are never answered by a stream: what comes
/// as one is read like anything else, and found to be no answer.
pub(super) fn kind_for(protocol: Option<Protocol>, headers: &HeaderMap) -> AnswerKind {
    let is_video = matches!(
        protocol,
        Some(Protocol::Video | Protocol::FamilyA | Protocol::FamilyB)
    );
    match kind_of(headers) {
        AnswerKind::Stream if is_video => AnswerKind::Other,
        kind => kind,
    }
}

pub(in crate::gateway) fn kind_of(headers: &HeaderMap) -> AnswerKind {
    // Nobody asked for a coding: what is in one can be neither masked nor read.
    let coded = headers
        .get(header::CONTENT_ENCODING)
        .is_some_and(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity"));
    if coded {
        return AnswerKind::Foreign;
    }
    let content_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("text/event-stream") {
        AnswerKind::Stream
    } else if essence.eq_ignore_ascii_case("application/json") {
        AnswerKind::Json
    } else if PAGES.iter().any(|page| essence.eq_ignore_ascii_case(page)) {
        AnswerKind::Foreign
    } else {
        AnswerKind::Other
    }
}
