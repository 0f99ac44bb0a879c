//! Texts that are kept for a while under a key, in bounded memory.

use bytes::Bytes;
use std::collections::HashMap;
use std::time::Duration;

/// How long a note is kept where there is room for it.
pub const NOTE_KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// A longer one is not kept.
pub const NOTE_BYTES_MAX: usize = 32 << 10;
/// Of one generation; twice as much is kept at most.
const GENERATION_BYTES_MAX: usize = 16 << 20;
/// What a note takes besides its text.
const NOTE_OVERHEAD: usize = 200;

/// Notes by key; those written last stay.
#[derive(Debug, Default)]
pub struct Notes {
    young: HashMap<Box<str>, Bytes>,
    young_bytes: usize,
    old: HashMap<Box<str>, Bytes>,
}

impl Notes {
    pub fn put(&mut self, key: &str, text: &Bytes) {
        if self.young_bytes >= GENERATION_BYTES_MAX {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        let before = self.young.insert(key.into(), text.clone());
        let before = before.map_or(0, |text| text.len() + NOTE_OVERHEAD);
        self.young_bytes = (self.young_bytes + text.len() + NOTE_OVERHEAD).saturating_sub(before);
    }

    pub fn get(&self, key: &str) -> Option<Bytes> {
        let found = self.young.get(key).or_else(|| self.old.get(key));
        found.cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_first_goes_first_when_there_is_no_room() {
        let mut notes = Notes::default();
        let text = Bytes::from(vec![b'x'; NOTE_BYTES_MAX]);
        for number in 0..3_000 {
            notes.put(&number.to_string(), &text);
            notes.put(&number.to_string(), &text);
        }
        let kept = notes.young.len() + notes.old.len();
        assert!(kept * NOTE_BYTES_MAX <= 3 * GENERATION_BYTES_MAX, "{kept}");
        assert_eq!(notes.get("2999"), Some(text));
        assert_eq!(notes.get("0"), None);
    }
}
