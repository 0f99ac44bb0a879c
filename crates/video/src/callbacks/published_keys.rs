//! Keys that providers publish for the signatures of their callbacks: fetched when they are first needed, and cached.

#[cfg(test)]
mod tests;

use headgate_core::catalog::egress::EgressPolicy;
use headgate_core::filter::fetch::{FetchLimits, REDIRECTS_MAX, ResponseFileFetcher};
use headgate_core::state::lock::lock;
use headgate_core::task::callback_signature::CallbackVerificationKey;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::time::Instant;

/// How long keys are used before they are fetched again.
const FRESH: Duration = Duration::from_secs(60 * 60);
/// How long they are used after they were fetched, if they cannot be fetched again.
const USABLE: Duration = Duration::from_secs(24 * 60 * 60);
/// The time between two fetches for signatures that fit no key.
const UNKNOWN_KEY_INTERVAL: Duration = Duration::from_secs(60);
/// The time after a fetch that failed.
const FAILED_INTERVAL: Duration = Duration::from_secs(10);
const LIMITS: FetchLimits = FetchLimits {
    bytes: 64 << 10,
    within: Duration::from_secs(5),
    redirects: REDIRECTS_MAX,
};

/// The keys at each URL. Outlives snapshots.
#[derive(Default)]
pub struct PublishedKeyCache(Mutex<HashMap<Box<str>, Arc<PublishedKeySet>>>);

/// Fetches keys, as far as the configuration permits it.
#[derive(Clone, Copy)]
pub struct KeyFetcher<'a> {
    pub fetch: &'a dyn ResponseFileFetcher,
    pub egress: &'a EgressPolicy,
}

/// Keys, and when they were fetched.
#[derive(Clone)]
pub struct FetchedKeys {
    pub keys: Arc<[CallbackVerificationKey]>,
    fetched: Instant,
}

/// There are no keys: they could not be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the keys of the provider cannot be fetched")]
pub struct KeysUnavailable;

#[derive(Default)]
struct PublishedKeySet {
    known: Mutex<KnownKeys>,
    /// Held by the one who fetches.
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct KnownKeys {
    last: Option<FetchedKeys>,
    /// When the last fetch began.
    attempted: Option<Instant>,
}

impl PublishedKeyCache {
    /// The keys at `url`: those that are known, if they are fresh or cannot be fetched.
    ///
    /// # Errors
    /// None are known, and they cannot be fetched.
    pub async fn keys(
        &self,
        url: &str,
        fetcher: KeyFetcher<'_>,
    ) -> Result<FetchedKeys, KeysUnavailable> {
        let set = self.set(url);
        if let Some(fresh) = set.known().younger_than(FRESH) {
            return Ok(fresh);
        }
        let usable = set.known().younger_than(USABLE);
        let fetching = match (&usable, set.fetching.try_lock()) {
            (_, Ok(fetching)) => Some(fetching),
            (Some(_), Err(_)) => None,
            (None, Err(_)) => Some(set.fetching.lock().await),
        };
        // Another callback may have fetched them meanwhile.
        if let Some(fresh) = set.known().younger_than(FRESH) {
            return Ok(fresh);
        }
        if fetching.is_some() && !set.known().was_attempted_within(FAILED_INTERVAL) {
            set.refresh(url, fetcher).await;
        }
        set.known().younger_than(USABLE).ok_or(KeysUnavailable)
    }

    /// Keys that were fetched after `known`, for a signature that fits none of those; `None` if there are none, or none may
    /// be fetched yet.
    pub async fn newer(
        &self,
        url: &str,
        fetcher: KeyFetcher<'_>,
        known: &FetchedKeys,
    ) -> Option<FetchedKeys> {
        let set = self.set(url);
        let _fetching = set.fetching.lock().await;
        let is_newer = |keys: &FetchedKeys| keys.fetched > known.fetched;
        if let Some(newer) = set.known().younger_than(USABLE).filter(is_newer) {
            return Some(newer);
        }
        if set.known().was_attempted_within(UNKNOWN_KEY_INTERVAL) {
            return None;
        }
        set.refresh(url, fetcher).await;
        set.known().younger_than(USABLE).filter(is_newer)
    }

    fn set(&self, url: &str) -> Arc<PublishedKeySet> {
        let mut sets = lock(&self.0);
        if let Some(set) = sets.get(url) {
            return set.clone();
        }
        sets.entry(url.into()).or_default().clone()
    }
}

impl PublishedKeySet {
    fn known(&self) -> MutexGuard<'_, KnownKeys> {
        lock(&self.known)
    }

    /// Fetches the keys; those that are known stay if that fails.
    async fn refresh(&self, url: &str, KeyFetcher { fetch, egress }: KeyFetcher<'_>) {
        self.known().attempted = Some(Instant::now());
        let fetched = fetch.fetch(url, egress, LIMITS).await;
        let keys = fetched.map_err(|error| error.to_string()).and_then(|file| {
            let keys = CallbackVerificationKey::from_key_set(&file.content);
            keys.map_err(|error| error.to_string())
        });
        match keys {
            Ok(keys) => {
                self.known().last = Some(FetchedKeys {
                    keys: keys.into(),
                    fetched: Instant::now(),
                });
            }
            Err(error) => tracing::warn!(url, error, "keys of callbacks cannot be fetched"),
        }
    }
}

impl KnownKeys {
    fn younger_than(&self, age: Duration) -> Option<FetchedKeys> {
        let last = self.last.as_ref()?;
        (last.fetched.elapsed() < age).then(|| last.clone())
    }

    fn was_attempted_within(&self, interval: Duration) -> bool {
        let last = self.attempted;
        last.is_some_and(|attempted| attempted.elapsed() < interval)
    }
}
