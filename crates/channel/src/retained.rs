//! Which live state is retained: that of channels in a catalog in use, and of requests in flight.

use headgate_core::catalog::Catalog;
use headgate_core::catalog::channel::Channel;
use headgate_core::catalog::endpoint::ProviderOperationClass;
use std::collections::HashSet;
use std::sync::{Arc, Weak};

/// The catalogs whose channels are retained.
#[derive(Default)]
pub(super) struct CatalogsInUse {
    /// The catalog in use.
    current: Weak<Catalog>,
    /// Earlier catalogs that requests still use.
    earlier: Vec<Weak<Catalog>>,
    /// Whether some state is retained only because requests use it.
    is_anything_left: bool,
}

impl CatalogsInUse {
    /// The catalog in use, if there is one.
    pub fn current(&self) -> Option<Arc<Catalog>> {
        self.current.upgrade()
    }

    /// Records the catalog in use. `drop_all_but` drops the state of all other fingerprints, and returns whether some
    /// of it was retained because requests use it; it is not called if nothing has changed.
    pub fn update(
        &mut self,
        catalog: &Arc<Catalog>,
        drop_all_but: impl FnOnce(&HashSet<u64>) -> bool,
    ) {
        let is_new = !std::ptr::eq(self.current.as_ptr(), Arc::as_ptr(catalog));
        if is_new {
            let before = std::mem::replace(&mut self.current, Arc::downgrade(catalog));
            self.earlier.push(before);
        }
        let held = self.earlier.len();
        self.earlier.retain(|catalog| catalog.strong_count() > 0);
        let is_same = !is_new && held == self.earlier.len();
        if is_same && !self.is_anything_left {
            return;
        }
        let mut known = HashSet::new();
        let earlier: Vec<_> = self.earlier.iter().filter_map(Weak::upgrade).collect();
        for catalog in earlier.iter().chain([catalog]) {
            known.extend(fingerprints(catalog));
        }
        self.is_anything_left = drop_all_but(&known);
    }
}

/// The fingerprints of the health of a channel, its credentials, and the models on it, in every class of endpoints.
pub(super) fn health_fingerprints(
    channel: &Channel,
    catalog: &Catalog,
) -> impl Iterator<Item = u64> {
    let models = catalog.models_with_health().flat_map(|model| {
        let candidates = model.all_candidates.iter();
        let of_channel = candidates.filter(|candidate| candidate.channel.name == channel.name);
        let fingerprints = of_channel.filter_map(|one| one.model_fingerprint());
        fingerprints.collect::<Vec<_>>()
    });
    let keys = channel.credentials.iter().map(|key| key.fingerprint);
    let all = std::iter::once(channel.fingerprint)
        .chain(keys)
        .chain(models);
    all.flat_map(in_every_class)
}

fn in_every_class(fingerprint: u64) -> impl Iterator<Item = u64> {
    ProviderOperationClass::ALL
        .into_iter()
        .map(move |class| class.health_fingerprint(fingerprint))
}

/// The fingerprints of every channel, its credentials, and the models on it.
fn fingerprints(catalog: &Catalog) -> impl Iterator<Item = u64> {
    let channels = catalog.channels().flat_map(|channel| {
        let keys = channel.credentials.iter().map(|key| key.fingerprint);
        std::iter::once(channel.fingerprint).chain(keys)
    });
    let models = catalog.models_with_health().flat_map(|model| {
        let candidates = model.all_candidates.iter();
        let fingerprints = candidates.filter_map(|one| one.model_fingerprint());
        fingerprints.collect::<Vec<_>>()
    });
    channels.chain(models).flat_map(in_every_class)
}
