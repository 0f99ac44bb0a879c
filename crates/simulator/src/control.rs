//! The control endpoints `/_simulate/…`: reading the request log, and setting the default directives.

use super::Simulator;
use super::json::{JsonText, NULL, object};
use super::known_directives::KNOWN;
use crate::http_response::SimulatedResponse;
use bytes::Bytes;
use http::{Method, Request, StatusCode};

/// The path prefix of the control endpoints.
pub const PREFIX: &str = "/_simulate/";

/// Responds to a request to a control endpoint.
pub fn respond(simulator: &Simulator, request: &Request<Bytes>) -> SimulatedResponse {
    let path = request.uri().path().trim_start_matches(PREFIX);
    let segments: Vec<&str> = path.split('/').collect();
    let request_log = &simulator.request_log;
    match (request.method(), segments.as_slice()) {
        (&Method::GET, ["directives"]) => ok(directives(simulator)),
        (&Method::PUT, ["directives"]) => put_directives(simulator, request.body()),
        (&Method::DELETE, ["directives"]) => {
            simulator.directives.clear_default();
            ok(directives(simulator))
        }
        (&Method::GET, ["requests"]) => {
            let records: Vec<_> = request_log
                .records()
                .iter()
                .map(|record| record.json())
                .collect();
            ok(JsonText::of(&records))
        }
        (&Method::DELETE, ["requests"]) => {
            request_log.clear();
            ok(JsonText::of(&[NULL; 0]))
        }
        (&Method::GET, ["requests", n]) => record(simulator, n, false),
        (&Method::GET, ["requests", n, "body"]) => record(simulator, n, true),
        (&Method::GET, ["tasks"]) => ok(simulator.tasks.records()),
        (&Method::GET, ["media"]) => ok(simulator.media_downloads.json()),
        (&Method::GET, ["open"]) => ok(JsonText::of(&request_log.open())),
        _ => refuse(StatusCode::NOT_FOUND, "unknown control endpoint"),
    }
}

fn directives(simulator: &Simulator) -> JsonText {
    let known: Vec<_> = KNOWN
        .map(|(name, does)| object! {"name": name, "does": does})
        .into();
    object! {"directives": simulator.directives.default_directives().as_deref(), "known": known}
}

fn put_directives(simulator: &Simulator, body: &Bytes) -> SimulatedResponse {
    let Ok(text) = std::str::from_utf8(body) else {
        return refuse(StatusCode::BAD_REQUEST, "directives must be UTF-8 text");
    };
    match simulator.directives.set_default(text.trim()) {
        Ok(()) => ok(directives(simulator)),
        Err(error) => refuse(StatusCode::BAD_REQUEST, &error.to_string()),
    }
}

fn record(simulator: &Simulator, n: &str, only_body: bool) -> SimulatedResponse {
    let record = n.parse().ok().and_then(|n| simulator.request_log.record(n));
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
