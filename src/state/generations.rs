//! Which channel made what, for the caller that got it, in bounded memory.

use std::collections::HashMap;
use std::sync::Arc;

/// Entries of one generation; twice as many are kept at most.
const GENERATION_ENTRIES_MAX: usize = 250_000;

/// Ids and the channels they came from, by caller.
///
/// Bounded: when a generation is full the one before it is forgotten, so that the ids used last stay.
#[derive(Debug, Default)]
pub struct Generations {
    young: HashMap<Key, Arc<str>>,
    old: HashMap<Key, Arc<str>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    caller: Arc<str>,
    id: Box<str>,
}

impl Generations {
    pub fn remember(&mut self, caller: &Arc<str>, id: &str, channel: &Arc<str>) {
        self.insert(
            Key::new(caller, id),
            channel.clone(),
            GENERATION_ENTRIES_MAX,
        );
    }

    /// The channel that made `id` for `caller`, which is kept young by being asked for.
    pub fn channel_of(&mut self, caller: &Arc<str>, id: &str) -> Option<Arc<str>> {
        let key = Key::new(caller, id);
        let channel = self.find(&key)?;
        if !self.young.contains_key(&key) {
            self.insert(key, channel.clone(), GENERATION_ENTRIES_MAX);
        }
        Some(channel)
    }

    pub fn forget(&mut self, caller: &Arc<str>, id: &str) {
        let key = Key::new(caller, id);
        self.young.remove(&key);
        self.old.remove(&key);
    }

    fn insert(&mut self, key: Key, channel: Arc<str>, most: usize) {
        if self.young.len() >= most {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, channel);
    }

    fn find(&self, key: &Key) -> Option<Arc<str>> {
        self.young.get(key).or_else(|| self.old.get(key)).cloned()
    }
}

impl Key {
    fn new(caller: &Arc<str>, id: &str) -> Self {
        Self {
            caller: caller.clone(),
            id: id.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_belongs_to_the_caller_that_got_it() {
        let mut affinity = Generations::default();
        let (ann, bob) = (Arc::from("ann"), Arc::from("bob"));
        affinity.remember(&ann, "resp_1", &Arc::from("primary"));
        assert_eq!(
            affinity.channel_of(&ann, "resp_1").as_deref(),
            Some("primary")
        );
        assert_eq!(affinity.channel_of(&bob, "resp_1"), None);
        assert_eq!(affinity.channel_of(&ann, "resp_2"), None);
    }

    #[test]
    fn the_oldest_ids_are_forgotten_first() {
        let mut generations = Generations::default();
        let key = |n: usize| Key::new(&Arc::from("ann"), &n.to_string());
        for n in 0..25 {
            generations.insert(key(n), Arc::from("primary"), 10);
        }
        assert!(generations.young.len() + generations.old.len() <= 20);
        assert!(generations.find(&key(24)).is_some());
        assert!(generations.find(&key(0)).is_none());
    }
}
