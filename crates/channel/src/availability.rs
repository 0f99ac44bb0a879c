//! Which channels and credentials are usable now, for alerts and the admin pages.

use super::clock::MonotonicTime;
use super::health_status::HealthStatus;
use super::live::ChannelStates;
use headgate_core::catalog::Catalog;
use headgate_core::catalog::model::Candidate;
use std::collections::BTreeMap;
use std::sync::Arc;

impl ChannelStates {
    /// Every channel, and whether it could serve any of its models now: it is not at a limit, and not in cool-down as a
    /// whole, with every model, or with every credential.
    pub fn usable_channels(
        &self,
        catalog: &Catalog,
        now: MonotonicTime,
    ) -> BTreeMap<Arc<str>, bool> {
        let mut usable = BTreeMap::new();
        for model in catalog.models_with_health() {
            for candidate in model.all_candidates.iter() {
                let is_usable = usable
                    .entry(candidate.channel.name.clone())
                    .or_insert(false);
                *is_usable = *is_usable || self.unusable_reason(candidate, &[], now).is_none();
            }
        }
        for channel in catalog.channels() {
            // A channel without models serves requests that an id binds to it.
            usable.entry(channel.name.clone()).or_insert_with(|| {
                let bound = Candidate::bound_to(channel.clone(), None);
                !self.is_drained(channel) && self.unusable_reason(&bound, &[], now).is_none()
            });
        }
        usable
    }

    /// Every model, and whether any channel that serves it can accept a request for it now.
    pub fn available_models(
        &self,
        catalog: &Catalog,
        now: MonotonicTime,
    ) -> BTreeMap<Arc<str>, bool> {
        let models = catalog.models_with_health();
        models
            .map(|model| {
                let candidates = model.all_candidates.iter();
                (model.name.clone(), self.has_another(candidates, &[], now))
            })
            .collect()
    }

    /// Every credential of every channel by its index in the list, from 1, and whether the provider refuses the
    /// credential or its account. A credential that a reload replaced starts as not refused.
    pub fn refused_credentials(
        &self,
        catalog: &Catalog,
        now: MonotonicTime,
    ) -> BTreeMap<(Arc<str>, usize), bool> {
        let mut keys = BTreeMap::new();
        for channel in catalog.channels() {
            for (index, credential) in channel.credentials.iter().enumerate() {
                let is_refused = match self.status(credential.fingerprint, now) {
                    HealthStatus::Healthy => false,
                    HealthStatus::HalfOpen { reason }
                    | HealthStatus::CoolingDown { reason, .. } => reason.concerns_credential(),
                };
                keys.insert((channel.name.clone(), index + 1), is_refused);
            }
        }
        keys
    }
}
