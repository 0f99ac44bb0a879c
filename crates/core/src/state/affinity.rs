//! Which channel created an id (a response, file, conversation …), by caller, in bounded memory.

use super::bounded_cache::{BoundedCache, CacheBounds};
use std::sync::Arc;

/// The maximum number of ids in memory, of all callers together.
const IDS_MAX: usize = 500_000;

/// Ids and the channels that created them, by caller. The least recently used id is evicted first.
#[derive(Debug)]
pub struct IdChannelCache {
    owners: BoundedCache<Box<str>, Vec<IdOwner>>,
}

/// One caller that an id belongs to. Two callers share an id only if different channels created it.
#[derive(Clone, Debug)]
struct IdOwner {
    caller: Arc<str>,
    entry: IdChannelEntry,
}

/// What the cache knows about an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdChannelEntry {
    Channel(Arc<str>),
    /// This channel, unless a slower store knows that the id belongs to another caller.
    Claimed(Arc<str>),
    /// The caller deleted the id. A slower store may still have it.
    Forgotten,
}

impl IdChannelCache {
    /// Records what is known of `id`. Returns false, and records nothing, if the id of this channel belongs to another caller.
    pub fn remember(&mut self, caller: &Arc<str>, id: &str, entry: IdChannelEntry) -> bool {
        let owner = IdOwner {
            caller: caller.clone(),
            entry,
        };
        let Some(owners) = self.owners.get_mut(id) else {
            self.owners.insert(id.into(), vec![owner], 0);
            return true;
        };
        let name = owner.entry.name();
        let is_of_another = |other: &IdOwner| {
            other.caller != *caller && name.is_some() && other.entry.name() == name
        };
        if owners.iter().any(is_of_another) {
            return false;
        }
        match owners.iter_mut().find(|known| known.caller == *caller) {
            // A refresh is no new claim.
            Some(known) if known.entry == owner.entry.confirmed() => {}
            Some(known) => *known = owner,
            None => owners.push(owner),
        }
        true
    }

    /// Settles a claim of `channel` by what the slower store has decided.
    pub fn settle_claim(&mut self, caller: &Arc<str>, id: &str, channel: &Arc<str>, granted: bool) {
        let claim = IdChannelEntry::Claimed(channel.clone());
        if self.find_owner(caller, id) != Some(claim) {
            return;
        }
        self.forget(caller, id);
        if granted {
            self.remember(caller, id, IdChannelEntry::Channel(channel.clone()));
        }
    }

    /// The owner of `id` if `caller` received it. The lookup counts as a use.
    pub fn find_owner(&mut self, caller: &Arc<str>, id: &str) -> Option<IdChannelEntry> {
        let owners = self.owners.get(id)?;
        let own = owners.iter().find(|owner| owner.caller == *caller)?;
        Some(own.entry.clone())
    }

    /// Whether a caller other than `caller` received `id`.
    pub fn is_of_another(&mut self, caller: &Arc<str>, id: &str) -> bool {
        let owners = self.owners.get(id).into_iter().flatten();
        let mut others = owners.filter(|owner| owner.caller != *caller);
        others.any(|other| other.entry.name().is_some())
    }

    pub fn forget(&mut self, caller: &Arc<str>, id: &str) {
        let Some(owners) = self.owners.get_mut(id) else {
            return;
        };
        owners.retain(|owner| owner.caller != *caller);
        if owners.is_empty() {
            self.owners.remove(id);
        }
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
    pub fn channel(&self) -> Option<Arc<str>> {
        self.name().cloned()
    }

    /// The name of the channel, unless the id was deleted.
    pub fn name(&self) -> Option<&Arc<str>> {
        match self {
            Self::Channel(name) | Self::Claimed(name) => Some(name),
            Self::Forgotten => None,
        }
    }

    /// What a claim becomes if it is granted.
    fn confirmed(&self) -> Self {
        match self {
            Self::Claimed(name) => Self::Channel(name.clone()),
            other => other.clone(),
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
        assert!(affinity.remember(&ann, "resp_1", primary()));
        assert_eq!(affinity.find_owner(&ann, "resp_1"), Some(primary()));
        assert_eq!(affinity.find_owner(&bob, "resp_1"), None);
        assert_eq!(affinity.find_owner(&ann, "resp_2"), None);
        assert!(!affinity.remember(&bob, "resp_1", primary()));
        assert_eq!(affinity.find_owner(&bob, "resp_1"), None);
        affinity.forget(&ann, "resp_1");
        assert_eq!(affinity.find_owner(&ann, "resp_1"), None);
    }

    #[test]
    fn a_claim_is_settled_once() {
        let primary: Arc<str> = "primary".into();
        let claim = || IdChannelEntry::Claimed(primary.clone());
        let (ann, bob) = (Arc::from("ann"), Arc::from("bob"));
        let mut affinity = IdChannelCache::default();
        assert!(affinity.remember(&ann, "resp_1", claim()));
        affinity.settle_claim(&ann, "resp_1", &primary, true);
        let confirmed = Some(IdChannelEntry::Channel(primary.clone()));
        assert_eq!(affinity.find_owner(&ann, "resp_1"), confirmed);
        // A refresh of the owner, and a refusal that comes after the decision, change nothing.
        assert!(affinity.remember(&ann, "resp_1", claim()));
        affinity.settle_claim(&ann, "resp_1", &primary, false);
        assert_eq!(affinity.find_owner(&ann, "resp_1"), confirmed);
        assert!(affinity.remember(&bob, "resp_2", claim()));
        affinity.settle_claim(&bob, "resp_2", &primary, false);
        assert_eq!(affinity.find_owner(&bob, "resp_2"), None);
    }
}
