//! The keys of one issuer: how long they are used, and when they are fetched again.

use super::key_source::KeySource;
use crate::token::key_set::TokenKeySet;
use headgate_core::state::lock::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout};

/// How long keys are used at most while they cannot be fetched.
const USABLE_STALE: Duration = Duration::from_secs(60 * 60);
/// The time between two fetches for keys that are not in the set.
const UNKNOWN_KEY_INTERVAL: Duration = Duration::from_secs(60);
/// The time after a fetch that failed.
const FAILED_INTERVAL: Duration = Duration::from_secs(15);
/// How long a request waits for a fetch.
const WAIT: Duration = Duration::from_secs(6);

/// The keys of all issuers. Outlives snapshots.
#[derive(Default)]
pub(crate) struct IssuerKeySets {
    by_source: Mutex<HashMap<KeySource, Arc<IssuerKeys>>>,
    /// Told when an issuer is new, or wants a fetch.
    pub wake: Arc<Notify>,
}

/// The keys of one issuer.
pub(crate) struct IssuerKeys {
    pub source: KeySource,
    known: Mutex<IssuerKeyState>,
    /// The number of fetches that have ended.
    ended: watch::Sender<u64>,
    wake: Arc<Notify>,
}

/// The outcome of a fetch.
pub(crate) struct FetchedKeySet {
    pub keys: TokenKeySet,
    /// How long the issuer lets them be used.
    pub fresh_for: Duration,
}

/// What is known of an issuer's keys, for findings and metrics.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyFetchStatus {
    pub succeeded: u64,
    pub failed: u64,
    /// Why the last fetch failed; `None` if it did not.
    pub error: Option<String>,
    /// Whether tokens are verified.
    pub is_usable: bool,
}

#[derive(Default)]
struct IssuerKeyState {
    keys: Option<Arc<TokenKeySet>>,
    /// When they should be fetched again, and until when they are used.
    times: Option<KeyTimes>,
    /// When the last fetch began.
    attempted: Option<Instant>,
    is_fetching: bool,
    /// Whether a configuration in use has the issuer: one that was refused causes no fetch.
    is_adopted: bool,
    /// When the last fetch was requested for a key that is not in the set.
    unknown_key: Option<Instant>,
    is_wanted: bool,
    status: KeyFetchStatus,
}

#[derive(Clone, Copy)]
struct KeyTimes {
    refresh: Instant,
    usable_until: Instant,
}

impl IssuerKeySets {
    /// The keys of an issuer.
    pub fn find(&self, source: &KeySource) -> Arc<IssuerKeys> {
        let mut sets = lock(&self.by_source);
        let set = sets.entry(source.clone()).or_insert_with(|| {
            Arc::new(IssuerKeys {
                source: source.clone(),
                known: Mutex::default(),
                ended: watch::Sender::new(0),
                wake: self.wake.clone(),
            })
        });
        set.clone()
    }

    /// Forgets the keys of all other issuers, and fetches those that are new.
    pub fn keep(&self, sources: &[&KeySource]) {
        let mut sets = lock(&self.by_source);
        sets.retain(|source, _| sources.contains(&source));
        for set in sets.values() {
            set.known().is_adopted = true;
        }
        drop(sets);
        self.wake.notify_one();
    }

    /// Those that are to be fetched now, and when the next one is.
    pub fn due(&self, now: Instant) -> (Vec<Arc<IssuerKeys>>, Option<Instant>) {
        let sets = lock(&self.by_source);
        let mut due = Vec::new();
        let mut next: Option<Instant> = None;
        for set in sets.values() {
            match set.next_fetch(now) {
                Some(at) if at <= now => due.push(set.clone()),
                Some(at) => next = Some(next.map_or(at, |other| other.min(at))),
                None => {}
            }
        }
        (due, next)
    }
}

impl IssuerKeys {
    /// The keys; `None` if there are none that may be used.
    pub fn usable(&self) -> Option<Arc<TokenKeySet>> {
        self.known().usable(Instant::now())
    }

    /// As [`Self::usable`]; waits for a first fetch that is under way, or about to begin.
    pub async fn usable_soon(&self) -> Option<Arc<TokenKeySet>> {
        let mut ended = self.ended.subscribe();
        {
            let known = self.known();
            let usable = known.usable(Instant::now());
            if usable.is_some() || known.attempted.is_some() && !known.is_fetching {
                return usable;
            }
        }
        // An error is the end of the wait, or of the process.
        let _ = timeout(WAIT, ended.changed()).await;
        self.usable()
    }

    /// Keys that are newer than `seen`, for a token that names a key which those do not have. Causes at most one fetch in
    /// each minute, whatever the number of such tokens.
    pub async fn newer(&self, seen: &Arc<TokenKeySet>) -> Option<Arc<TokenKeySet>> {
        let mut ended = self.ended.subscribe();
        if !self.want_newer(seen, Instant::now()) {
            return self.other_than(seen);
        }
        let _ = timeout(WAIT, ended.changed()).await;
        self.other_than(seen)
    }

    /// Marks the beginning of a fetch.
    pub fn begin_fetch(&self, now: Instant) {
        let mut known = self.known();
        known.attempted = Some(now);
        known.is_fetching = true;
        known.is_wanted = false;
    }

