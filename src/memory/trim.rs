//! Gives memory that the process no longer uses back to the system.

use super::allocator::Mimalloc;
use super::resident;

/// Bytes above what the start left that stay with the process, so that a burst after a pause does not pay for ten page
/// faults per stream: enough for 100 streams and the lines of the last requests.
const FREE_BYTES_KEPT: u64 = 6 << 20;

/// Trims the memory of a process that serves: after a start and a reload, and while it has far more than after those.
#[derive(Default)]
pub struct MemoryTrim {
    /// The revision of the configuration at the last look.
    revision: String,
    /// Freed memory stays while the process has at most so many bytes in memory.
    bytes_max: u64,
}

impl MemoryTrim {
    /// Gives freed memory back at once while the process builds what it serves: most of what this takes is freed soon, and
    /// what it leaves would lie between, on pages that no later trim can give back.
    pub fn before_start() {
        Mimalloc::return_freed_memory();
    }

    /// Keeps freed memory with the process from here on, until a check gives it back.
    pub fn start() -> Self {
        Mimalloc::keep_freed_memory();
        Self::default()
    }

    /// Gives back what the process no longer uses, if it is worth it. `revision` is that of the running configuration.
    pub fn look(&mut self, revision: &str) {
        if !self.is_due(revision, resident::anonymous_bytes()) {
            return;
        }
        Mimalloc::purge();
        if self.revision != revision {
            *self = Self::after(revision, resident::anonymous_bytes());
        }
    }

    /// The state after the first trim of a configuration, which left `bytes` in memory.
    fn after(revision: &str, bytes: Option<u64>) -> Self {
        Self {
            revision: revision.into(),
            bytes_max: bytes.unwrap_or_default() + FREE_BYTES_KEPT,
        }
    }

    /// `bytes` is what the process has in memory; where that is unknown, freed memory is given back each time.
    fn is_due(&self, revision: &str, bytes: Option<u64>) -> bool {
        self.revision != revision || bytes.is_none_or(|bytes| bytes > self.bytes_max)
    }
}

#[cfg(test)]
mod tests {
    use super::{FREE_BYTES_KEPT, MemoryTrim};

    #[test]
    fn memory_is_given_back_after_a_start_after_a_reload_and_above_what_is_kept() {
        assert!(MemoryTrim::default().is_due("1", Some(0)));
        let bytes = 7 << 20;
        let trim = MemoryTrim::after("1", Some(bytes));
        for (revision, bytes, is_due) in [
            ("1", Some(bytes), false),
            ("1", Some(bytes + FREE_BYTES_KEPT), false),
            ("1", Some(bytes + FREE_BYTES_KEPT + 1), true),
            ("1", None, true),
            ("2", Some(bytes), true),
        ] {
            assert_eq!(trim.is_due(revision, bytes), is_due, "{revision} {bytes:?}");
        }
    }
}
