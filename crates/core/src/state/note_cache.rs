//! A bounded in-memory cache of notes (texts by key), such as the final status of a task.

use super::bounded_cache::{BoundedCache, CacheBounds};
use bytes::Bytes;
use std::time::Duration;

/// How long a note is stored, unless it is evicted earlier.
pub const NOTE_KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The maximum length of a note in bytes; a longer one is not stored.
pub const NOTE_BYTES_MAX: usize = 32 << 10;
/// The maximum size of all notes in memory, in bytes.
const ALL_NOTES_BYTES_MAX: usize = 32 << 20;
/// The estimated size of a note beside its text, in bytes.
const NOTE_OVERHEAD: usize = 200;

/// Notes by key. The least recently used note is evicted first.
#[derive(Debug)]
pub struct SmallTextCache {
    texts: BoundedCache<Box<str>, Bytes>,
}

impl SmallTextCache {
    pub fn put(&mut self, key: &str, text: &Bytes) {
        let bytes = text.len() + NOTE_OVERHEAD;
        self.texts.insert(key.into(), text.clone(), bytes);
    }

    pub fn get(&mut self, key: &str) -> Option<Bytes> {
        self.texts.get(key).cloned()
    }
}

impl Default for SmallTextCache {
    fn default() -> Self {
        Self {
            texts: BoundedCache::new(CacheBounds {
                entries: usize::MAX,
                bytes: ALL_NOTES_BYTES_MAX,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_note_is_evicted_first() {
        let mut notes = SmallTextCache::default();
        let text = Bytes::from(vec![b'x'; NOTE_BYTES_MAX]);
        for number in 0..3_000 {
            notes.put(&number.to_string(), &text);
            notes.put(&number.to_string(), &text);
        }
        let kept = (0..3_000).filter(|number| notes.get(&number.to_string()).is_some());
        let kept: Vec<_> = kept.collect();
        assert!(kept.len() * NOTE_BYTES_MAX <= ALL_NOTES_BYTES_MAX);
        assert!(kept.len() * (NOTE_BYTES_MAX + NOTE_OVERHEAD) > ALL_NOTES_BYTES_MAX / 2);
        assert_eq!(kept.last(), Some(&2_999));
    }
}
