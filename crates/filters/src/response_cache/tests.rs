//! Tests of lookups: single flight, freshness and bounds.

use super::*;
use bytes::Bytes;
use headgate_core::state::StateStore;
use headgate_core::state::memory::MemoryStore;
use headgate_core::state::records::RecordKind;
use http::HeaderMap;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

const MAX_WAIT: Duration = Duration::from_secs(30);
const BOUNDS: CacheBounds = CacheBounds {
    entries: 1_000,
    bytes: 10_000,
};
const KEY: CacheKey = CacheKey([1; 32]);

fn response(body: &str) -> Arc<CachedResponse> {
    response_of_age(body, 0)
}

fn response_of_age(body: &str, age_ms: u64) -> Arc<CachedResponse> {
    Arc::new(CachedResponse {
        headers: HeaderMap::new(),
        body: Bytes::copy_from_slice(body.as_bytes()),
        recorded_ms: unix_ms() - age_ms,
    })
}

fn limits(ttl_ms: u64, age_max_ms: Option<u64>) -> LookupFreshnessLimits {
    LookupFreshnessLimits {
        ttl: Duration::from_millis(ttl_ms),
        age_max: age_max_ms.map(Duration::from_millis),
    }
}

fn lookup(wait_max: Duration, records: Option<SharedResponseRecords>) -> CacheQuery {
    CacheQuery {
        key: KEY,
        freshness: limits(60_000, None),
        wait_max,
        records,
    }
}

/// The body of a hit; the leader of a miss.
async fn find(
    responses: &RouteResponseCache,
    lookup: &CacheQuery,
) -> Result<Bytes, Option<CoalescingLeader>> {
    let found = timeout(MAX_WAIT, responses.find(lookup)).await;
    match found.expect("a lookup ends") {
        CacheLookupResult::Hit(response) => Ok(response.body.clone()),
        CacheLookupResult::Miss(leader) => Err(leader),
    }
}

async fn coalescing_leader(responses: &RouteResponseCache) -> CoalescingLeader {
    let found = find(responses, &lookup(MAX_WAIT, None)).await;
    found.err().flatten().expect("the first lookup leads")
}

/// Lookups that wait for a leader.
async fn followers(
    responses: &Arc<RouteResponseCache>,
    count: usize,
    wait_max: Duration,
) -> JoinSet<Result<Bytes, Option<CoalescingLeader>>> {
    let mut all = JoinSet::new();
    for _ in 0..count {
        let responses = responses.clone();
        all.spawn(async move { find(&responses, &lookup(wait_max, None)).await });
    }
    sleep(Duration::from_millis(50)).await;
    all
}

#[tokio::test]
async fn followers_get_what_the_leader_records() {
    let responses = Arc::new(RouteResponseCache::default());
    let leader = coalescing_leader(&responses).await;
    let waiting = followers(&responses, 100, MAX_WAIT).await;
    let recorded = response("one");
    responses.insert(KEY, recorded.clone(), BOUNDS);
    leader.finish(CoalescingOutcome::Recorded(recorded));
    for found in waiting.join_all().await {
        assert_eq!(found.ok().unwrap(), "one");
    }
    assert_eq!(
        find(&responses, &lookup(MAX_WAIT, None))
            .await
            .ok()
            .unwrap(),
        "one"
    );
}

#[tokio::test]
async fn followers_of_a_leader_that_recorded_nothing_send_their_own_requests() {
    let responses = Arc::new(RouteResponseCache::default());
    let leader = coalescing_leader(&responses).await;
    let waiting = followers(&responses, 20, MAX_WAIT).await;
    leader.finish(CoalescingOutcome::NotRecorded);
    for found in waiting.join_all().await {
        assert!(matches!(found, Err(None)));
    }
}

#[tokio::test]
async fn one_follower_leads_after_the_leader_left() {
    let responses = Arc::new(RouteResponseCache::default());
    let leader = coalescing_leader(&responses).await;
    let mut waiting = followers(&responses, 20, MAX_WAIT).await;
    drop(leader);
    let first = timeout(MAX_WAIT, waiting.join_next()).await.unwrap();
    let next = first.unwrap().unwrap().err().flatten();
    let next = next.expect("a follower leads");
    let recorded = response("two");
    responses.insert(KEY, recorded.clone(), BOUNDS);
    next.finish(CoalescingOutcome::Recorded(recorded));
    for found in waiting.join_all().await {
        assert_eq!(found.ok().unwrap(), "two");
    }
}

