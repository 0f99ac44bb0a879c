//! Random numbers that a seed determines.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// SplitMix64.
#[derive(Debug)]
pub struct Random(AtomicU64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// Numbers of their own, so that one part of a schedule does not shift those of another.
    pub fn fork(&self) -> Self {
        Self::new(self.draw())
    }

    pub fn draw(&self) -> u64 {
        let mut x = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    pub fn below(&self, below: u64) -> u64 {
        self.draw() % below.max(1)
    }

    /// Whether an event of this probability happens.
    pub fn percent(&self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub fn pick<T: Clone>(&self, among: &[T]) -> T {
        among[usize::try_from(self.below(among.len() as u64)).unwrap()].clone()
    }

    pub fn up_to_ms(&self, max: u64) -> Duration {
        Duration::from_millis(self.below(max + 1))
    }

    /// The latency of a packet: mostly short, sometimes long.
    pub fn latency(&self) -> Duration {
        match self.below(20) {
            0 => self.up_to_ms(400),
            1..5 => self.up_to_ms(40),
            _ => self.up_to_ms(3),
        }
    }
}
