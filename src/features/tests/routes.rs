//! Tests of routes in whole files: entries with several paths, and problems in one of them.

use crate::features::FEATURES;
use headgate_config as config;
use headgate_config::problem::ConfigProblem;
use headgate_config::snapshot::{BuiltSnapshot, CrossSnapshotState, build_loaded, feature_schemas};
use std::path::Path;
use std::sync::Arc;

fn build(matches: &str) -> Result<BuiltSnapshot, Vec<ConfigProblem>> {
    let text = format!(
        "channels: {{c: {{base_url: 'https://p.example/v1', protocols: [chat], models: {{m: n}}}}}}
callers: [{{name: ann, key_sha256: 'f77894fdfa58e447c57e077eaa9708e8e009c84dc6aba2db80461275e9b85be7', models: ['*']}}]
routes:
  - {{name: first, match: {matches}, request: [authenticate, list_models]}}
  - {{name: last, match: GET /b, request: [authenticate, list_models]}}
"
    );
    build_text(&text)
}

fn build_text(text: &str) -> Result<BuiltSnapshot, Vec<ConfigProblem>> {
    let path = Path::new("routes.yaml");
    let shared = CrossSnapshotState {
        variables: Arc::new(|_| None),
        ..CrossSnapshotState::new(FEATURES)
    };
    config::parse(path, text, &feature_schemas(FEATURES), &*shared.variables)
        .and_then(|loaded| build_loaded(path, loaded, &shared))
        .map_err(|invalid| invalid.problems)
}

#[test]
fn a_route_may_have_several_paths() {
    let built = build("['GET /a', 'GET /b/{id}']").unwrap();
    let routes = built.snapshot.router.routes();
    let shown: Vec<_> = routes
        .iter()
        .map(|route| format!("{} {}", route.name, route.pattern))
        .collect();
    assert_eq!(shown, ["first GET /a", "first GET /b/{id}", "last GET /b"]);
    assert!(built.warnings.shown.is_empty(), "{:?}", built.warnings);
}

#[test]
fn websockets_are_for_posts_of_responses_and_gets_of_realtime() {
    let routes = |route: &str| {
        let text = format!(
            "channels: {{c: {{base_url: 'https://p.example/v1', protocols: [chat, responses, realtime], models: {{m: n}}}}}}
callers: [{{name: ann, key_sha256: 'f77894fdfa58e447c57e077eaa9708e8e009c84dc6aba2db80461275e9b85be7', models: ['*']}}]
routes: [{{name: one, {route}, request: [require_json, authenticate, route_model]}}]
"
        );
        let problems = build_text(&text).err().unwrap_or_default();
        let paths = problems.into_iter().map(|problem| problem.path);
        paths.collect::<Vec<String>>()
    };
    for (route, paths) in [
        ("match: POST /r, protocol: responses, websocket: {}", vec![]),
        (
            "match: POST /r, protocol: chat, websocket: {}",
            vec!["routes[0].websocket"],
        ),
        (
            "match: ['POST /r', 'PUT /s'], protocol: responses, websocket: {}",
            vec!["routes[0].websocket"],
        ),
        (
            "match: POST /r, protocol: realtime",
            vec!["routes[0].websocket"],
        ),
        (
            "match: POST /r, protocol: responses, websocket: {ping_interval: 10ms, max_age: 20ms}",
            vec![
                "routes[0].websocket.ping_interval",
                "routes[0].websocket.max_age",
            ],
        ),
    ] {
        assert_eq!(routes(route), paths, "{route}");
    }
}

#[test]
fn a_cloud_has_a_form_of_its_own_for_messages_only() {
    for (protocols, paths) in [
        ("[messages]", vec![]),
        ("[chat]", vec!["channels.c.cloud"]),
        ("[messages, chat]", vec!["channels.c.cloud"]),
    ] {
        let text = format!(
            "channels: {{c: {{base_url: 'https://p.example/v1', protocols: {protocols}, cloud: vertex_ai, models: {{m: n}}}}}}
callers: [{{name: ann, key_sha256: 'f77894fdfa58e447c57e077eaa9708e8e009c84dc6aba2db80461275e9b85be7', models: ['*']}}]
routes: [{{name: one, match: GET /v1/models, request: [authenticate, list_models]}}]
"
        );
        let problems = build_text(&text).err().unwrap_or_default();
        let found: Vec<String> = problems.into_iter().map(|problem| problem.path).collect();
        assert_eq!(found, paths, "{protocols}");
    }
}

