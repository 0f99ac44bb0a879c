//! Stands in for plugins in a program without them: it refuses `plugins` with what to do.

use headgate_core::feature::section::{ConfigProblems, ConfigSections, SectionContext};
use headgate_core::feature::{Feature, FeatureValues};
use serde_json::{Value, json};
use std::path::PathBuf;

const KEY: &str = "plugins";

/// Refuses `plugins` of `routes.yaml`.
pub(super) struct AbsentPlugins;

impl Feature for AbsentPlugins {
    fn sections(&self) -> Option<ConfigSections> {
        Some(ConfigSections {
            keys: &[KEY],
            schema,
        })
    }

    fn build_sections(
        &self,
        context: &SectionContext<'_>,
        _built: &mut FeatureValues,
        problems: &mut dyn ConfigProblems,
    ) -> Vec<PathBuf> {
        let declared = context.values.get(KEY).and_then(Value::as_object);
        if declared.is_some_and(|declared| !declared.is_empty()) {
            let hint = "build the program with the feature `wasm`, which is on by default";
            let reason = "this program was built without plugins";
            problems.error("/plugins", reason, Some(hint));
        }
        Vec::new()
    }
}

fn schema() -> Value {
    json!({ "properties": { KEY: { "type": "object" } } })
}
