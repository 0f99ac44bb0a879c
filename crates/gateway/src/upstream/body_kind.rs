//! The kind of a response body, determined from its headers.

use headgate_core::filter::view::ResponseBodyKind;
use headgate_event_stream::declares_frames;
use headgate_protocol::ChannelProtocol;
use http::{HeaderMap, header};

/// Media types of error pages; no supported protocol uses them.
const PAGES: &[&str] = &["text/html", "application/xhtml+xml", "text/xml"];

/// The kind of a response to a request of this protocol; `is_decoded` if it has no content coding, or that is decoded.
/// Where a protocol has no streams, an event stream is parsed like any other body, and rejected.
pub(crate) fn body_kind_for(
    protocol: Option<ChannelProtocol>,
    headers: &HeaderMap,
    is_decoded: bool,
) -> ResponseBodyKind {
    let has_streams = protocol.is_none_or(|protocol| protocol.descriptor().has_streams());
    let has_frames = protocol.is_some_and(|protocol| protocol.descriptor().has_frames());
    match response_body_kind(headers, is_decoded) {
        ResponseBodyKind::Other if has_frames && declares_frames(headers) => {
            ResponseBodyKind::Stream
        }
        // Events in place of frames are not of the protocol.
        ResponseBodyKind::Stream if has_frames => ResponseBodyKind::Other,
        ResponseBodyKind::Stream if !has_streams => ResponseBodyKind::Other,
        kind => kind,
    }
}

pub fn response_body_kind(headers: &HeaderMap, is_decoded: bool) -> ResponseBodyKind {
    // The gateway requests no content coding; a body in an unknown one can neither be parsed nor masked.
    let is_coded = || {
        let coding = headers.get(header::CONTENT_ENCODING);
        coding.is_some_and(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity"))
    };
    if !is_decoded && is_coded() {
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