#[tokio::test]
async fn a_follower_waits_until_its_deadline() {
    let responses = Arc::new(RouteResponseCache::default());
    let _leader = coalescing_leader(&responses).await;
    let wait_max = Duration::from_millis(30);
    let found = find(&responses, &lookup(wait_max, None)).await;
    assert!(matches!(found, Err(None)));
}

#[tokio::test]
async fn age_and_time_to_live_decide_what_is_fresh() {
    for (age_ms, ttl_ms, age_max_ms, is_fresh) in [
        (0, 60_000, None, true),
        (30_000, 60_000, None, true),
        (60_001, 60_000, None, false),
        (30_000, 60_000, Some(40_000), true),
        (30_000, 60_000, Some(20_000), false),
        (30_000, 60_000, Some(0), false),
    ] {
        let responses = RouteResponseCache::default();
        responses.insert(KEY, response_of_age("x", age_ms), BOUNDS);
        let found = responses.fresh(KEY, limits(ttl_ms, age_max_ms));
        assert_eq!(
            found.is_some(),
            is_fresh,
            "{age_ms} {ttl_ms} {age_max_ms:?}"
        );
        // An entry that is too old for one caller stays for others; an expired one does not.
        let others = responses.fresh(KEY, limits(u64::MAX, None));
        assert_eq!(others.is_some(), age_ms < ttl_ms);
    }
}

#[test]
fn the_entries_of_a_route_stay_within_their_bytes() {
    let responses = RouteResponseCache::default();
    let key = |number: u8| CacheKey([number; 32]);
    for number in 0..10 {
        responses.insert(key(number), response(&"x".repeat(1_500)), BOUNDS);
    }
    let is_kept = |number: &u8| {
        responses
            .fresh(key(*number), limits(60_000, None))
            .is_some()
    };
    let kept: Vec<u8> = (0..10).filter(is_kept).collect();
    assert_eq!(kept, [6, 7, 8, 9]);
}

#[test]
fn the_entries_of_a_route_end_with_the_last_snapshot_that_uses_them() {
    let cache = ResponseCache::default();
    let first = cache.for_route("chat");
    first.insert(KEY, response("x"), BOUNDS);
    let again = cache.for_route("chat");
    assert!(again.fresh(KEY, limits(60_000, None)).is_some());
    assert!(
        cache
            .for_route("other")
            .fresh(KEY, limits(60_000, None))
            .is_none()
    );
    drop((first, again));
    assert!(
        cache
            .for_route("chat")
            .fresh(KEY, limits(60_000, None))
            .is_none()
    );
}

#[test]
fn recordings_of_a_route_share_their_memory() {
    let responses = RouteResponseCache::default();
    let (mut first, mut second) = (responses.recording(), responses.recording());
    assert!(first.reserve(60, 100));
    assert!(!second.reserve(60, 100));
    drop(second);
    assert!(first.reserve(40, 100));
    drop(first);
    assert_eq!(responses.recording.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn responses_of_the_state_store_are_hits_of_another_process() {
    let state: Arc<dyn StateStore> = Arc::new(MemoryStore::default());
    let ttl = Duration::from_secs(60);
    let records = SharedResponseRecords::new(state.clone(), "chat", ttl, 2, BOUNDS);
    records.put(KEY, &response("stored"));
    let key = "01".repeat(32);
    let stored = async || {
        let found = state.records().get(RecordKind::CachedResponse, &key);
        found.get().await.unwrap().is_some()
    };
    for _ in 0..1_000 {
        if stored().await {
            break;
        }
        sleep(Duration::from_millis(5)).await;
    }
    let other = RouteResponseCache::default();
    let found = find(&other, &lookup(MAX_WAIT, Some(records))).await;
    assert_eq!(found.ok().unwrap(), "stored");
    // The second lookup needs no store.
    assert!(other.fresh(KEY, limits(60_000, None)).is_some());
}
