//! What the media store of a process keeps when its configuration is reloaded.

use super::bucket_client::BucketClient;
use super::counters::MediaCounters;
use super::usage_cache::CallerUsageCache;
use std::fmt;
use std::sync::{Arc, OnceLock};
use tokio::sync::Semaphore;

/// The maximum number of objects that are written at a time. Each takes a thread of the pool for blocking work, which
/// has 512, and up to three parts in memory.
const WRITES_MAX: usize = 32;

/// What the media stores of all configurations of a process share.
pub struct SharedMediaState {
    pub counters: MediaCounters,
    pub(super) usage: CallerUsageCache,
    /// Bounds the writes at a time.
    pub(super) writes: Arc<Semaphore>,
    client: OnceLock<Arc<dyn BucketClient>>,
}

impl SharedMediaState {
    /// Sets the client for requests to buckets. The process has one, which is known after the first configuration.
    pub fn set_client(&self, client: Arc<dyn BucketClient>) {
        let _ = self.client.set(client);
    }

    pub(super) fn client(&self) -> Option<&Arc<dyn BucketClient>> {
        self.client.get()
    }
}

impl Default for SharedMediaState {
    fn default() -> Self {
        Self {
            counters: MediaCounters::default(),
            usage: CallerUsageCache::default(),
            writes: Arc::new(Semaphore::new(WRITES_MAX)),
            client: OnceLock::new(),
        }
    }
}

impl fmt::Debug for SharedMediaState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedMediaState").finish_non_exhaustive()
    }
}