#[test]
fn an_error_in_one_of_several_paths_is_reported_with_its_place() {
    let built = build("[GET /a, GET /b]").unwrap();
    let [warning] = &built.warnings.shown[..] else {
        panic!("{:?}", built.warnings);
    };
    assert_eq!(warning.path, "routes[1].match");
    for (matches, path) in [
        ("['GET /a', GETS /b]", "routes[0].match[1]"),
        ("GET a", "routes[0].match"),
        ("[]", "routes[0].match"),
    ] {
        let problems = build(matches).err().unwrap();
        let paths: Vec<&str> = problems.iter().map(|problem| &*problem.path).collect();
        assert_eq!(paths, [path], "{matches}: {problems:?}");
    }
}

#[test]
fn a_body_is_edited_where_the_result_counts() {
    let edit = "{edit_json: {set: {/user: a}}}";
    for (request, reported) in [
        (
            "[authenticate, {edit_json: {set: {/model: m}}}, route_model, EDIT]",
            None,
        ),
        (
            "[authenticate, route_model, EDIT, {edit_json: {set: {/model: m}}}]",
            Some("`edit_json` changes `model` after `route_model` has selected channels by it"),
        ),
        (
            "[authenticate, route_model, {replace: [{in: /model, match: a, with: b}]}]",
            Some("`replace` changes `model` after `route_model` has selected channels by it"),
        ),
        ("[authenticate, route_model, EDIT, force_usage]", None),
        (
            "[authenticate, route_model, EDIT, force_usage, EDIT]",
            Some(
                "`force_usage` requires an earlier `edit_json`, which changes the body that it reads",
            ),
        ),
        (
            "[authenticate, route_model, {edit_json: {set: {/stream: {cel: 'channel == \"c\"'}}}}]",
            Some(
                "`/stream` changes `stream`, which the gateway reads before it tries a channel, but the edit depends on the attempt",
            ),
        ),
        (
            "[authenticate, route_model, {if: attempt > 1, edit_json: {remove: [/store]}}]",
            Some(
                "`/store` changes `store`, which the gateway reads before it tries a channel, but the edit depends on the attempt",
            ),
        ),
        ("[authenticate, {reply: {status: 204}}]", None),
        (
            "[{cors: {origins: [\"*\"]}}, authenticate, {reply: {status: 204}}]",
            None,
        ),
        (
            "[authenticate, {cors: {origins: [\"*\"]}}, {reply: {status: 204}}]",
            Some(
                "`authenticate` requires an earlier `cors`, so that its errors have the headers of this filter, too",
            ),
        ),
    ] {
        let request = request.replace("EDIT", edit);
        let text = format!(
            "channels: {{c: {{base_url: 'https://p.example/v1', protocols: [chat], models: {{m: n}}}}}}
callers: [{{name: ann, key_sha256: 'f77894fdfa58e447c57e077eaa9708e8e009c84dc6aba2db80461275e9b85be7', models: ['*']}}]
routes:
  - {{name: chat, match: POST /v1/chat/completions, protocol: chat, request: {request}}}
"
        );
        let problems = build_text(&text).err().unwrap_or_default();
        let reasons: Vec<&str> = problems.iter().map(|problem| &*problem.reason).collect();
        assert_eq!(
            reasons,
            reported.into_iter().collect::<Vec<_>>(),
            "{request}"
        );
    }
}

/// The errors and warnings of a file whose only route has these steps.
fn check_route(request: &str, response: &str) -> Vec<ConfigProblem> {
    let text = format!(
        "channels: {{c: {{base_url: 'https://p.example/v1', protocols: [chat], models: {{m: n}}}}}}
callers: [{{name: ann, key_sha256: 'f77894fdfa58e447c57e077eaa9708e8e009c84dc6aba2db80461275e9b85be7', models: ['*']}}]
services: {{s: {{url: 'https://s.example/'}}}}
routes:
  - {{name: chat, match: POST /v1/chat/completions, protocol: chat, request: {request}, response: {response}}}
"
    );
    match build_text(&text) {
        Ok(built) => {
            let warnings = built.warnings.shown.into_iter();
            warnings
                .filter(|warning| warning.path != "services.s")
                .collect()
        }
        Err(problems) => problems,
    }
}

