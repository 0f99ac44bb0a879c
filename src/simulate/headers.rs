//! The headers real providers send with their answers, and which a gateway must keep from its callers.

use super::refusal::Refusal;
use crate::protocol::Protocol;
use http::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};

/// The headers every answer of the OpenAI protocols has.
const OPENAI: [(&str, &str); 11] = [
    ("openai-organization", "sim-org"),
    ("openai-project", "proj_simulated"),
    ("openai-version", "2020-10-01"),
    ("set-cookie", "__cf_bm=simulated; path=/; HttpOnly; Secure"),
    ("cf-ray", "0000000000000000-SIM"),
    ("x-ratelimit-limit-requests", "10000"),
    ("x-ratelimit-limit-tokens", "2000000"),
    ("x-ratelimit-remaining-requests", "9999"),
    ("x-ratelimit-remaining-tokens", "1999000"),
    ("x-ratelimit-reset-requests", "6ms"),
    ("x-ratelimit-reset-tokens", "30ms"),
];

/// The headers every answer of the messages protocol has.
const MESSAGES: [(&str, &str); 8] = [
    ("anthropic-organization-id", "sim-org"),
    ("openai-organization", "sim-org"),
    ("openai-version", "2020-10-01"),
    ("set-cookie", "__cf_bm=simulated; path=/; HttpOnly; Secure"),
    ("cf-ray", "0000000000000000-SIM"),
    ("anthropic-ratelimit-requests-limit", "10000"),
    ("anthropic-ratelimit-requests-remaining", "9999"),
    ("x-ratelimit-limit-requests", "10000"),
];

/// Adds the headers of an answer in `protocol` that took `millis` to begin.
pub fn add_provider_headers(
    headers: &mut HeaderMap,
    protocol: Protocol,
    request_id: &str,
    millis: u64,
) {
    let fixed: &[_] = match protocol {
        Protocol::Messages => &MESSAGES,
        _ => &OPENAI,
    };
    headers.reserve(fixed.len() + 4);
    for (name, value) in fixed {
        headers.append(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    headers.insert("openai-processing-ms", HeaderValue::from(millis));
    let request_id = HeaderValue::from_str(request_id).expect("request ids are ASCII words");
    if protocol == Protocol::Messages {
        headers.insert("request-id", request_id.clone());
    }
    headers.insert("x-request-id", request_id);
}

/// Adds the headers that tell more about `refusal`.
pub fn add_refusal_headers(headers: &mut HeaderMap, refusal: &Refusal) {
    if let Some(seconds) = refusal.retry_after {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
}

/// The credential of a request: its bearer token or its `x-api-key`, if not empty.
pub fn credential(headers: &HeaderMap) -> Option<&str> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = text("authorization").and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    let found = bearer.filter(|token| !token.is_empty());
    found.or_else(|| text("x-api-key").filter(|key| !key.trim().is_empty()))
}
