//! The key of a response: everything that the response may depend on.
//!
//! That is what reaches a provider (path, query, headers and body with the edits of all filters, by the same functions
//! that build the request), the channels that may receive it, the route's chains, which conditions of its steps held, the
//! caller, and what filters read of the request when there is a response.

use crate::length_prefixed_hasher::LengthPrefixedHasher;
use crate::response_cache::CacheKey;
use headgate_core::catalog::model::Candidate;
use headgate_core::filter::condition;
use headgate_core::filter::response_inputs::{ResponseVaryInputs, in_order};
use headgate_core::filter::view::RequestView;
use headgate_protocol::header_policy;
use http::{HeaderName, header};
use std::borrow::Cow;

/// Headers about the caches on the way: they select no response.
const CACHE_HEADERS: [HeaderName; 2] = [header::CACHE_CONTROL, header::PRAGMA];

/// The key of a request for `caller`, or for all callers; `None` without a body or a destination.
pub(super) fn for_request(
    request: &RequestView,
    route_fingerprint: &str,
    caller: Option<&str>,
    inputs: &ResponseVaryInputs,
) -> Option<CacheKey> {
    let body = request.body.bytes()?;
    let destination = request.destination.as_ref()?;
    let mut digest = LengthPrefixedHasher::default();
    digest.text(route_fingerprint);
    digest.optional(caller.map(str::as_bytes));
    let model = destination
        .model
        .as_ref()
        .map(|model| model.name.as_bytes());
    digest.optional(model);
    digest.number(destination.candidates.len());
    for candidate in &*destination.candidates {
        add_candidate(&mut digest, candidate, request);
    }
    digest.text(request.method.as_str());
    digest.text(request.upstream_path.as_deref().unwrap_or(&request.path));
    digest.optional(forwarded_query(request).as_deref().map(str::as_bytes));
    add_headers(&mut digest, request)?;
    digest.field(body);
    digest.edits(&request.edits);
    for runs in condition::outcomes(request) {
        digest.optional(Some(&[u8::from(runs)]));
    }
    digest.optional(None);
    inputs.visit(request, &mut |value| digest.optional(value));
    Some(CacheKey(digest.finish()))
}

/// The query that is forwarded; `None` if there is none, or only parameters that are not forwarded.
fn forwarded_query(request: &RequestView) -> Option<Cow<'_, str>> {
    let query = request.query.as_deref()?;
    let forwarded = header_policy::query_for_provider(query, &request.headers);
    (!forwarded.is_empty() || query.is_empty()).then_some(forwarded)
}

/// The channel, what it adds to the request, and the model's name there.
fn add_candidate(digest: &mut LengthPrefixedHasher, candidate: &Candidate, request: &RequestView) {
    let channel = &candidate.channel;
    digest.text(&channel.name);
    digest.field(&channel.fingerprint.to_be_bytes());
    digest.optional(candidate.model.as_ref().map(|model| model.name.as_bytes()));
    digest.number(candidate.key.map_or(0, |key| key + 1));
    digest.number(channel.headers.len());
    for (name, value) in &channel.headers {
        digest.header(name, value);
    }
    let forwarded = request
        .client
        .and_then(|client| client.forwarded(channel.forwarded, &request.headers));
    digest.optional(forwarded.as_ref().map(|(_, value)| value.as_bytes()));
}

/// `None` if the request cannot be sent with these headers.
fn add_headers(digest: &mut LengthPrefixedHasher, request: &RequestView) -> Option<()> {
    let mut headers = header_policy::request_headers_for_provider(&request.headers);
    request.header_edits.apply(&mut headers).ok()?;
    for name in &CACHE_HEADERS {
        headers.remove(name);
    }
    let all = in_order(&headers);
    digest.number(all.len());
    for (name, value) in all {
        digest.header(name, value);
    }
    Some(())
}

#[cfg(test)]
mod tests;
