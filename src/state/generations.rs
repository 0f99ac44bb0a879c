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
    young: HashMap<Key, Maker>,
    old: HashMap<Key, Maker>,
}

/// What is known of an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Maker {
    Channel(Arc<str>),
    /// Forgotten, though a slower store may still know it.
    Nobody,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    caller: Arc<str>,
    id: Box<str>,
}

impl Generations {
    pub fn remember(&mut self, caller: &Arc<str>, id: &str, maker: Maker) {
        self.insert(Key::new(caller, id), maker, GENERATION_ENTRIES_MAX);
    }

    /// Who made `id` for `caller`, which is kept young by being asked for.
    pub fn maker_of(&mut self, caller: &Arc<str>, id: &str) -> Option<Maker> {
        let key = Key::new(caller, id);
        let maker = self.find(&key)?;
        if !self.young.contains_key(&key) {
            self.insert(key, maker.clone(), GENERATION_ENTRIES_MAX);
        }
        Some(maker)
    }

    pub fn forget(&mut self, caller: &Arc<str>, id: &str) {
        let key = Key::new(caller, id);
        self.young.remove(&key);
        self.old.remove(&key);
    }

    fn insert(&mut self, key: Key, maker: Maker, most: usize) {
        if self.young.len() >= most {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, maker);
    }

    fn find(&self, key: &Key) -> Option<Maker> {
        self.young.get(key).or_else(|| self.old.get(key)).cloned()
    }
}

impl Maker {
    /// The channel, if it is still to be known.
    pub fn channel(self) -> Option<Arc<str>> {
        match self {
            Self::Channel(name) => Some(name),
            Self::Nobody => None,
        }
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

    fn primary() -> Maker {
        Maker::Channel(Arc::from("primary"))
    }

    #[test]
    fn an_id_belongs_to_the_caller_that_got_it() {
        let mut affinity = Generations::default();
        let (ann, bob) = (Arc::from("ann"), Arc::from("bob"));
        affinity.remember(&ann, "resp_1", primary());
        assert_eq!(affinity.maker_of(&ann, "resp_1"), Some(primary()));
        assert_eq!(affinity.maker_of(&bob, "resp_1"), None);
        assert_eq!(affinity.maker_of(&ann, "resp_2"), None);
    }

    #[test]
    fn the_oldest_ids_are_forgotten_first() {
        let mut generations = Generations::default();
        let key = |n: usize| Key::new(&Arc::from("ann"), &n.to_string());
        for n in 0..25 {
            generations.insert(key(n), primary(), 10);
        }
        assert!(generations.young.len() + generations.old.len() <= 20);
        assert!(generations.find(&key(24)).is_some());
        assert!(generations.find(&key(0)).is_none());
    }
}
