//! Recorded responses in the state store, for other gateways and for the next start.

use super::entry::{CacheKey, CachedResponse};
use headgate_core::state::bounded_cache::CacheBounds;
use headgate_core::state::log_throttle::LogThrottle;
use headgate_core::state::records::{InsertResult, RECORD_BYTES_MAX, RecordContent, RecordKind};
use headgate_core::state::{StateStore, StoreUnavailable};
use headgate_protocol::hex::HexDisplay;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// How long a request waits for the state store before it is a miss.
const READ_TIMEOUT: Duration = Duration::from_millis(500);
/// Largest number of responses that are being written at a time; further ones stay in memory only.
const WRITES_MAX: usize = 64;

/// The responses of a route in the records of the state store.
#[derive(Clone)]
pub struct SharedResponseRecords {
    state: Arc<dyn StateStore>,
    /// The route, for which the records count.
    owner: Arc<str>,
    ttl: Duration,
    records_max: u32,
    /// The bounds of the memory into which a response is read.
    bounds: CacheBounds,
    writes: Arc<Semaphore>,
}

impl SharedResponseRecords {
    /// The records of `owner`, at most `records_max`, each for `ttl`.
    pub fn new(
        state: Arc<dyn StateStore>,
        owner: &str,
        ttl: Duration,
        records_max: u32,
        bounds: CacheBounds,
    ) -> Self {
        Self {
            state,
            owner: owner.into(),
            ttl,
            records_max,
            bounds,
            writes: Arc::new(Semaphore::new(WRITES_MAX)),
        }
    }

    pub(super) fn bounds(&self) -> CacheBounds {
        self.bounds
    }

    /// The response under a key. A store that is unreachable or slow has none.
    pub(super) async fn get(&self, key: CacheKey) -> Option<CachedResponse> {
        let key = record_key(key);
        let reading = self.state.records().get(RecordKind::CachedResponse, &key);
        match timeout(READ_TIMEOUT, reading.get()).await {
            Ok(Ok(record)) => CachedResponse::decode(&record?.content.value),
            Ok(Err(error)) => {
                report(&error.to_string());
                None
            }
            Err(_) => {
                report("the state store is slow");
                None
            }
        }
    }

    /// Stores a response in the background. A response that does not fit into a record stays in memory only.
    pub fn put(&self, key: CacheKey, response: &CachedResponse) {
        if response.body.len() > RECORD_BYTES_MAX {
            return;
        }
        let value = response.encode();
        if value.len() > RECORD_BYTES_MAX {
            return;
        }
        let Ok(permit) = self.writes.clone().try_acquire_owned() else {
            return report("too many responses wait for the state store");
        };
        let lifetime_ms = u64::try_from(self.ttl.as_millis()).unwrap_or(u64::MAX);
        let content = RecordContent {
            value,
            owner: self.owner.clone(),
            expires_ms: response.recorded_ms.saturating_add(lifetime_ms),
            due_ms: None,
        };
        let (state, records_max) = (self.state.clone(), self.records_max);
        tokio::spawn(async move {
            let stored = store(&*state, &record_key(key), content, records_max).await;
            if let Err(error) = stored {
                report(&error.to_string());
            }
            drop(permit);
        });
    }
}

/// Stores a record, in place of an older one.
async fn store(
    state: &dyn StateStore,
    key: &str,
    content: RecordContent,
    records_max: u32,
) -> Result<(), StoreUnavailable> {
    let (records, kind) = (state.records(), RecordKind::CachedResponse);
    let inserting = records.insert(kind, key, content.clone(), records_max);
    if let InsertResult::Exists(older) = inserting.get().await? {
        // Another gateway may have replaced it; both responses are equally good.
        records
            .replace(kind, key, older.version, content)
            .get()
            .await?;
    }
    Ok(())
}

fn record_key(CacheKey(digest): CacheKey) -> String {
    HexDisplay(&digest).to_string()
}

/// Logs a failure of the store.
fn report(detail: &str) {
    static THROTTLE: LogThrottle = LogThrottle::new();
    if THROTTLE.admits() {
        tracing::warn!(
            detail,
            "recorded responses are not shared through the state store"
        );
    }
}
