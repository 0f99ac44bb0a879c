//! Response headers of real providers, which a gateway must not forward to callers, and request headers.

use super::api_error::ApiError;
use super::dialect::ApiDialect;
use super::vendors::GOOGLE_KEY;
use headgate_protocol::form;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use http::request::Parts;
use std::borrow::Cow;

/// The headers of every response in the OpenAI protocols.
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

/// The headers of every response in the messages protocol.
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

/// The headers of every response in family A.
const FAMILY_A: [(&str, &str); 2] = [
    ("server", "istio-envoy"),
    ("x-tt-logid", "02178073285700000000000000000000simulated"),
];

/// The headers of every response in family B.
const FAMILY_B: [(&str, &str); 3] = [
    ("server", "istio-envoy"),
    ("x-dashscope-call-gateway", "true"),
    ("req-arrive-time", "1780732857000"),
];

/// The headers of every response of Gemini.
const GEMINI: [(&str, &str); 4] = [
    ("server", "scaffolding on HTTPServer2"),
    ("x-xss-protection", "0"),
    ("x-frame-options", "SAMEORIGIN"),
    ("x-content-type-options", "nosniff"),
];

/// Adds the headers of a response in `dialect` whose head took `millis`.
pub fn add_provider_headers(
    headers: &mut HeaderMap,
    dialect: ApiDialect,
    request_id: &str,
    millis: u64,
) {
    let fixed: &[_] = match dialect {
        ApiDialect::Chat | ApiDialect::Responses | ApiDialect::Images => &OPENAI,
        ApiDialect::Messages => &MESSAGES,
        ApiDialect::FamilyA => &FAMILY_A,
        ApiDialect::FamilyB => &FAMILY_B,
        ApiDialect::Gemini => &GEMINI,
        ApiDialect::Converse => &[],
    };
    headers.reserve(fixed.len() + 4);
    for (name, value) in fixed {
        headers.append(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    let took = match dialect {
        ApiDialect::FamilyA => "x-envoy-upstream-service-time",
        ApiDialect::FamilyB => "req-cost-time",
        ApiDialect::Gemini => "server-timing-ms",
        ApiDialect::Converse => "x-amzn-bedrock-invocation-latency",
        ApiDialect::Chat | ApiDialect::Messages | ApiDialect::Responses | ApiDialect::Images => {
            "openai-processing-ms"
        }
    };
    headers.insert(took, HeaderValue::from(millis));
    let own_id = match dialect {
        ApiDialect::Messages => Some("request-id"),
        ApiDialect::Converse => Some("x-amzn-requestid"),
        ApiDialect::Chat
        | ApiDialect::Responses
        | ApiDialect::Images
        | ApiDialect::FamilyA
        | ApiDialect::FamilyB
        | ApiDialect::Gemini => None,
    };
    if let Some(name) = own_id {
        headers.insert(name, request_id_value(request_id));
    }
    add_request_id(headers, request_id);
}

/// Adds the id of the request.
pub fn add_request_id(headers: &mut HeaderMap, request_id: &str) {
    headers.insert("x-request-id", request_id_value(request_id));
}

fn request_id_value(request_id: &str) -> HeaderValue {
    HeaderValue::from_str(request_id).expect("request ids are ASCII words")
}

/// Adds the headers of an error response. Google has the time to wait in the body.
pub fn add_refusal_headers(headers: &mut HeaderMap, dialect: ApiDialect, refusal: &ApiError) {
    if dialect == ApiDialect::Converse
        && let Ok(value) = HeaderValue::from_str(refusal.exception())
    {
        headers.insert("x-amzn-errortype", value);
    }
    if let Some(seconds) = refusal
        .retry_after
        .filter(|_| dialect != ApiDialect::Gemini)
    {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
}

/// The boundary of a body that is a form.
pub fn form_boundary(headers: &HeaderMap) -> Option<&str> {
    let content_type = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    form::boundary(content_type)
}

/// The credential of a request, if it is not empty, where the API of `dialect` has it: mostly the bearer token or `x-api-key`.
pub fn credential(head: &Parts, dialect: ApiDialect) -> Option<Cow<'_, str>> {
    if dialect == ApiDialect::Gemini {
        return GOOGLE_KEY.key(head);
    }
    let headers = &head.headers;
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = text("authorization").and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    let found = bearer.filter(|token| !token.is_empty());
    let key = text("x-api-key").filter(|key| !key.trim().is_empty());
    found
        .or(key.filter(|_| dialect != ApiDialect::Converse))
        .map(Cow::Borrowed)
}