#[test]
fn computed_values_name_only_what_earlier_filters_set() {
    let caller = "`caller` is not known before `authenticate`";
    let model = "`model` is not known before `route_model`";
    for (request, reported) in [
        (
            "[{set_headers: {x-a: {cel: caller}}}, authenticate, route_model]",
            Some((caller, "routes[0].request[0].set_headers")),
        ),
        (
            "[authenticate, {set_headers: {x-a: {cel: model}}}, route_model]",
            Some((model, "routes[0].request[1].set_headers")),
        ),
        (
            "[authenticate, {edit_json: {set: {/user: {cel: model}}}}, route_model]",
            Some((model, "routes[0].request[1].edit_json")),
        ),
        (
            "[{if: '\"x-a\" in request.headers', reply: {json: {a: {cel: caller}}}}, authenticate, route_model]",
            Some((caller, "routes[0].request[0].reply")),
        ),
        (
            "[authenticate, {if: model == 'm', set_headers: {x-a: {cel: model}}}, route_model]",
            Some((model, "routes[0].request[1].if")),
        ),
        // A channel is tried after all filters have seen the body.
        (
            "[{set_headers: {x-a: {cel: caller + model + channel}}}, authenticate, route_model]",
            None,
        ),
        (
            "[authenticate, {set_headers: {x-a: {cel: caller}}}, route_model, {edit_json: {set: {/user: {cel: model}}}}]",
            None,
        ),
    ] {
        let problems = check_route(request, "[]");
        let found: Vec<_> = problems
            .iter()
            .map(|problem| (&*problem.reason, &*problem.path))
            .collect();
        let expected: Vec<_> = reported.into_iter().collect();
        assert_eq!(found, expected, "{request}");
    }
}

#[test]
fn a_condition_by_which_callers_avoid_a_check_is_a_warning() {
    let ours = |name: &str| {
        format!(
            "a caller can switch `{name}` off: only what the caller sends decides its condition"
        )
    };
    let constant = |name: &str| {
        format!(
            "`{name}` runs for every request or for none: its condition reads nothing of the request"
        )
    };
    for (step, expected) in [
        (
            "{if: '\"x-a\" in request.headers', validate: }",
            Some(ours("validate")),
        ),
        (
            "{if: 'request.query[\"a\"] == \"\"', validate: }",
            Some(ours("validate")),
        ),
        (
            "{if: 'request.query_string != \"\"', validate: }",
            Some(ours("validate")),
        ),
        (
            "{if: 'json(\"/stream\") != true', rate_limit: }",
            Some(ours("rate_limit")),
        ),
        (
            "{if: 'sample(50, request.headers[\"x-a\"])', rate_limit: }",
            Some(ours("rate_limit")),
        ),
        (
            "{if: 'has(json(\"/user\"))', deny_ip: [10.0.0.0/8]}",
            Some(ours("deny_ip")),
        ),
        ("{if: '1 == 2', rate_limit: }", Some(constant("rate_limit"))),
        ("{if: 'sample(50)', rate_limit: }", None),
        (
            "{if: 'caller == \"ann\" || \"x-a\" in request.headers', rate_limit: }",
            None,
        ),
        ("{if: 'model == \"m\"', validate: }", None),
        ("{if: 'json(\"/user\") == 1', set_headers: {x-a: b}}", None),
        (
            "{if: '\"x-a\" in request.headers', reply: {status: 503}}",
            None,
        ),
    ] {
        let problems = check_route(&format!("[authenticate, route_model, {step}]"), "[]");
        let found: Vec<_> = problems.iter().map(|problem| &problem.reason).collect();
        assert_eq!(found, expected.iter().collect::<Vec<_>>(), "{step}");
        let at_condition = |problem: &ConfigProblem| problem.path == "routes[0].request[2].if";
        assert!(problems.iter().all(at_condition), "{problems:?}");
    }
    let request = "[authenticate, route_model, {callout: {service: s}}]";
    for (condition, expected) in [
        ("request.headers[\"x-a\"] != \"b\"", Some(ours("callout"))),
        ("response.status == 200", None),
    ] {
        let step = format!("[{{if: '{condition}', callout: {{service: s, hold: {{}}}}}}]");
        let problems = check_route(request, &step);
        let found: Vec<_> = problems.iter().map(|problem| &problem.reason).collect();
        assert_eq!(found, expected.iter().collect::<Vec<_>>(), "{condition}");
    }
}
