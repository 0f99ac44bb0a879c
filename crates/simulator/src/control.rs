//! The control endpoints `/_simulate/…`: reading the request log, and setting the default directives.

use super::json::{JsonText, NULL, object};
use super::known_directives::KNOWN;
use super::provider_state::ProviderState;
use crate::http_response::SimulatedResponse;
use bytes::Bytes;
use http::{Method, Request, StatusCode};

/// The path prefix of the control endpoints.
pub const PREFIX: &str = "/_simulate/";

/// Responds to a request to a control endpoint.
pub fn respond(provider: &ProviderState, request: &Request<Bytes>) -> SimulatedResponse {
    let path = request.uri().path().trim_start_matches(PREFIX);
    let segments: Vec<&str> = path.split('/').collect();
    let request_log = &provider.request_log;
    match (request.method(), segments.as_slice()) {
        (&Method::GET, ["directives"]) => ok(directives(provider)),
        (&Method::PUT, ["directives"]) => put_directives(provider, request.body()),
        (&Method::DELETE, ["directives"]) => {
            provider.directives.clear_default();
            ok(directives(provider))
        }
        (&Method::GET, ["requests"]) => {
            let records: Vec<_> = request_log
                .records()
                .iter()
                .map(|record| record.json())
                .collect();
            ok(JsonText::serialize(&records))
        }
        (&Method::DELETE, ["requests"]) => {
            request_log.clear();
            ok(JsonText::serialize(&[NULL; 0]))
        }
        (&Method::GET, ["requests", n]) => record(provider, n, false),
        (&Method::GET, ["requests", n, "body"]) => record(provider, n, true),
        (&Method::GET, ["tasks"]) => ok(provider.tasks.records()),
        (&Method::GET, ["media"]) => ok(provider.media_downloads.json()),
        (&Method::GET, ["open"]) => ok(JsonText::serialize(&request_log.open())),
        _ => refuse(StatusCode::NOT_FOUND, "unknown control endpoint"),
    }
}

fn directives(provider: &ProviderState) -> JsonText {
    let known: Vec<_> = KNOWN
        .map(|(name, does)| object! {"name": name, "does": does})
        .into();
    object! {"directives": provider.directives.default_directives().as_deref(), "known": known}
}

fn put_directives(provider: &ProviderState, body: &Bytes) -> SimulatedResponse {
    let Ok(text) = std::str::from_utf8(body) else {
        return refuse(StatusCode::BAD_REQUEST, "directives must be UTF-8 text");
    };
    match provider.directives.set_default(text.trim()) {
        Ok(()) => ok(directives(provider)),
        Err(error) => refuse(StatusCode::BAD_REQUEST, &error.to_string()),
    }
}

fn record(provider: &ProviderState, n: &str, only_body: bool) -> SimulatedResponse {
    let record = n.parse().ok().and_then(|n| provider.request_log.record(n));
    match record {
        None => refuse(StatusCode::NOT_FOUND, "no recorded request with this id"),
        Some(record) if only_body => match record.body() {
            Some(body) => SimulatedResponse::full(StatusCode::OK, "application/octet-stream", body),
            None => refuse(StatusCode::GONE, "only the hash of this body is recorded"),
        },
        Some(record) => ok(record.json()),
    }
}

fn ok(json: JsonText) -> SimulatedResponse {
    SimulatedResponse::full(StatusCode::OK, "application/json", json)
}

fn refuse(status: StatusCode, message: &str) -> SimulatedResponse {
    SimulatedResponse::full(status, "application/json", object! {"error": message})
}
