//! `pass_sse`: streams go straight through, and proxies before us are told not to hold them back.

use super::Filter;
use super::kind::{FilterKind, Place, Side};
use super::view::{AnswerKind, AnswerView};
use http::{HeaderName, HeaderValue, header};
use std::sync::Arc;

pub const KIND: FilterKind = FilterKind {
    name: "pass_sse",
    summary: "Marks event streams as not to be buffered or cached on their way to the caller.",
    side: Side::Response,
    place: Place::ANYWHERE,
    settings: None,
    bare: true,
    build: |_, _| Ok(Arc::new(PassSse)),
};

struct PassSse;

impl Filter for PassSse {
    fn on_response_head(&self, answer: &mut AnswerView<'_>) {
        if answer.kind == AnswerKind::Stream {
            let headers = &mut answer.headers;
            headers.remove(header::CONTENT_LENGTH);
            headers.insert(
                HeaderName::from_static("x-accel-buffering"),
                HeaderValue::from_static("no"),
            );
            headers
                .entry(header::CACHE_CONTROL)
                .or_insert(HeaderValue::from_static("no-cache"));
        }
    }
}
