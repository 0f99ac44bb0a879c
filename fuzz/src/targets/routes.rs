//! `routes.yaml`: any text is built or refused, each problem is in a line of the text that exists, and routes are found by their
//! paths.

use headgate::features::FEATURES;
use headgate_config::problem::{ConfigProblem, InvalidConfig};
use headgate_config::schema::FeatureSchemas;
use headgate_config::snapshot::router::{RouteMatch, Router};
use headgate_config::snapshot::{CrossSnapshotState, build_loaded, feature_schemas};
use http::Method;
use std::path::Path;
use std::sync::{Arc, LazyLock};

static SCHEMAS: LazyLock<FeatureSchemas> = LazyLock::new(|| feature_schemas(FEATURES));
static SHARED: LazyLock<CrossSnapshotState> = LazyLock::new(|| CrossSnapshotState {
    variables: Arc::new(lookup),
    ..CrossSnapshotState::new(FEATURES)
});

/// Relative paths of a configuration start here, where no file is.
const PATH: &str = "absent/routes.yaml";
/// Paths of requests.
const REQUESTED: [&str; 6] = [
    "/v1/chat/completions",
    "/v1/v1/chat/completion/",
    "/chat/completions",
    "/v1beta/models/a:generateContent",
    "/v1/videos/video_1/content",
    "/",
];

pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let built = headgate_config::parse(Path::new(PATH), text, &SCHEMAS, &lookup)
        .and_then(|loaded| build_loaded(Path::new(PATH), loaded, &SHARED));
    match built {
        Ok(built) => {
            check_places(text, &built.warnings.shown);
            check_router(&built.snapshot.router);
        }
        Err(invalid) => check_problems(text, &invalid),
    }
}

/// A route without parameters is found by its path and each of its methods, or one before it is.
fn check_router(router: &Router) {
    for route in router.routes() {
        let path = route.pattern.path();
        for method in route
            .pattern
            .methods()
            .iter()
            .filter(|_| !path.contains('{'))
        {
            let found = router.find(method, &path);
            assert!(matches!(found, RouteMatch::Route(..)), "{method} {path}");
        }
    }
    for path in REQUESTED {
        for method in [Method::GET, Method::POST] {
            router.find(&method, path);
            router.nearest(&method, path);
        }
        router.find_websocket(path);
        router.protocol_near(path);
    }
    assert!(router.endpoints().len() <= router.routes().len());
}

fn lookup(name: &str) -> Option<String> {
    match name {
        "KEY" => Some("sk-fuzz-0123456789".into()),
        "DIGEST" => Some("0123456789abcdef".repeat(4)),
        "TASK_KEY" => Some("0123456789abcdef0123456789abcdef01234567".into()),
        _ => None,
    }
}

fn check_problems(text: &str, invalid: &InvalidConfig) {
    assert!(
        !invalid.problems.is_empty(),
        "an invalid file has a problem"
    );
    check_places(text, &invalid.problems);
    let printed = invalid.to_string();
    assert!(!printed.is_empty());
    if !text.contains("sk-fuzz") {
        assert!(
            !printed.contains("sk-fuzz"),
            "a secret is printed: {printed}"
        );
    }
}

/// Each problem is in a line of the text, and has a reason.
fn check_places(text: &str, problems: &[ConfigProblem]) {
    let lines = text.split('\n').count();
    for problem in problems {
        assert!(
            problem.line as usize <= lines + 1,
            "{problem:?} of {lines} lines"
        );
        assert!(!problem.reason.is_empty(), "{problem:?}");
        assert_eq!(problem.line == 0, problem.column == 0, "{problem:?}");
    }
}
