//! The allocator of the program.

use libmimalloc_sys as ffi;
use std::alloc::{GlobalAlloc, Layout};
use std::ffi::{c_int, c_long};

/// mimalloc, which gives memory back after a burst of large bodies; the system's allocator does not.
///
/// The `mimalloc` crate asks for an alignment with each allocation, and the way through that takes three times as long.
/// Every allocation of mimalloc is aligned to a word, so that only larger alignments have to be asked for.
pub struct Mimalloc;

const WORD_BYTES: usize = size_of::<usize>();
/// Milliseconds after which mimalloc itself gives freed memory back to the system, in a process that serves: so late that
/// the process does so before.
const PURGE_DELAY_MS: c_long = 600_000;
/// `mi_option_purge_delay` of mimalloc.h.
const PURGE_DELAY_OPTION: c_int = 15;

unsafe extern "C" {
    // Of mimalloc.h; the bindings have them behind a feature that brings a further crate.
    fn mi_option_set_default(option: c_int, value: c_long);
    fn mi_collect(force: bool);
}

impl Mimalloc {
    /// Gives freed memory back to the system at once, from here on.
    pub fn return_freed_memory() {
        set_purge_delay(0);
    }

    /// Keeps freed memory with the process until [`Self::purge`].
    pub fn keep_freed_memory() {
        set_purge_delay(PURGE_DELAY_MS);
    }

    /// Gives freed memory back to the system, without what other threads keep for their next allocations.
    pub fn purge() {
        // SAFETY: any thread may call it at any time.
        unsafe { mi_collect(true) };
    }
}

/// Like all options, this one yields to its environment variable (`MIMALLOC_PURGE_DELAY`).
fn set_purge_delay(ms: c_long) {
    // SAFETY: the option exists, and takes any number. It is a word that other threads may read meanwhile; they get the
    // number before or the one after.
    unsafe { mi_option_set_default(PURGE_DELAY_OPTION, ms) };
}

// SAFETY: mimalloc returns blocks of at least the size that is asked for, or null, and aligns every block to a word. Each
// function takes blocks that any of the others returned.
unsafe impl GlobalAlloc for Mimalloc {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let block = match layout.align() <= WORD_BYTES {
            true => unsafe { ffi::mi_malloc(layout.size()) },
            false => unsafe { ffi::mi_malloc_aligned(layout.size(), layout.align()) },
        };
        block.cast()
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let block = match layout.align() <= WORD_BYTES {
            true => unsafe { ffi::mi_zalloc(layout.size()) },
            false => unsafe { ffi::mi_zalloc_aligned(layout.size(), layout.align()) },
        };
        block.cast()
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, _layout: Layout) {
        unsafe { ffi::mi_free(block.cast()) };
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        let block = match layout.align() <= WORD_BYTES {
            true => unsafe { ffi::mi_realloc(block.cast(), bytes) },
            false => unsafe { ffi::mi_realloc_aligned(block.cast(), bytes, layout.align()) },
        };
        block.cast()
    }
}

#[cfg(test)]
mod tests {
    use super::{Mimalloc, PURGE_DELAY_MS, PURGE_DELAY_OPTION};
    use std::ffi::{c_int, c_long};

    unsafe extern "C" {
        fn mi_option_get(option: c_int) -> c_long;
    }

    #[test]
    fn the_option_has_the_number_that_mimalloc_gives_it() {
        // SAFETY: the option exists.
        let purge_delay = || unsafe { mi_option_get(PURGE_DELAY_OPTION) };
        // The default of mimalloc 3, which no other option has.
        assert_eq!(purge_delay(), 1_000);
        Mimalloc::return_freed_memory();
        assert_eq!(purge_delay(), 0);
        Mimalloc::keep_freed_memory();
        assert_eq!(purge_delay(), PURGE_DELAY_MS);
    }
}
