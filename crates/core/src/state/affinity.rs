//! Which channel created an id (a response, file, conversation …), by caller, in bounded memory.

use super::bounded_cache::{BoundedCache, CacheBounds};
use std::sync::Arc;

/// The maximum number of ids in memory, of all callers together.
const IDS_MAX: usize = 500_000;

/// Ids and the channels that created them, by caller. The least recently used id is evicted first.
#[derive(Debug)]
pub struct IdChannelCache {
    owners: BoundedCache<(Arc<str>, Box<str>), IdChannelEntry>,
}

/// What the cache knows about an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdChannelEntry {
    Channel(Arc<str>),
    /// The caller deleted the id. A slower store may still have it.
    Forgotten,
}

impl IdChannelCache {
    pub fn remember(&mut self, caller: &Arc<str>, id: &str, owner: IdChannelEntry) {
        self.owners.insert((caller.clone(), id.into()), owner, 0);
    }

    /// The owner of `id` if `caller` received it. The lookup counts as a use.
    pub fn find_owner(&mut self, caller: &Arc<str>, id: &str) -> Option<IdChannelEntry> {
        self.owners.get(&(caller.clone(), id.into())).cloned()
    }

    pub fn forget(&mut self, caller: &Arc<str>, id: &str) {
        self.owners.remove(&(caller.clone(), id.into()));
    }
}

impl Default for IdChannelCache {
    fn default() -> Self {
        Self {
            // The entries have about the same size, so that only their number is limited.
            owners: BoundedCache::new(CacheBounds {
                entries: IDS_MAX,
                bytes: usize::MAX,
            }),
        }
    }
}

impl IdChannelEntry {
    /// The channel, unless the id was deleted.
    pub fn channel(self) -> Option<Arc<str>> {
        match self {
            Self::Channel(name) => Some(name),
            Self::Forgotten => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_belongs_to_the_caller_that_got_it() {
        let primary = || IdChannelEntry::Channel(Arc::from("primary"));
        let mut affinity = IdChannelCache::default();
        let (ann, bob) = (Arc::from("ann"), Arc::from("bob"));
        affinity.remember(&ann, "resp_1", primary());
        assert_eq!(affinity.find_owner(&ann, "resp_1"), Some(primary()));
        assert_eq!(affinity.find_owner(&bob, "resp_1"), None);
        assert_eq!(affinity.find_owner(&ann, "resp_2"), None);
        affinity.forget(&ann, "resp_1");
        assert_eq!(affinity.find_owner(&ann, "resp_1"), None);
    }
}
