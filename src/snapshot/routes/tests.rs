//! Tests of routes in whole files: entries with several paths, and problems in one of them.

use super::super::{BuiltSnapshot, SharedState, build_loaded, filter_schemas};
use crate::config;
use crate::config::problem::ConfigProblem;
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
    let shared = SharedState {
        variables: Arc::new(|_| None),
        ..SharedState::default()
    };
    config::parse(path, text, &filter_schemas(), &*shared.variables)
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
