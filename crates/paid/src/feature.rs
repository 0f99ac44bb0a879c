//! Paid creates: their journal, and idempotency keys.

use crate::filter::idempotency;
use crate::journal::CreateJournal;
use headgate_core::feature::findings::FeatureFindingDefinitions;
use headgate_core::feature::{Feature, FeatureTypeMap};
use headgate_core::filter::descriptor::FilterDescriptor;
use headgate_core::state::StateStore;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// How long the process waits at its end until the ends of creates are stored, on which their retries depend.
const STORED_WITHIN: Duration = Duration::from_secs(10);

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
        _state: &'a dyn StateStore,
    ) -> Option<Pin<Box<dyn Future<Output = ()> + Send + 'a>>> {
        let journal = shared.get::<CreateJournal>();
        Some(Box::pin(async move {
            let stored = timeout(STORED_WITHIN, journal.until_ends_are_stored());
            if stored.await.is_err() {
                tracing::warn!(
                    "ends of paid creates are not stored; their outcome will be listed as unknown"
                );
            }
        }))
    }

    fn findings(&self) -> FeatureFindingDefinitions {
        crate::findings::FINDINGS
    }
}
