//! The memory of recordings of streamed responses, which is bounded for all of them together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Largest size of all recordings of the process together, in bytes.
const BYTES_MAX: usize = 512 << 20;

/// The size of all recordings.
pub type RecordingsTotal = Arc<AtomicUsize>;

/// The memory of one recording, until it is dropped.
pub struct RecordingMemoryShare {
    all: RecordingsTotal,
    bytes: usize,
}

impl RecordingMemoryShare {
    pub(super) fn from_total(all: &RecordingsTotal) -> Self {
        Self {
            all: all.clone(),
            bytes: 0,
        }
    }

    /// Reserves further bytes; returns whether there is as much memory left.
    pub fn reserve(&mut self, bytes: usize) -> bool {
        self.bytes += bytes;
        self.all.fetch_add(bytes, Ordering::Relaxed) + bytes <= BYTES_MAX
    }

    /// Releases all bytes that were reserved.
    pub fn release(&mut self) {
        self.all.fetch_sub(self.bytes, Ordering::Relaxed);
        self.bytes = 0;
    }
}

impl Drop for RecordingMemoryShare {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::CreateJournal;

    #[test]
    fn recordings_share_their_memory() {
        let journal = CreateJournal::default();
        let (mut first, mut second) = (journal.recording_memory(), journal.recording_memory());
        assert!(first.reserve(BYTES_MAX / 2));
        assert!(second.reserve(BYTES_MAX / 2));
        assert!(!second.reserve(1));
        second.release();
        assert!(first.reserve(1));
        drop((first, second));
        assert_eq!(journal.recordings.load(Ordering::Relaxed), 0);
    }
}
