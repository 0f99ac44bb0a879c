//! Definitions of the built-in video families.

use crate::hint::did_you_mean;
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

/// The shipped family whose sections a family takes where it has none: the one that it extends, or else that of
/// `own_name`.
///
/// # Errors
/// It extends a family that is not shipped: the hint.
pub(crate) fn base<'s>(
    config: &VideoFamilyDefinitionConfig,
    own_name: Option<&str>,
    shipped: &'s BTreeMap<String, VideoFamilyDefinitionConfig>,
) -> Result<Option<&'s VideoFamilyDefinitionConfig>, Option<String>> {
    match &config.extends {
        None => Ok(own_name.and_then(|name| shipped.get(name))),
        Some(extends) => match shipped.get(extends) {
            Some(base) => Ok(Some(base)),
            None => Err(did_you_mean(extends, shipped.keys().map(String::as_str))),
        },
    }
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
