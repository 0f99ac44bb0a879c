//! `routes.yaml`: any text is built or refused, and each problem is in a line of the text that exists.

use headgate::features::FEATURES;
use headgate_config::problem::InvalidConfig;
use headgate_config::schema::FeatureSchemas;
use headgate_config::snapshot::{CrossSnapshotState, build_loaded, feature_schemas};
use std::path::Path;
use std::sync::{Arc, LazyLock};

static SCHEMAS: LazyLock<FeatureSchemas> = LazyLock::new(|| feature_schemas(FEATURES));
static SHARED: LazyLock<CrossSnapshotState> = LazyLock::new(|| CrossSnapshotState {
    variables: Arc::new(lookup),
    ..CrossSnapshotState::new(FEATURES)
});

/// Relative paths of a configuration start here, where no file is.
const PATH: &str = "absent/routes.yaml";

pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let built = headgate_config::parse(Path::new(PATH), text, &SCHEMAS, &lookup)
        .and_then(|loaded| build_loaded(Path::new(PATH), loaded, &SHARED));
    if let Err(invalid) = built {
        check_problems(text, &invalid);
    }
}

fn lookup(name: &str) -> Option<String> {
    match name {
        "KEY" => Some("sk-fuzz-0123456789".into()),
        "TASK_KEY" => Some("0123456789abcdef0123456789abcdef01234567".into()),
        _ => None,
    }
}

fn check_problems(text: &str, invalid: &InvalidConfig) {
    assert!(
        !invalid.problems.is_empty(),
        "an invalid file has a problem"
    );
    let lines = text.split('\n').count();
    for problem in &invalid.problems {
        assert!(
            problem.line as usize <= lines + 1,
            "{problem:?} of {lines} lines"
        );
        assert!(!problem.reason.is_empty(), "{problem:?}");
        assert_eq!(problem.line == 0, problem.column == 0, "{problem:?}");
    }
    let printed = invalid.to_string();
    assert!(!printed.is_empty());
    if !text.contains("sk-fuzz") {
        assert!(
            !printed.contains("sk-fuzz"),
            "a secret is printed: {printed}"
        );
    }
}
