//! Reads settings of a LiteLLM configuration by their paths, and marks what it has read.

use crate::source_settings::SourceSettingsTracker;
use serde_json::Value;

/// Reads sections, and marks what it has read.
pub struct SectionReader<'a> {
    pub config: &'a Value,
    pub settings: &'a mut SourceSettingsTracker,
}

impl SectionReader<'_> {
    pub fn value(&self, path: &str) -> &Value {
        path.split('.').fold(self.config, |value, key| &value[key])
    }

    /// The first setting of `paths` that is set; later ones have no effect in LiteLLM either.
    pub fn first<T>(
        &mut self,
        paths: &[&str],
        parse: fn(&Value) -> Option<T>,
        note: Option<&str>,
    ) -> Option<T> {
        let mut found = None;
        for path in paths {
            let Some(value) = parse(self.value(path)) else {
                continue;
            };
            match note {
                Some(note) => self.settings.converted_with_note(path, note),
                None => self.settings.converted(path),
            }
            if found.is_none() {
                found = Some(value);
            }
        }
        found
    }
}
