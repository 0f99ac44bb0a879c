//! `routes.yaml`, with files beside it: any text is built or refused, each problem is in a line of the text that exists, routes
//! are found by their paths, and callers of other sources are accepted or refused.

mod callers;
mod reference_router;
mod routes_folder;

use headgate::features::FEATURES;
use headgate_config::problem::{ConfigProblem, InvalidConfig};
use headgate_config::schema::FeatureSchemas;
use headgate_config::snapshot::{CrossSnapshotState, build_loaded, feature_schemas};
use routes_folder::RoutesFolder;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

static SCHEMAS: LazyLock<FeatureSchemas> = LazyLock::new(|| feature_schemas(FEATURES));
static SHARED: LazyLock<CrossSnapshotState> = LazyLock::new(|| CrossSnapshotState::new(FEATURES));

pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let folder = RoutesFolder::new(text);
    let variables = folder.variables();
    let shared = CrossSnapshotState {
        directory: Arc::default(),
        variables: Arc::new(move |name| lookup(name, &variables)),
        ..SHARED.clone()
    };
    let path = folder.path().join("routes.yaml");
    let built = headgate_config::parse(&path, folder.routes, &SCHEMAS, &*shared.variables)
        .and_then(|loaded| build_loaded(&path, loaded, &shared));
    match built {
        Ok(built) => {
            check_places(folder.routes, &built.warnings.shown);
            reference_router::check_router(&built.snapshot.router);
            callers::check_callers(&folder, &built.snapshot, &shared.directory);
        }
        Err(invalid) => check_problems(text, folder.routes, &invalid),
    }
}

fn lookup(name: &str, others: &HashMap<String, String>) -> Option<String> {
    match name {
        "KEY" => Some("sk-fuzz-0123456789".into()),
        "DIGEST" => Some("0123456789abcdef".repeat(4)),
        "TASK_KEY" => Some("0123456789abcdef0123456789abcdef01234567".into()),
        _ => others.get(name).cloned(),
    }
}

fn check_problems(input: &str, routes: &str, invalid: &InvalidConfig) {
    assert!(
        !invalid.problems.is_empty(),
        "an invalid file has a problem"
    );
    check_places(routes, &invalid.problems);
    let printed = invalid.to_string();
    assert!(!printed.is_empty());
    if !input.contains("sk-fuzz") {
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
