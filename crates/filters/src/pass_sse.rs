//! `pass_sse`: stops proxies in front of the gateway from buffering or caching event streams.

use headgate_core::filter::descriptor::{ChainSide, FilterChainRules, FilterDescriptor};
use headgate_core::filter::view::{ResponseBodyKind, ResponseView};
use headgate_core::filter::{Filter, HookResult};
use http::{HeaderName, HeaderValue, header};
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "pass_sse",
    summary: "Sets the response headers that stop proxies from buffering or caching event streams.",
    side: ChainSide::Response,
    placement: FilterChainRules::ANYWHERE,
    settings: None,
    bare: true,
    build: |_, _| Ok(Arc::new(SseNoBufferingHeadersFilter)),
};

struct SseNoBufferingHeadersFilter;

impl Filter for SseNoBufferingHeadersFilter {
    fn on_response_head<'a>(&'a self, response: &'a mut ResponseView<'_>) -> HookResult<'a, ()> {
        if response.kind == ResponseBodyKind::Stream {
            let headers = &mut response.headers;
            headers.remove(header::CONTENT_LENGTH);
            headers.insert(
                HeaderName::from_static("x-accel-buffering"),
                HeaderValue::from_static("no"),
            );
            headers
                .entry(header::CACHE_CONTROL)
                .or_insert(HeaderValue::from_static("no-cache"));
        }
        HookResult::done()
    }
}
