//! Which live state is kept: that of channels which a configuration in use still has, and of what is under way.

use super::clock::Moment;
use super::health::Standing;
use super::live::Channels;
use super::select::Reason;
use crate::catalog::channel::Channel;
use crate::catalog::model::{Candidate, Catalog};
use std::collections::HashSet;
use std::sync::{Arc, PoisonError, Weak};

/// The configurations whose channels are known.
#[derive(Default)]
pub(super) struct Retained {
    /// The one in use.
    current: Weak<Catalog>,
    /// Those before it that requests still hold.
    earlier: Vec<Weak<Catalog>>,
    /// Whether something is kept only because it is under way.
    is_anything_left: bool,
}

impl Channels {
    /// Takes note of the configuration in use, and drops what is known of channels that are in none any
    /// more. Cheap where nothing has changed.
    pub fn retain(&self, catalog: &Arc<Catalog>) {
        let mut retained = self.retained.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = !std::ptr::eq(retained.current.as_ptr(), Arc::as_ptr(catalog));
        if is_new {
            let before = std::mem::replace(&mut retained.current, Arc::downgrade(catalog));
            retained.earlier.push(before);
        }
        let held = retained.earlier.len();
        retained
            .earlier
            .retain(|catalog| catalog.strong_count() > 0);
        let is_same = !is_new && held == retained.earlier.len();
        if is_same && !retained.is_anything_left {
            return;
        }
        let mut known = HashSet::new();
        let earlier: Vec<_> = retained.earlier.iter().filter_map(Weak::upgrade).collect();
        for catalog in earlier.iter().chain([catalog]) {
            known.extend(fingerprints(catalog));
        }
        retained.is_anything_left = self.drop_all_but(&known);
    }

    /// Whether a model that `channel` serves has nothing else that could serve it now, in one of the
    /// protocols that the channel speaks: neither another of its keys than `key`, nor another channel.
    pub(super) fn serves_alone(&self, channel: &Channel, key: Option<usize>, now: Moment) -> bool {
        let other_key = channel
            .credentials
            .iter()
            .enumerate()
            .any(|(place, other)| Some(place) != key && self.is_in_use(other.fingerprint, now));
        if other_key {
            return false;
        }
        let catalog = {
            let retained = self.retained.lock().unwrap_or_else(PoisonError::into_inner);
            retained.current.upgrade()
        };
        let Some(catalog) = catalog else {
            return true;
        };
        let is_this = |candidate: &Candidate| candidate.channel.fingerprint == channel.fingerprint;
        let has_other = |candidates: &[Candidate]| {
            candidates.iter().any(|other| {
                let reason = || self.reason_against(other, &[], now);
                !is_this(other) && !matches!(reason(), Some(Reason::Cooling { .. }))
            })
        };
        let mut served = catalog
            .models()
            .filter(|model| model.all_candidates.iter().any(is_this))
            .peekable();
        if served.peek().is_none() {
            return true;
        }
        served.any(|model| {
            let mut protocols = channel.protocols.iter();
            protocols.any(|protocol| !has_other(&model.candidates(*protocol)))
        })
    }

    fn is_in_use(&self, fingerprint: u64, now: Moment) -> bool {
        let standing = self.standing(fingerprint, now);
        !matches!(standing, Standing::Cooling { .. })
    }
}

/// Of every channel, of its keys, and of the models on it.
fn fingerprints(catalog: &Catalog) -> impl Iterator<Item = u64> {
    let channels = catalog.channels().flat_map(|channel| {
        let keys = channel.credentials.iter().map(|key| key.fingerprint);
        std::iter::once(channel.fingerprint).chain(keys)
    });
    let models = catalog.models().flat_map(|model| {
        let candidates = model.all_candidates.iter();
        candidates.filter_map(|candidate| Some(candidate.model.as_ref()?.fingerprint))
    });
    channels.chain(models)
}
