//! Which live state is kept: that of channels which a configuration in use still has, and of what is under way.

use crate::catalog::model::Catalog;
use std::collections::HashSet;
use std::sync::{Arc, Weak};

/// The configurations whose channels are known.
#[derive(Default)]
pub(super) struct RetainedCatalogs {
    /// The one in use.
    current: Weak<Catalog>,
    /// Those before it that requests still hold.
    earlier: Vec<Weak<Catalog>>,
    /// Whether something is kept only because it is under way.
    is_anything_left: bool,
}

impl RetainedCatalogs {
    /// The catalog in use, while there is one.
    pub fn current(&self) -> Option<Arc<Catalog>> {
        self.current.upgrade()
    }

    /// Takes note of the catalog in use. `drop_all_but` drops what has none of the fingerprints it is given, and
    /// returns whether anything else was left because it is under way; it is not called where nothing has changed.
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
