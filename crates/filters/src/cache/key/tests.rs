//! Tests of keys: whatever reaches a provider makes another key, and nothing else does.

use super::*;
use headgate_core::catalog::caller::Caller;
use headgate_core::catalog::client_address::ClientAddressResolver;
use headgate_core::catalog::model::Model;
use headgate_core::filter::body::RequestBody;
use headgate_core::filter::expression::FilterExpression;
use headgate_core::filter::view::RequestDestination;
use headgate_expression::EvaluationPhase;
use headgate_protocol::Protocol;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use http::{HeaderMap, HeaderValue, Method};
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
    request.destination = Some(RequestDestination {
        model: Some(Arc::new(Model::new("demo", Arc::default(), Vec::new()))),
        candidates: [].into(),
    });
    request
}

fn set_body(request: &mut RequestView, body: &str) {
    let document = JsonDocument::parse(body.to_owned().into(), &JsonLimits::default());
    request.body = RequestBody::Json(document.unwrap()).into();
}

fn key_after(change: Change) -> CacheKey {
    let mut request = request();
    change(&mut request);
    for_request(
        &request,
        "route",
        Some("ann"),
        &ResponseVaryInputs::default(),
    )
    .unwrap()
}

fn set_header(request: &mut RequestView, name: &'static str, value: &'static str) {
    let value = HeaderValue::from_static(value);
    request.headers.append(HeaderName::from_static(name), value);
}

#[test]
fn whatever_reaches_a_provider_makes_another_key() {
    let changes: [(&str, Change); 20] = [
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
        ("an edit that makes what another request is", |request| {
            let RequestView { body, edits, .. } = request;
            let stream = body.scanned().root().get("stream").unwrap();
            edits.replace(stream.span(), "false");
        }),
        ("white space in the body", |request| {
            set_body(request, &format!("{BODY} "));
        }),
        ("an edit of the body", |request| {
            let RequestView { body, edits, .. } = request;
            edits.insert_member(body.scanned().root(), "n", &b"1"[..]);
        }),
        ("another model", |request| {
            request.destination = Some(RequestDestination {
                model: Some(Arc::new(Model::new("other", Arc::default(), Vec::new()))),
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
        let key = for_request(&request(), route, caller, &ResponseVaryInputs::default()).unwrap();
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
        |request| request.body = RequestBody::Absent.into(),
        |request| request.destination = None,
    ];
    for change in changes {
        let mut request = request();
        change(&mut request);
        let inputs = ResponseVaryInputs::default();
        assert_eq!(for_request(&request, "route", None, &inputs), None);
    }
}

/// What one step of a response chain with `value` reads.
fn response_inputs(value: &str) -> ResponseVaryInputs {
    let expression = FilterExpression::compile(value, EvaluationPhase::ResponseHead);
    let expression = expression.unwrap_or_else(|invalid| panic!("{}", invalid.reason));
    let mut inputs = ResponseVaryInputs::default();
    inputs.add_references(expression.references());
    inputs
}

#[test]
fn what_a_later_step_reads_makes_another_key() {
    let changes: [(&str, Change); 8] = [
        ("caller", |request| {
            request.caller = Some(Arc::new(Caller::new("bob", &[])));
        }),
        ("client.address", |request| {
            let peer = "192.0.2.1:9".parse().unwrap();
            let client = ClientAddressResolver::default().resolve_client(peer, &request.headers);
            request.client = Some(client);
        }),
        ("request.headers[\"X-Tenant\"]", |request| {
            set_header(request, "x-tenant", "blue");
        }),
        ("request.headers[\"x-\" + model]", |request| {
            set_header(request, "x-tenant", "blue");
        }),
        ("has(request.headers[\"x-tenant\"]) ? 1 : 2", |request| {
            set_header(request, "x-tenant", "");
        }),
        ("request.query_string", |request| {
            request.query = Some("a=1&api_key=x".into());
        }),
        ("request.query[\"api_key\"]", |request| {
            request.query = Some("a=1&api_key=x".into());
        }),
        ("request.path + request.params[\"id\"]", |request| {
            request.upstream_path = Some(request.path.clone());
            request.path = "/other".into();
        }),
    ];
    for (value, change) in changes {
        let mut keys = HashSet::new();
        for is_changed in [false, true] {
            let mut request = request();
            if is_changed {
                change(&mut request);
            }
            // No provider gets what the step reads.
            request
                .header_edits
                .remove(&HeaderName::from_static("x-tenant"));
            keys.insert((
                for_request(&request, "route", None, &ResponseVaryInputs::default()).unwrap(),
                for_request(&request, "route", None, &response_inputs(value)).unwrap(),
            ));
        }
        let plain: HashSet<_> = keys.iter().map(|(plain, _)| *plain).collect();
        let read: HashSet<_> = keys.iter().map(|(_, read)| *read).collect();
        assert_eq!((plain.len(), read.len()), (1, 2), "{value}");
    }
}
