//! Recorded responses of providers by the request that they belong to: in memory of the process, bounded and least recently
//! used first, and optionally in the records of the state store. Concurrent misses of one key share one request.
//!
//! Outlives snapshots: a reload keeps the entries, and the keys decide which of them still apply.

mod coalescing;
mod entry;
mod shared_records;

pub use coalescing::{CoalescingLeader, CoalescingOutcome};
pub use entry::{CacheKey, CachedResponse};
pub use shared_records::SharedResponseRecords;

use coalescing::{CoalescedRequests, CoalescingRole};
use headgate_core::state::bounded_cache::{BoundedCache, CacheBounds};
use headgate_core::state::calendar::unix_ms;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// How many leaders for one key may leave before a follower sends its own request.
const LEADERS_MAX: usize = 16;

/// The recorded responses of all routes.
#[derive(Default)]
pub struct ResponseCache {
    /// The entries of a route are dropped with the last snapshot that uses them.
    routes: Mutex<HashMap<Arc<str>, Weak<RouteResponseCache>>>,
}

/// The recorded responses of one route, and the requests in flight for those that are missing.
pub struct RouteResponseCache {
    entries: Mutex<BoundedCache<CacheKey, Arc<CachedResponse>>>,
    in_flight: Arc<CoalescedRequests>,
    /// Bytes of responses that are being recorded.
    recording: Arc<AtomicUsize>,
}

/// A lookup of one request.
pub struct CacheQuery {
    pub key: CacheKey,
    pub freshness: LookupFreshnessLimits,
    /// How long the request waits for another one that records the response.
    pub wait_max: Duration,
    pub records: Option<SharedResponseRecords>,
}

/// How old a response may be.
#[derive(Clone, Copy, Debug)]
pub struct LookupFreshnessLimits {
    /// From this age on, entries do not exist.
    pub ttl: Duration,
    /// The highest age that the caller accepts; an older entry stays for others.
    pub age_max: Option<Duration>,
}

/// The result of a lookup.
pub enum CacheLookupResult {
    Hit(Arc<CachedResponse>),
    /// The request is sent to a provider. If others wait for its response, they wait for this leader.
    Miss(Option<CoalescingLeader>),
}

/// The memory of a response that is being recorded, until it is dropped.
pub struct RecordingMemoryReservation {
    all: Arc<AtomicUsize>,
    bytes: usize,
}

impl ResponseCache {
    /// The responses of a route.
    pub fn for_route(&self, route: &str) -> Arc<RouteResponseCache> {
        let mut routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = routes.get(route).and_then(Weak::upgrade) {
            return known;
        }
        routes.retain(|_, responses| responses.strong_count() > 0);
        let responses = Arc::new(RouteResponseCache::default());
        routes.insert(route.into(), Arc::downgrade(&responses));
        responses
    }
}

impl RouteResponseCache {
    /// The response in memory that is fresh enough.
    pub fn fresh(
        &self,
        key: CacheKey,
        limits: LookupFreshnessLimits,
    ) -> Option<Arc<CachedResponse>> {
        let mut entries = self.entries();
        let age = entries.get(&key)?.age_at(unix_ms());
        if age >= limits.ttl {
            entries.remove(&key);
            return None;
        }
        match limits.accepts(age) {
            true => entries.get(&key).cloned(),
            false => None,
        }
    }

    /// The recorded response, after a wait for another request that is recording it; or a miss.
    pub async fn find(&self, lookup: &CacheQuery) -> CacheLookupResult {
        let until = Instant::now() + lookup.wait_max;
        for _ in 0..LEADERS_MAX {
            let mut follower = match self.in_flight.join(lookup.key) {
                CoalescingRole::Leader(leader) => return self.lead(lookup, leader).await,
                CoalescingRole::Follower(follower) => follower,
            };
            match timeout_at(until, follower.outcome()).await {
                // A leader may have found an older response in the shared records.
                Ok(CoalescingOutcome::Recorded(response)) if lookup.freshness.allows(&response) => {
                    return CacheLookupResult::Hit(response);
                }
                Ok(CoalescingOutcome::LeaderLeft) => {}
                Ok(CoalescingOutcome::Recorded(_) | CoalescingOutcome::NotRecorded) | Err(_) => {
                    break;
                }
            }
        }
        CacheLookupResult::Miss(None)
    }

    /// Looks once more, since another leader may have ended before this one began, and then into the shared records.
    async fn lead(&self, lookup: &CacheQuery, leader: CoalescingLeader) -> CacheLookupResult {
        if let Some(response) = self.fresh(lookup.key, lookup.freshness) {
            leader.finish(CoalescingOutcome::Recorded(response.clone()));
            return CacheLookupResult::Hit(response);
        }
        let Some(records) = &lookup.records else {
            return CacheLookupResult::Miss(Some(leader));
        };
        let Some(response) = records.get(lookup.key).await else {
            return CacheLookupResult::Miss(Some(leader));
        };
        if !lookup.freshness.allows(&response) {
            return CacheLookupResult::Miss(Some(leader));
        }
        let response = Arc::new(response);
        self.insert(lookup.key, response.clone(), records.bounds());
        leader.finish(CoalescingOutcome::Recorded(response.clone()));
        CacheLookupResult::Hit(response)
    }

    /// Stores a response in memory, in place of an older one.
    pub fn insert(&self, key: CacheKey, response: Arc<CachedResponse>, bounds: CacheBounds) {
        let mut entries = self.entries();
        entries.set_bounds(bounds);
        let bytes = response.bytes_in_memory();
        entries.insert(key, response, bytes);
    }

    /// Accounts for a response that is being recorded.
    pub fn recording(&self) -> RecordingMemoryReservation {
        RecordingMemoryReservation {
            all: self.recording.clone(),
            bytes: 0,
        }
    }

    fn entries(&self) -> MutexGuard<'_, BoundedCache<CacheKey, Arc<CachedResponse>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for RouteResponseCache {
    fn default() -> Self {
        // The bounds are those of the filter, which sets them with each entry.
        let none = CacheBounds {
            entries: 0,
            bytes: 0,
        };
        Self {
            entries: Mutex::new(BoundedCache::new(none)),
            in_flight: Arc::default(),
            recording: Arc::default(),
        }
    }
}

impl LookupFreshnessLimits {
    fn allows(self, response: &CachedResponse) -> bool {
        let age = response.age_at(unix_ms());
        age < self.ttl && self.accepts(age)
    }

    fn accepts(self, age: Duration) -> bool {
        self.age_max.is_none_or(|age_max| age <= age_max)
    }
}

impl RecordingMemoryReservation {
    /// Reserves further bytes; returns whether all recordings of the route together are within `bytes_max`.
    pub fn reserve(&mut self, bytes: usize, bytes_max: usize) -> bool {
        self.bytes += bytes;
        self.all.fetch_add(bytes, Ordering::Relaxed) + bytes <= bytes_max
    }
}

impl Drop for RecordingMemoryReservation {
    fn drop(&mut self) {
        self.all.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
