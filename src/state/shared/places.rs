//! Places of concurrent requests that this gateway holds in Redis, where they run out unless they are renewed.

use crate::state::memory::lock;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The places of this gateway.
pub struct Places {
    /// Tells this gateway's places from those of others.
    gateway: u64,
    next: AtomicU64,
    /// The keys that each place is held under.
    held: Mutex<HashMap<u64, Vec<String>>>,
}

impl Places {
    pub fn new() -> Self {
        Self {
            // Seeded by the operating system.
            gateway: RandomState::new().hash_one(std::process::id()),
            next: AtomicU64::new(1),
            held: Mutex::default(),
        }
    }

    /// A number for a place that was never given before.
    pub fn next(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// A place's name among those of all gateways.
    pub fn name(&self, place: u64) -> String {
        format!("{:016x}-{place:x}", self.gateway)
    }

    pub fn hold(&self, place: u64, keys: Vec<String>) {
        lock(&self.held).insert(place, keys);
    }

    pub fn release(&self, place: u64) {
        lock(&self.held).remove(&place);
    }

    /// The names of places in use, by the key that they are held under.
    pub fn held(&self) -> HashMap<String, Vec<String>> {
        let mut names: HashMap<String, Vec<String>> = HashMap::new();
        for (place, keys) in &*lock(&self.held) {
            for key in keys {
                names
                    .entry(key.clone())
                    .or_default()
                    .push(self.name(*place));
            }
        }
        names
    }
}
