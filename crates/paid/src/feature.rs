//! Paid creates: their journal, and idempotency keys.

use crate::filter::idempotency;
use crate::journal::CreateJournal;
use headgate_core::feature::findings::FeatureFindingDefinitions;
use headgate_core::feature::{Feature, FeatureTypeMap};
use headgate_core::filter::descriptor::FilterDescriptor;
use std::pin::Pin;
use std::sync::Arc;

/// Paid creates: their journal, and idempotency keys.
pub struct PaidFeature;

impl Feature for PaidFeature {
    fn filters(&self) -> &'static [FilterDescriptor] {
        const FILTERS: &[FilterDescriptor] = &[idempotency::DESCRIPTOR];
        FILTERS
    }

    fn add_shared_values(&self, values: &mut FeatureTypeMap) {
        values.set(Arc::<CreateJournal>::default());
    }

    fn until_stored<'a>(
        &self,
        shared: &'a FeatureTypeMap,
    ) -> Option<Pin<Box<dyn Future<Output = ()> + Send + 'a>>> {
        let journal = shared.get::<CreateJournal>();
        Some(Box::pin(
            async move { journal.until_ends_are_stored().await },
        ))
    }

    fn findings(&self) -> FeatureFindingDefinitions {
        crate::findings::FINDINGS
    }
}
