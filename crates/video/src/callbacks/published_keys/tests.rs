//! Tests of the cache of published keys, with a fetcher that counts.

use super::*;
use headgate_core::filter::fetch::{
    FetchError, FetchFuture, FetchedFile, FileCredential, OpenFileFuture, UrlCheckFuture,
};
use http::HeaderMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::time::advance;

const URL: &str = "https://vendor.example/jwks.json";
const KEYS: [&str; 2] = [
    r#"{"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}]}"#,
    r#"{"keys": [{"crv": "Ed25519", "x": "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}]}"#,
];

/// Answers with this text, or not at all.
#[derive(Default)]
struct CountingFetcher {
    text: Mutex<Option<&'static str>>,
    fetches: AtomicUsize,
}

impl CountingFetcher {
    fn answering(text: Option<&'static str>) -> Self {
        Self {
            text: Mutex::new(text),
            ..Self::default()
        }
    }

    fn set(&self, text: Option<&'static str>) {
        *self.text.lock().unwrap() = text;
    }

    fn fetches(&self) -> usize {
        self.fetches.load(Ordering::Relaxed)
    }
}

impl ResponseFileFetcher for CountingFetcher {
    fn fetch<'a>(
        &'a self,
        _: &'a str,
        _: &'a EgressPolicy,
        bounds: FetchLimits,
    ) -> FetchFuture<'a> {
        assert!(bounds.bytes <= 64 << 10 && bounds.within <= Duration::from_secs(5));
        Box::pin(async {
            self.fetches.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(100)).await;
            let text = self.text.lock().unwrap();
            let unreachable = || FetchError {
                reason: "unreachable".into(),
                is_temporary: true,
            };
            let text = text.ok_or_else(unreachable)?;
            Ok(FetchedFile {
                content_type: None,
                cache_control: None,
                content: text.into(),
            })
        })
    }

    fn open<'a>(
        &'a self,
        _: &'a str,
        _: &'a EgressPolicy,
        _: &'a HeaderMap,
        _: Option<FileCredential<'a>>,
    ) -> OpenFileFuture<'a> {
        unreachable!("keys are fetched whole")
    }

    fn check<'a>(&'a self, _: &'a str, _: &'a EgressPolicy) -> UrlCheckFuture<'a> {
        unreachable!("keys are fetched")
    }
}

/// Calls `$body` with a fetcher for `$fetch`.
async fn keys(cache: &PublishedKeyCache, fetch: &CountingFetcher) -> Option<FetchedKeys> {
    let egress = EgressPolicy::default();
    let fetcher = KeyFetcher {
        fetch,
        egress: &egress,
    };
    cache.keys(URL, fetcher).await.ok()
}

async fn newer(
    cache: &PublishedKeyCache,
    fetch: &CountingFetcher,
    known: &FetchedKeys,
) -> Option<FetchedKeys> {
    let egress = EgressPolicy::default();
    let fetcher = KeyFetcher {
        fetch,
        egress: &egress,
    };
    cache.newer(URL, fetcher, known).await
}

#[tokio::test(start_paused = true)]
async fn keys_are_fetched_once_for_all_who_wait_and_again_after_an_hour() {
    let (cache, fetch) = (
        PublishedKeyCache::default(),
        CountingFetcher::answering(Some(KEYS[0])),
    );
    let waiting = tokio::join!(
        keys(&cache, &fetch),
        keys(&cache, &fetch),
        keys(&cache, &fetch)
    );
    assert!(waiting.0.is_some() && waiting.1.is_some() && waiting.2.is_some());
    assert_eq!(fetch.fetches(), 1);
    advance(FRESH).await;
    fetch.set(Some(KEYS[1]));
    let later = keys(&cache, &fetch).await.unwrap();
    assert_eq!(fetch.fetches(), 2);
    assert!(later.keys != waiting.0.unwrap().keys);
}

#[tokio::test(start_paused = true)]
async fn the_last_known_keys_are_used_for_a_day_while_they_cannot_be_fetched() {
    let (cache, fetch) = (
        PublishedKeyCache::default(),
        CountingFetcher::answering(Some(KEYS[0])),
    );
    let first = keys(&cache, &fetch).await.unwrap();
    for failure in [None, Some("<html>"), Some(r#"{"keys": []}"#)] {
        fetch.set(failure);
        advance(FRESH).await;
        let used = keys(&cache, &fetch).await.unwrap();
        assert!(used.keys == first.keys, "{failure:?}");
    }
    advance(USABLE).await;
    assert!(keys(&cache, &fetch).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_fetch_that_failed_is_repeated_after_ten_seconds() {
    let (cache, fetch) = (
        PublishedKeyCache::default(),
        CountingFetcher::answering(None),
    );
    for _ in 0..3 {
        assert!(keys(&cache, &fetch).await.is_none());
    }
    assert_eq!(fetch.fetches(), 1);
    fetch.set(Some(KEYS[0]));
    advance(FAILED_INTERVAL).await;
    assert!(keys(&cache, &fetch).await.is_some());
    assert_eq!(fetch.fetches(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_key_leads_to_one_fetch_a_minute() {
    let (cache, fetch) = (
        PublishedKeyCache::default(),
        CountingFetcher::answering(Some(KEYS[0])),
    );
    let known = keys(&cache, &fetch).await.unwrap();
    assert!(newer(&cache, &fetch, &known).await.is_none());
    assert_eq!(fetch.fetches(), 1);
    advance(UNKNOWN_KEY_INTERVAL).await;
    fetch.set(Some(KEYS[1]));
    let both = tokio::join!(newer(&cache, &fetch, &known), newer(&cache, &fetch, &known));
    assert_eq!(fetch.fetches(), 2);
    let rotated = both.0.unwrap();
    assert!(rotated.keys != known.keys && both.1.is_some());
    for _ in 0..100 {
        assert!(newer(&cache, &fetch, &rotated).await.is_none());
    }
    assert_eq!(fetch.fetches(), 2);
}
