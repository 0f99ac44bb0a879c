//! The concurrency leases that this gateway has in Redis. A lease expires there unless the gateway renews it.

use headgate_core::state::lock::lock;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The concurrency leases of this gateway.
pub struct GatewayConcurrencyLeases {
    /// A random number that tells this gateway's leases from those of other gateways.
    gateway: u64,
    next: AtomicU64,
    /// The keys that each lease is stored under.
    keys_by_lease: Mutex<HashMap<u64, Vec<String>>>,
}

impl GatewayConcurrencyLeases {
    pub fn new() -> Self {
        Self {
            // The operating system seeds `RandomState`.
            gateway: RandomState::new().hash_one(std::process::id()),
            next: AtomicU64::new(1),
            keys_by_lease: Mutex::default(),
        }
    }

    /// A number for a new lease, unique in this process.
    pub fn next(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// A lease's name, unique among all gateways.
    pub fn name(&self, lease: u64) -> String {
        format!("{:016x}-{lease:x}", self.gateway)
    }

    pub fn hold(&self, lease: u64, keys: Vec<String>) {
        lock(&self.keys_by_lease).insert(lease, keys);
    }

    pub fn release(&self, lease: u64) {
        lock(&self.keys_by_lease).remove(&lease);
    }

    /// The names of the leases in use, by the key that they are stored under.
    pub fn leases_by_key(&self) -> HashMap<String, Vec<String>> {
        let mut names: HashMap<String, Vec<String>> = HashMap::new();
        for (lease, keys) in &*lock(&self.keys_by_lease) {
            for key in keys {
                names
                    .entry(key.clone())
                    .or_default()
                    .push(self.name(*lease));
            }
        }
        names
    }
}
