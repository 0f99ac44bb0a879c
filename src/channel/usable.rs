//! Which channels a request could be given to now; for alerts and the admin pages.

use super::clock::Moment;
use super::health::Standing;
use super::live::Channels;
use crate::catalog::model::{Candidate, Catalog};
use std::collections::BTreeMap;
use std::sync::Arc;

impl Channels {
    /// Every channel, and whether it could serve any of its models now: it has room, and is not left
    /// alone as a whole, with every model, or with every key.
    pub fn usable_channels(&self, catalog: &Catalog, now: Moment) -> BTreeMap<Arc<str>, bool> {
        let mut usable = BTreeMap::new();
        for candidate in catalog.models().flat_map(|model| &*model.all_candidates) {
            let is_usable = usable
                .entry(candidate.channel.name.clone())
                .or_insert(false);
            *is_usable = *is_usable || self.reason_against(candidate, &[], now).is_none();
        }
        for channel in catalog.channels() {
            // One without models serves requests that an id binds to it.
            usable.entry(channel.name.clone()).or_insert_with(|| {
                let bound = Candidate::bound_to(channel.clone());
                self.reason_against(&bound, &[], now).is_none()
            });
        }
        usable
    }

    /// Every key of every channel by its place in the list, from 1, and whether the provider refuses it
    /// or its account. A key that a reload has put in its place was never refused.
    pub fn refused_keys(
        &self,
        catalog: &Catalog,
        now: Moment,
    ) -> BTreeMap<(Arc<str>, usize), bool> {
        let mut keys = BTreeMap::new();
        for channel in catalog.channels() {
            for (index, credential) in channel.credentials.iter().enumerate() {
                let is_refused = match self.standing(credential.fingerprint, now) {
                    Standing::Well => false,
                    Standing::OnProbation { why } | Standing::Cooling { why, .. } => {
                        why.is_about_a_key()
                    }
                };
                keys.insert((channel.name.clone(), index + 1), is_refused);
            }
        }
        keys
    }
}
