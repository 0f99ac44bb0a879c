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
/// Milliseconds that freed memory stays with a process that serves, before the system gets it back. With mimalloc's own
/// second, each burst of requests after a pause of a few seconds pays for ten page faults per stream.
const PURGE_DELAY_MS: c_long = 5_000;
/// `mi_option_purge_delay` of mimalloc.h.
const PURGE_DELAY_OPTION: c_int = 15;

unsafe extern "C" {
    // Of mimalloc.h; the bindings have it behind a feature that brings a further crate.
    fn mi_option_set_default(option: c_int, value: c_long);
}

impl Mimalloc {
    /// Gives freed memory back to the system at once: for the start, which frees most of what it allocates. Like all
    /// options, it yields to its environment variable (`MIMALLOC_PURGE_DELAY`).
    pub fn purge_at_once() {
        set_purge_delay(0);
    }

    /// Keeps freed memory for [`PURGE_DELAY_MS`]: for a process that serves requests.
    pub fn delay_purge() {
        set_purge_delay(PURGE_DELAY_MS);
    }
}

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
        Mimalloc::purge_at_once();
        assert_eq!(purge_delay(), 0);
        Mimalloc::delay_purge();
        assert_eq!(purge_delay(), PURGE_DELAY_MS);
    }
}
