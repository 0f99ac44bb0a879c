//! Stands in for plugins in a program without them: it refuses `plugins` with what to do.

use headgate_core::feature::section::{
    ConfigProblemSink, FeatureSectionSchema, SectionBuildContext,
};
use headgate_core::feature::{Feature, FeatureTypeMap};
use serde_json::{Value, json};
use std::path::PathBuf;

const KEY: &str = "plugins";

/// Refuses `plugins` of `routes.yaml`.
pub(super) struct AbsentPlugins;

impl Feature for AbsentPlugins {
    fn sections(&self) -> Option<FeatureSectionSchema> {
        Some(FeatureSectionSchema {
            keys: &[KEY],
            schema,
        })
    }

    fn build_sections(
        &self,
        context: &SectionBuildContext<'_>,
        _built: &mut FeatureTypeMap,
        problems: &mut dyn ConfigProblemSink,
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
