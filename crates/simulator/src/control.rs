//! `/_simulate/…`: reading the records, and giving the standing order.

use super::Simulator;
use super::json::{Json, NULL, object};
use super::known_directives::KNOWN;
use crate::answer::Answer;
use bytes::Bytes;
use http::{Method, Request, StatusCode};

/// Where the control endpoints lie.
pub const PREFIX: &str = "/_simulate/";

/// Answers a request to a control endpoint.
pub fn answer(simulator: &Simulator, request: &Request<Bytes>) -> Answer {
    let path = request.uri().path().trim_start_matches(PREFIX);
    let segments: Vec<&str> = path.split('/').collect();
    let ledger = &simulator.ledger;
    match (request.method(), segments.as_slice()) {
        (&Method::GET, ["directives"]) => ok(directives(simulator)),
        (&Method::PUT, ["directives"]) => put_directives(simulator, request.body()),
        (&Method::DELETE, ["directives"]) => {
            simulator.orders.withdraw();
            ok(directives(simulator))
        }
        (&Method::GET, ["requests"]) => {
            let records: Vec<_> = ledger
                .records()
                .iter()
                .map(|record| record.json())
                .collect();
            ok(Json::of(&records))
        }
        (&Method::DELETE, ["requests"]) => {
            ledger.clear();
            ok(Json::of(&[NULL; 0]))
        }
        (&Method::GET, ["requests", n]) => record(simulator, n, false),
        (&Method::GET, ["requests", n, "body"]) => record(simulator, n, true),
        (&Method::GET, ["tasks"]) => ok(simulator.tasks.records()),
        (&Method::GET, ["open"]) => ok(Json::of(&ledger.open())),
        _ => refuse(StatusCode::NOT_FOUND, "no such control endpoint"),
    }
}

fn directives(simulator: &Simulator) -> Json {
    let known: Vec<_> = KNOWN
        .map(|(name, does)| object! {"name": name, "does": does})
        .into();
    object! {"directives": simulator.orders.standing().as_deref(), "known": known}
}

fn put_directives(simulator: &Simulator, body: &Bytes) -> Answer {
    let Ok(text) = std::str::from_utf8(body) else {
        return refuse(StatusCode::BAD_REQUEST, "directives are text in UTF-8");
    };
    match simulator.orders.stand(text.trim()) {
        Ok(()) => ok(directives(simulator)),
        Err(error) => refuse(StatusCode::BAD_REQUEST, &error.to_string()),
    }
}

fn record(simulator: &Simulator, n: &str, only_body: bool) -> Answer {
    let record = n.parse().ok().and_then(|n| simulator.ledger.record(n));
    match record {
        None => refuse(StatusCode::NOT_FOUND, "no such request on record"),
        Some(record) if only_body => match record.body() {
            Some(body) => Answer::full(StatusCode::OK, "application/octet-stream", body),
            None => refuse(StatusCode::GONE, "of this body only the hash is kept"),
        },
        Some(record) => ok(record.json()),
    }
}

fn ok(json: Json) -> Answer {
    Answer::full(StatusCode::OK, "application/json", json)
}

fn refuse(status: StatusCode, message: &str) -> Answer {
    Answer::full(status, "application/json", object! {"error": message})
}