    /// Takes the outcome of a fetch; keys that are known stay if it failed.
    pub fn end_fetch(&self, fetched: Result<FetchedKeySet, String>, now: Instant) {
        let mut known = self.known();
        known.is_fetching = false;
        match fetched {
            Ok(FetchedKeySet { keys, fresh_for }) => {
                known.status.succeeded += 1;
                known.status.error = None;
                known.times = Some(KeyTimes {
                    refresh: now + fresh_for / 4 * 3,
                    usable_until: now + fresh_for + USABLE_STALE,
                });
                // Tokens that the same keys have verified stay verified.
                if !known.keys.as_ref().is_some_and(|old| old.is_same(&keys)) {
                    known.keys = Some(Arc::new(keys));
                }
            }
            Err(error) => {
                if let Some(times) = &mut known.times {
                    times.usable_until = times.usable_until.min(now + USABLE_STALE);
                }
                known.status.failed += 1;
                known.status.error = Some(error);
            }
        }
        drop(known);
        self.ended.send_modify(|ended| *ended += 1);
    }

    pub fn status(&self) -> KeyFetchStatus {
        let known = self.known();
        KeyFetchStatus {
            is_usable: known.usable(Instant::now()).is_some(),
            ..known.status.clone()
        }
    }

    /// When the next fetch is due; `None` while one is under way.
    fn next_fetch(&self, now: Instant) -> Option<Instant> {
        let known = self.known();
        if known.is_fetching || !known.is_adopted {
            return None;
        }
        let Some(attempted) = known.attempted else {
            return Some(now);
        };
        if known.is_wanted {
            return Some(now);
        }
        let retry = attempted + FAILED_INTERVAL;
        if known.status.error.is_some() {
            return Some(retry);
        }
        Some(known.times.map_or(retry, |times| times.refresh.max(retry)))
    }

    /// Whether a fetch is under way that may bring the key, which this request may have caused.
    fn want_newer(&self, seen: &Arc<TokenKeySet>, now: Instant) -> bool {
        let mut known = self.known();
        let is_other = |keys: &Arc<TokenKeySet>| !Arc::ptr_eq(keys, seen);
        if known.keys.as_ref().is_some_and(is_other) {
            return false;
        }
        if known.is_fetching || known.is_wanted {
            return true;
        }
        let last = known.unknown_key;
        if last.is_some_and(|last| now < last + UNKNOWN_KEY_INTERVAL) {
            return false;
        }
        known.unknown_key = Some(now);
        known.is_wanted = true;
        self.wake.notify_one();
        true
    }

    fn other_than(&self, seen: &Arc<TokenKeySet>) -> Option<Arc<TokenKeySet>> {
        self.usable().filter(|keys| !Arc::ptr_eq(keys, seen))
    }

    fn known(&self) -> MutexGuard<'_, IssuerKeyState> {
        lock(&self.known)
    }
}

impl IssuerKeyState {
    fn usable(&self, now: Instant) -> Option<Arc<TokenKeySet>> {
        let times = self.times?;
        self.keys.clone().filter(|_| now < times.usable_until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    const KEY: &str = r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;

    fn fetched(document: &str) -> Result<FetchedKeySet, String> {
        let keys = TokenKeySet::parse(Bytes::copy_from_slice(document.as_bytes()));
        Ok(FetchedKeySet {
            keys: keys.map_err(|error| error.to_string())?,
            fresh_for: Duration::from_secs(4_000),
        })
    }

    #[test]
    fn keys_are_fetched_before_they_age_and_serve_an_hour_while_their_issuer_is_down() {
        let sets = IssuerKeySets::default();
        let source = KeySource::KeySet("https://login.example/keys".into());
        let keys = sets.find(&source);
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(
            keys.next_fetch(start),
            None,
            "no configuration in use has it"
        );
        sets.keep(&[&source]);
        assert_eq!(keys.next_fetch(start), Some(start));
        keys.begin_fetch(start);
        assert_eq!(keys.next_fetch(start), None);
        keys.end_fetch(fetched(KEY), start);
        assert_eq!(keys.next_fetch(start), Some(at(3_000)));
        keys.begin_fetch(at(3_000));
        keys.end_fetch(Err("down".into()), at(3_001));
        assert_eq!(keys.next_fetch(at(3_001)), Some(at(3_015)));
        assert_eq!(keys.status().error.as_deref(), Some("down"));
        keys.begin_fetch(at(3_015));
        keys.end_fetch(Err("down".into()), at(3_016));
        assert_eq!(keys.next_fetch(at(3_016)), Some(at(3_030)));
        for (second, is_usable) in [(0, true), (4_000, true), (6_600, true), (6_601, false)] {
            let usable = keys.known().usable(at(second));
            assert_eq!(usable.is_some(), is_usable, "{second}");
        }
        let before = keys.known().keys.clone().unwrap();
        keys.end_fetch(fetched(KEY), at(8_000));
        let after = keys.known().usable(at(8_000)).unwrap();
        assert!(
            Arc::ptr_eq(&before, &after),
            "the same keys verify what they have verified"
        );
        assert_eq!(keys.status().error, None);
    }

    #[test]
    fn unknown_keys_cause_one_fetch_in_a_minute() {
        let sets = IssuerKeySets::default();
        let source = KeySource::KeySet("https://login.example/keys".into());
        let keys = sets.find(&source);
        sets.keep(&[&source]);
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        keys.begin_fetch(start);
        keys.end_fetch(fetched(KEY), start);
        let seen = keys.known().keys.clone().unwrap();
        let mut fetches = 0;
        for second in 0..180 {
            let is_wanted = keys.want_newer(&seen, at(second));
            if is_wanted && keys.next_fetch(at(second)) == Some(at(second)) {
                fetches += 1;
                keys.begin_fetch(at(second));
                keys.end_fetch(fetched(KEY), at(second));
            }
        }
        assert_eq!(fetches, 3);
    }
}
