//! Tests of routing: which route takes a method and a path, and what patterns mean.

use super::*;
use crate::resilience::FailoverConfig;

pub(super) fn router(patterns: &[&str]) -> Router {
    let routes = patterns.iter().map(|pattern| Route {
        name: (*pattern).into(),
        protocol: None,
        request: RequestChain::default(),
        response: ResponseChain::default(),
        timeouts: TimeoutOverrides::default(),
        failover: Failover::new(&FailoverConfig::default()),
        traced_messages: MessageTracePolicy::default(),
        websocket: None,
        translation: None,
        pattern: MethodPathPattern::parse(pattern).unwrap(),
    });
    Router::new(routes.collect())
}

#[test]
fn the_first_route_written_takes_the_request() {
    let router = router(&[
        "POST /v1/responses",
        "GET|DELETE /v1/responses/{id}",
        "POST /v1/responses/{id}/cancel",
        "GET /v1/responses/special",
        "GET /v1/models/{id}",
    ]);
    for (method, path, expected) in [
        ("POST", "/v1/responses", Some("POST /v1/responses")),
        (
            "GET",
            "/v1/responses/resp_1",
            Some("GET|DELETE /v1/responses/{id}"),
        ),
        (
            "GET",
            "/v1/responses/special",
            Some("GET|DELETE /v1/responses/{id}"),
        ),
        (
            "POST",
            "/v1/responses/resp_1/cancel",
            Some("POST /v1/responses/{id}/cancel"),
        ),
        ("GET", "/v1/responses/", None),
        ("GET", "/v1/responses/a/b", None),
        ("POST", "/v1/responses/", None),
        ("GET", "/v1/models/x", Some("GET /v1/models/{id}")),
    ] {
        let found = match router.find(&method.parse().unwrap(), path) {
            RouteMatch::Route(route, _) => Some(route.name.to_string()),
            _ => None,
        };
        assert_eq!(found.as_deref(), expected, "{method} {path}");
    }
}

#[test]
fn a_path_with_another_method_names_those_it_has() {
    let router = router(&["POST /v1/messages", "GET|DELETE /v1/responses/{id}"]);
    for (path, expected) in [("/v1/messages", 1), ("/v1/responses/x", 2)] {
        match router.find(&Method::PUT, path) {
            RouteMatch::OtherMethods(methods) => assert_eq!(methods.len(), expected),
            _ => panic!("{path} should be known"),
        }
    }
    assert!(matches!(
        router.find(&Method::GET, "/other"),
        RouteMatch::Nothing
    ));
}

#[test]
fn parameters_carry_what_stood_in_their_place() {
    let router = router(&["GET /v1/responses/{id}/{part}"]);
    let RouteMatch::Route(_, parameters) =
        router.find(&Method::GET, "/v1/responses/r1/input_items")
    else {
        panic!("the route should match");
    };
    let parameters: Vec<_> = parameters.iter().map(|(n, v)| (&**n, v.as_str())).collect();
    assert_eq!(parameters, [("id", "r1"), ("part", "input_items")]);
}

#[test]
fn a_parameter_has_several_segments_or_a_literal_end() {
    let router = router(&[
        "POST /fal/{+model}",
        "GET /fal/{+model}/requests/{id}/status",
        "POST /v1beta/models/{model}:predictLongRunning",
        "GET /v1beta/files/{id}:download",
    ]);
    for (method, path, expected) in [
        (
            "POST",
            "/fal/fal-ai/veo3/image",
            Some("model=fal-ai/veo3/image"),
        ),
        ("POST", "/fal/veo3", Some("model=veo3")),
        ("POST", "/fal/", None),
        ("POST", "/fal", None),
        ("POST", "/fal/a//b", None),
        (
            "GET",
            "/fal/fal-ai/veo3/requests/7/status",
            Some("model=fal-ai/veo3 id=7"),
        ),
        ("GET", "/fal/requests/7/status", None),
        ("GET", "/fal/a/requests/7/status/x", None),
        (
            "POST",
            "/v1beta/models/veo:predictLongRunning",
            Some("model=veo"),
        ),
        ("POST", "/v1beta/models/:predictLongRunning", None),
        ("POST", "/v1beta/models/veo:generate", None),
        ("GET", "/v1beta/files/task1:download", Some("id=task1")),
    ] {
        let found = match router.find(&method.parse().unwrap(), path) {
            RouteMatch::Route(_, parameters) => {
                let parameters = parameters
                    .iter()
                    .map(|(name, text)| format!("{name}={text}"));
                Some(parameters.collect::<Vec<_>>().join(" "))
            }
            _ => None,
        };
        assert_eq!(found.as_deref(), expected, "{method} {path}");
    }
}

#[test]
fn a_pattern_covers_what_it_matches_before_another_one() {
    for (first, second, expected) in [
        ("GET /a/{+x}", "GET /a/{id}", true),
        ("GET /a/{+x}", "GET /a/b/{id}/c", true),
        ("GET /a/{+x}/c", "GET /a/b/{id}/c", true),
        ("GET /a/{+x}/c", "GET /a/{+y}", false),
        ("GET /a/{+x}", "GET /a/{+y}/c", true),
        ("GET /a/{id}", "GET /a/{+y}", false),
        ("GET /a/{id}", "GET /a/{id}:run", true),
        ("GET /a/{id}:run", "GET /a/{id}", false),
        ("GET /a/{id}:run", "GET /a/b:run", true),
    ] {
        let parse = |text| MethodPathPattern::parse(text).unwrap();
        assert_eq!(
            parse(first).covers(&parse(second)),
            expected,
            "{first} {second}"
        );
    }
}

#[test]
fn an_invalid_pattern_is_reported_with_its_reason() {
    for pattern in [
        "/v1/messages",
        "FETCH /x",
        "GET v1",
        "GET /{",
        "GET /{}",
        "GET /a b",
        "GET /a?b",
        "GET /{+}",
        "GET /{+a}/{+b}",
        "GET /{+a}:run",
        "GET /{a}run",
    ] {
        assert!(MethodPathPattern::parse(pattern).is_err(), "{pattern}");
    }
}

#[test]
fn a_parameter_is_the_text_of_its_segment_and_an_encoded_slash_separates_nothing() {
    let router = router(&["GET /v1/models/{id}", "GET /v1/[all]"]);
    for (path, expected) in [
        ("/v1/models/a%20b", Some("a b")),
        ("/v1/models/a%2Fb", Some("a/b")),
        ("/v1/models/%E4%B8%AD", Some("中")),
        ("/v1%2Fmodels/a", None),
        ("/v1/models%2Fa", None),
    ] {
        let text = match router.find(&Method::GET, path) {
            RouteMatch::Route(_, parameters) => Some(parameters[0].1.clone()),
            _ => None,
        };
        assert_eq!(text.as_deref(), expected, "{path}");
    }
    assert!(matches!(
        router.find(&Method::GET, "/v1/%5Ball%5D"),
        RouteMatch::Route(..)
    ));
}
