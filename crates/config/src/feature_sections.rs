//! The values of the sections of `routes.yaml` that features bring.

use crate::schema::FeatureSchemas;
use headgate_core::feature::Feature;
use serde_json::{Map, Value};

/// The values of all features' sections, by their keys.
#[derive(Debug, Default)]
pub struct FeatureSectionValues(Map<String, Value>);

impl FeatureSectionValues {
    /// Takes the sections of features out of the values of a whole file.
    pub(crate) fn taken_from(value: &mut Value, features: &FeatureSchemas) -> Self {
        let keys = features.sections.iter().flat_map(|sections| sections.keys);
        let values = keys.filter_map(|key| {
            let value = value.as_object_mut()?.remove(*key)?;
            Some(((*key).to_owned(), value))
        });
        Self(values.collect())
    }

    /// Those of one feature.
    pub(crate) fn for_feature(&self, feature: &dyn Feature) -> Map<String, Value> {
        let keys = feature.sections().map_or(&[][..], |sections| sections.keys);
        let values = keys.iter().filter_map(|key| self.0.get_key_value(*key));
        values
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    }
}
