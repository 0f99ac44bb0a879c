//! What the media store of a process keeps when its configuration is reloaded.

use super::counters::MediaCounters;
use super::usage_cache::CallerUsageCache;
use headgate_bucket::BucketClientSlot;
use headgate_core::outgoing::bucket_client::BucketClient;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// The maximum number of objects that are written at a time. Each takes a thread of the pool for blocking work, which
/// has 512, and up to three parts in memory.
const WRITES_MAX: usize = 32;
/// The maximum number of MiB that requests with copies of files take at a time, until they end.
const COPIES_MIB_MAX: u32 = 512;
const MIB: u64 = 1 << 20;
/// How long a request waits for its share of that memory.
const COPIES_WAIT: Duration = Duration::from_secs(30);

/// What the media stores of all configurations of a process share.
pub struct SharedMediaState {
    pub(super) counters: MediaCounters,
    pub(super) usage: CallerUsageCache,
    /// Bounds the writes at a time.
    pub(super) writes: Arc<Semaphore>,
    /// Bounds the writes of responses at a time, which do not wait behind those of requests.
    pub(super) response_writes: Arc<Semaphore>,
    copies: Arc<Semaphore>,
    pub(super) client: Arc<BucketClientSlot>,
}

/// The memory that a request with copies of files takes, until it is dropped.
pub struct CopyMemoryPermit(#[expect(dead_code, reason = "held")] OwnedSemaphorePermit);

impl SharedMediaState {
    /// Waits until a request with copies of files may take `bytes` of memory, for 30 s at most; a request that is
    /// larger than everything waits for all others. `None` if the time is over.
    pub(super) async fn admit_copies(&self, bytes: u64) -> Option<CopyMemoryPermit> {
        let mib = u32::try_from(bytes.div_ceil(MIB)).unwrap_or(u32::MAX);
        let permit = self
            .copies
            .clone()
            .acquire_many_owned(mib.clamp(1, COPIES_MIB_MAX));
        let permit = timeout(COPIES_WAIT, permit).await.ok()?.ok()?;
        Some(CopyMemoryPermit(permit))
    }

    /// Sets the client for requests to buckets. The process has one, which is known after the first configuration.
    pub fn set_client(&self, client: Arc<dyn BucketClient>) {
        self.client.set(client);
    }
}

impl Default for SharedMediaState {
    fn default() -> Self {
        Self {
            counters: MediaCounters::default(),
            usage: CallerUsageCache::default(),
            writes: Arc::new(Semaphore::new(WRITES_MAX)),
            response_writes: Arc::new(Semaphore::new(WRITES_MAX)),
            copies: Arc::new(Semaphore::new(COPIES_MIB_MAX as usize)),
            client: Arc::default(),
        }
    }
}

impl fmt::Debug for SharedMediaState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedMediaState").finish_non_exhaustive()
    }
}
