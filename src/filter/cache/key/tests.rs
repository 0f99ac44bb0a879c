//! Tests of keys: whatever reaches a provider makes another key, and nothing else does.

use super::*;
use crate::catalog::model::Model;
use crate::filter::body::RequestBody;
use crate::filter::view::RouteDestination;
use crate::protocol::Protocol;
use crate::protocol::json::{JsonDocument, JsonLimits};
use http::Method;
use std::collections::HashSet;
use std::sync::Arc;

/// What a test changes of a request.
type Change = fn(&mut RequestView);

const BODY: &str = r#"{"model":"demo","messages":[],"stream":false}"#;

fn request() -> RequestView {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("authorization", "Bearer sk-caller-1"),
        ("content-type", "application/json"),
        ("user-agent", "sdk/1"),
    ] {
        headers.append(name, HeaderValue::from_static(value));
    }
    let mut request = RequestView::new(
        "req_1".into(),
        Method::POST,
        "/v1/chat/completions".into(),
        Some("a=1".into()),
        headers,
        Vec::new(),
        Some(Protocol::Chat),
    );
    set_body(&mut request, BODY);
    request.destination = Some(RouteDestination {
        model: Some(Arc::new(Model::new("demo", Vec::new()))),
        candidates: [].into(),
    });
    request
}

fn set_body(request: &mut RequestView, body: &str) {
    let document = JsonDocument::parse(body.to_owned().into(), &JsonLimits::default());
    request.body = RequestBody::Json(document.unwrap());
}

fn key_after(change: Change) -> CacheKey {
    let mut request = request();
    change(&mut request);
    of(&request, "route", Some("ann")).unwrap()
}

fn set_header(request: &mut RequestView, name: &'static str, value: &'static str) {
    let value = HeaderValue::from_static(value);
    request.headers.append(HeaderName::from_static(name), value);
}

#[test]
fn whatever_reaches_a_provider_makes_another_key() {
    let changes: [(&str, Change); 19] = [
        ("a header", |request| set_header(request, "x-own", "1")),
        ("another value", |request| set_header(request, "x-own", "2")),
        ("two lines", |request| {
            set_header(request, "x-own", "1");
            set_header(request, "x-own", "2");
        }),
        ("two lines in another order", |request| {
            set_header(request, "x-own", "2");
            set_header(request, "x-own", "1");
        }),
        ("one line for two", |request| {
            set_header(request, "x-own", "1, 2");
        }),
        ("an empty header", |request| {
            set_header(request, "x-own", "")
        }),
        ("a second header", |request| {
            set_header(request, "x-own", "1");
            set_header(request, "x-other", "1");
        }),
        ("a beta", |request| {
            set_header(request, "anthropic-beta", "tools");
        }),
        ("an idempotency key", |request| {
            set_header(request, "idempotency-key", "1");
        }),
        ("no user agent", |request| {
            request.headers.remove("user-agent");
        }),
        ("a header of the operator", |request| {
            let name = HeaderName::from_static("x-operator");
            let value = HeaderValue::from_static("1");
            request.header_edits.set(&name, value);
        }),
        ("a removed header", |request| {
            set_header(request, "x-own", "3");
            request.header_edits.remove(&header::USER_AGENT);
        }),
        ("another query", |request| {
            request.query = Some("a=2".into());
        }),
        ("an empty query", |request| {
            request.query = Some(String::new());
        }),
        ("no query", |request| request.query = None),
        ("another path", |request| {
            request.upstream_path = Some("/v1/other".into());
        }),
        ("white space in the body", |request| {
            set_body(request, &format!("{BODY} "));
        }),
        ("an edit of the body", |request| {
            let RequestView { body, edits, .. } = request;
            edits.insert_member(body.scanned().root(), "n", &b"1"[..]);
        }),
        ("another model", |request| {
            request.destination = Some(RouteDestination {
                model: Some(Arc::new(Model::new("other", Vec::new()))),
                candidates: [].into(),
            });
        }),
    ];
    let mut keys = HashSet::from([key_after(|_| {})]);
    for (what, change) in changes {
        assert!(keys.insert(key_after(change)), "{what}");
    }
    for (route, caller) in [
        ("route", Some("bob")),
        ("route", None),
        ("route", Some("")),
        ("other", Some("ann")),
    ] {
        let key = of(&request(), route, caller).unwrap();
        assert!(keys.insert(key), "{route} {caller:?}");
    }
}

#[test]
fn what_reaches_no_provider_makes_no_other_key() {
    let changes: [(&str, Change); 8] = [
        ("another request id", |request| request.id = "req_2".into()),
        ("the caller's key", |request| {
            let value = HeaderValue::from_static("Bearer sk-caller-2");
            request.headers.insert(header::AUTHORIZATION, value);
        }),
        ("a cookie", |request| set_header(request, "cookie", "a=b")),
        ("the client's address", |request| {
            set_header(request, "x-forwarded-for", "192.0.2.1");
        }),
        ("a connection header", |request| {
            set_header(request, "connection", "keep-alive");
        }),
        ("a cache directive", |request| {
            set_header(request, "cache-control", "max-age=5");
        }),
        ("a credential in the query", |request| {
            request.query = Some("a=1&api_key=x".into());
        }),
        ("the order of headers", |request| {
            let agent = request.headers.remove(header::USER_AGENT).unwrap();
            let kind = request.headers.remove(header::CONTENT_TYPE).unwrap();
            request.headers.append(header::USER_AGENT, agent);
            request.headers.append(header::CONTENT_TYPE, kind);
        }),
    ];
    let expected = key_after(|_| {});
    for (what, change) in changes {
        assert_eq!(key_after(change), expected, "{what}");
    }
}

#[test]
fn a_request_without_body_or_destination_has_no_key() {
    let changes: [Change; 2] = [
        |request| request.body = RequestBody::Absent,
        |request| request.destination = None,
    ];
    for change in changes {
        let mut request = request();
        change(&mut request);
        assert_eq!(of(&request, "route", None), None);
    }
}
