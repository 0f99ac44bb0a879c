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
    let path = Path::new("routes.yaml");
    let shared = SharedState {
        variables: Arc::new(|_| None),
        ..SharedState::default()
    };
    config::parse(path, &text, &filter_schemas(), &*shared.variables)
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
