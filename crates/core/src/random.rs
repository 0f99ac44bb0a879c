//! Fast random numbers for load balancing and jitter; not for secrets.

#[cfg(any(test, feature = "test-support"))]
use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A random number from 0 to 1.
pub fn random_fraction() -> f64 {
    f64::from(random_below(1 << 20)) / f64::from(1 << 20)
}

/// So many random numbers of 32 bits, as hexadecimal digits.
pub fn random_hex(numbers: usize) -> String {
    let digits = (0..numbers).map(|_| format!("{:08x}", random_below(u32::MAX)));
    digits.collect()
}

/// A random number below `below`.
pub fn random_below(below: u32) -> u32 {
    let mut x = next_state();
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let scaled = ((x ^ (x >> 31)) >> 32) * u64::from(below.max(1));
    u32::try_from(scaled >> 32).expect("a product of two 32-bit numbers, shifted by 32")
}

#[cfg(any(test, feature = "test-support"))]
thread_local! {
    static SEEDED_STATE: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Has this thread draw the numbers that the seed determines.
#[cfg(any(test, feature = "test-support"))]
pub fn seed_thread(seed: u64) {
    SEEDED_STATE.set(Some(seed));
}

fn next_state() -> u64 {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    static STATE: LazyLock<AtomicU64> =
        LazyLock::new(|| AtomicU64::new(RandomState::new().hash_one(0)));
    #[cfg(any(test, feature = "test-support"))]
    if let Some(state) = SEEDED_STATE.get() {
        SEEDED_STATE.set(Some(state.wrapping_add(STEP)));
        return state;
    }
    STATE.fetch_add(STEP, Ordering::Relaxed)
}
