//! Which channel made which response, for the caller that got it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Entries of one generation; twice as many are kept at most.
const GENERATION_ENTRIES_MAX: usize = 250_000;

/// Response ids and the channels they came from, by caller.
///
/// Bounded: when a generation is full the one before it is forgotten, so that the ids used last stay.
#[derive(Debug, Default)]
pub struct Affinity {
    generations: Mutex<Generations>,
}

#[derive(Debug, Default)]
struct Generations {
    young: HashMap<Key, Arc<str>>,
    old: HashMap<Key, Arc<str>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    caller: Arc<str>,
    id: Box<str>,
}

impl Affinity {
    /// Records that `channel` made `id` for `caller`.
    pub fn remember(&self, caller: &Arc<str>, id: &str, channel: &Arc<str>) {
        let key = Key::new(caller, id);
        self.lock()
            .insert(key, channel.clone(), GENERATION_ENTRIES_MAX);
    }

    /// The channel that made `id` for `caller`; the ids of other callers are as unknown as any.
    pub fn channel_of(&self, caller: &Arc<str>, id: &str) -> Option<Arc<str>> {
        let key = Key::new(caller, id);
        let mut generations = self.lock();
        let channel = generations.find(&key)?;
        if !generations.young.contains_key(&key) {
            generations.insert(key, channel.clone(), GENERATION_ENTRIES_MAX);
        }
        Some(channel)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Generations> {
        self.generations
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Generations {
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
        let affinity = Affinity::default();
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
