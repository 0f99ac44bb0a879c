//! The parts of the schema of `routes.yaml` that features bring.

use crate::schema::{FeatureSchemas, FilterSchema};
use headgate_core::feature::FeatureList;

/// What features add to the configuration's schema.
pub fn feature_schemas(list: FeatureList) -> FeatureSchemas {
    let filters = list.filters();
    let filters = filters.iter().map(|kind| FilterSchema {
        name: kind.name,
        summary: kind.summary,
        settings: kind.settings.map(|schema| schema()),
        bare: kind.bare,
    });
    let features = list.iter();
    FeatureSchemas {
        filters: filters.collect(),
        sections: features.filter_map(|feature| feature.sections()).collect(),
    }
}
