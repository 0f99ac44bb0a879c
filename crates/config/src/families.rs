//! Definitions of the built-in video families.

use headgate_core::task::definition::VideoFamilyDefinitionConfig;
use headgate_core::task::families::SHIPPED;
use std::collections::BTreeMap;

/// The definitions of the shipped families, by name.
///
/// # Panics
/// Never: a test reads them.
pub fn shipped() -> BTreeMap<String, VideoFamilyDefinitionConfig> {
    let read = |(name, text): (&str, &str)| {
        let value: serde_json::Value =
            serde_saphyr::from_str(text).expect("a shipped family is YAML");
        let family = serde_json::from_value(value).expect("a shipped family is a definition");
        (name.to_owned(), family)
    };
    SHIPPED.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_families_are_definitions() {
        let names: Vec<String> = shipped().into_keys().collect();
        assert_eq!(names, SHIPPED.map(|(name, _)| name));
    }
}
