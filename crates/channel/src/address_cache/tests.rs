//! Tests of the DNS cache with scripted lookups.

use super::{AddressCache, DnsRefreshPolicy, interleaved};
use crate::resolve::{HostResolver, ResolveFuture, ResolvedAddresses};
use headgate_core::state::StateStore;
use headgate_core::state::memory::MemoryStore;
use headgate_observe::metrics::Metrics;
use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::time::sleep;

const MAX_WAIT: Duration = Duration::from_secs(20);
/// Intervals that are short enough for a test; scripted lookups take no time.
const PACE: DnsRefreshPolicy = DnsRefreshPolicy {
    ttl_min: Duration::from_millis(20),
    ttl_max: Duration::from_millis(40),
    refresh: Duration::from_millis(30),
    retry: Duration::from_millis(10),
    idle: MAX_WAIT,
    names_max: 100,
    is_configured: true,
};

/// A resolver that gives the scripted results in turn, and then repeats the last one.
#[derive(Clone)]
struct ScriptedLookup {
    answers: Arc<Mutex<VecDeque<ScriptedAnswer>>>,
    lookups: Arc<AtomicUsize>,
}

#[derive(Clone)]
enum ScriptedAnswer {
    Of(&'static [&'static str], Option<Duration>),
    After(Duration, &'static [&'static str]),
    Failure,
}

impl ScriptedLookup {
    fn new(answers: impl IntoIterator<Item = ScriptedAnswer>) -> Self {
        Self {
            answers: Arc::new(Mutex::new(answers.into_iter().collect())),
            lookups: Arc::default(),
        }
    }

    fn addresses(&self, refresh_policy: DnsRefreshPolicy) -> AddressCache {
        AddressCache::new(self.clone(), Arc::new(Metrics::default()), refresh_policy)
    }

    fn lookups(&self) -> usize {
        self.lookups.load(Ordering::Relaxed)
    }

    fn next(&self) -> ScriptedAnswer {
        self.lookups.fetch_add(1, Ordering::Relaxed);
        let mut answers = self.answers.lock().unwrap();
        match answers.len() {
            1 => answers[0].clone(),
            _ => answers.pop_front().unwrap(),
        }
    }
}

impl HostResolver for ScriptedLookup {
    fn resolve<'a>(&'a self, _: &'a str) -> ResolveFuture<'a> {
        Box::pin(async {
            let (addresses, ttl) = match self.next() {
                ScriptedAnswer::Of(addresses, ttl) => (addresses, ttl),
                ScriptedAnswer::After(delay, addresses) => {
                    sleep(delay).await;
                    (addresses, None)
                }
                ScriptedAnswer::Failure => return Err(io::Error::other("no such name")),
            };
            let addresses = ips(addresses);
            Ok(ResolvedAddresses { addresses, ttl })
        })
    }
}

fn ips(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

async fn eventually(what: &str, is_so: impl AsyncFn() -> bool) {
    let until = Instant::now() + MAX_WAIT;
    while !is_so().await {
        assert!(Instant::now() < until, "never came: {what}");
        sleep(Duration::from_millis(2)).await;
    }
}

#[test]
fn families_take_turns_and_the_sixth_version_begins() {
    for (given, expected) in [
        (
            &["192.0.2.1", "192.0.2.2"][..],
            &["192.0.2.1", "192.0.2.2"][..],
        ),
        (
            &["192.0.2.1", "192.0.2.2", "192.0.2.3", "2001:db8::1"],
            &["2001:db8::1", "192.0.2.1", "192.0.2.2", "192.0.2.3"],
        ),
        (
            &["2001:db8::1", "2001:db8::2", "192.0.2.1"],
            &["2001:db8::1", "192.0.2.1", "2001:db8::2"],
        ),
    ] {
        assert_eq!(interleaved(ips(given)), ips(expected));
    }
    let many = (0..40).map(|n| IpAddr::from([192, 0, 2, n])).collect();
    assert_eq!(interleaved(many).len(), super::ADDRESSES_MAX);
}

#[tokio::test]
async fn an_address_needs_no_lookup() {
    let script = ScriptedLookup::new([ScriptedAnswer::Failure]);
    let addresses = script.addresses(PACE);
    for host in ["127.0.0.1", "::1"] {
        assert_eq!(
            *addresses.lookup(&host.into()).await.unwrap(),
            *ips(&[host])
        );
    }
    assert_eq!(script.lookups(), 0);
}

#[tokio::test]
async fn concurrent_requests_share_one_lookup() {
    let delay = Duration::from_millis(50);
    let script = ScriptedLookup::new([ScriptedAnswer::After(delay, &["192.0.2.1"])]);
    let addresses = script.addresses(DnsRefreshPolicy::default());
    let mut asking = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let addresses = addresses.clone();
        asking.spawn(async move { addresses.lookup(&"a.test".into()).await.unwrap() });
    }
    for found in asking.join_all().await {
        assert_eq!(*found, *ips(&["192.0.2.1"]));
    }
    assert_eq!(script.lookups(), 1);
}

#[tokio::test]
async fn expired_addresses_are_refreshed_and_serve_meanwhile() {
    let never = Duration::from_secs(3600);
    for ttl in [None, Some(Duration::ZERO), Some(never)] {
        let script = ScriptedLookup::new([
            ScriptedAnswer::Of(&["192.0.2.1"], ttl),
            ScriptedAnswer::After(MAX_WAIT, &["192.0.2.2"]),
        ]);
        let addresses = script.addresses(PACE);
        let host = "a.test".into();
        let first = addresses.lookup(&host).await.unwrap();
        eventually("the second lookup", async || script.lookups() == 2).await;
        let second = addresses.lookup(&host).await.unwrap();
        assert!(Arc::ptr_eq(&first, &second), "{ttl:?}");
    }
}

#[tokio::test]
async fn removed_addresses_are_no_longer_returned() {
    let script = ScriptedLookup::new([
        ScriptedAnswer::Of(&["192.0.2.1", "192.0.2.2"], None),
        // The same addresses in another order are not a change.
        ScriptedAnswer::Of(&["192.0.2.2", "192.0.2.1"], None),
        ScriptedAnswer::Of(&["192.0.2.2"], None),
    ]);
    let addresses = script.addresses(PACE);
    let host = "a.test".into();
    assert_eq!(
        *addresses.lookup(&host).await.unwrap(),
        *ips(&["192.0.2.1", "192.0.2.2"])
    );
    eventually("the change", async || {
        *addresses.lookup(&host).await.unwrap() == *ips(&["192.0.2.2"])
    })
    .await;
    assert!(script.lookups() >= 3);
}

#[tokio::test]
async fn a_failed_lookup_leaves_the_old_addresses() {
    let script = ScriptedLookup::new([
        ScriptedAnswer::Of(&["192.0.2.1"], None),
        ScriptedAnswer::Failure,
        ScriptedAnswer::Failure,
        ScriptedAnswer::Of(&["192.0.2.2"], None),
    ]);
    let addresses = script.addresses(PACE);
    let host = "a.test".into();
    addresses.lookup(&host).await.unwrap();
    eventually("the next success", async || {
        // After the first success, lookups never fail.
        *addresses.lookup(&host).await.unwrap() == *ips(&["192.0.2.2"])
    })
    .await;
    let metrics = String::from_utf8(
        addresses
            .shared
            .metrics
            .render(0, &MemoryStore::default().health()),
    )
    .unwrap();
    let failed = "headgate_dns_lookups_total{host=\"a.test\",result=\"failed\"} 2";
    assert!(metrics.contains(failed), "{metrics}");
}

#[tokio::test]
async fn a_name_without_addresses_fails_at_once_until_it_resolves() {
    let script = ScriptedLookup::new([
        ScriptedAnswer::Failure,
        ScriptedAnswer::Of(&["192.0.2.1"], None),
    ]);
    let addresses = script.addresses(PACE);
    let host = "a.test".into();
    let error = addresses.lookup(&host).await.unwrap_err();
    assert_eq!(error.to_string(), "no such name");
    eventually("the name", async || addresses.lookup(&host).await.is_ok()).await;
}

#[tokio::test]
async fn an_idle_name_is_evicted() {
    let script = ScriptedLookup::new([ScriptedAnswer::Of(&["192.0.2.1"], None)]);
    let idle = Duration::from_millis(100);
    let addresses = script.addresses(DnsRefreshPolicy { idle, ..PACE });
    addresses.lookup(&"a.test".into()).await.unwrap();
    let forgotten = async || addresses.shared.names.read().unwrap().is_empty();
    eventually("the end of the task", forgotten).await;
    let lookups = script.lookups();
    addresses.lookup(&"a.test".into()).await.unwrap();
    assert!(script.lookups() > lookups);
}

#[tokio::test]
async fn a_literal_needs_no_entry() {
    let lookup = ScriptedLookup::new([ScriptedAnswer::Of(&["192.0.2.1"], None)]);
    let cache = lookup.addresses(PACE);
    for n in 1..1_000 {
        let literal = format!("fd00::{n:x}").into();
        let found = cache.lookup(&literal).await.unwrap();
        assert_eq!(found[0].to_string(), &*literal);
    }
    assert_eq!(lookup.lookups(), 0);
    assert!(cache.shared.names.read().unwrap().is_empty());
}

#[tokio::test]
async fn a_name_beyond_the_maximum_takes_the_place_of_the_one_that_was_not_used_for_longest() {
    let hour = Some(Duration::from_secs(3600));
    let lookup = ScriptedLookup::new([ScriptedAnswer::Of(&["192.0.2.1"], hour)]);
    let cache = lookup.addresses(DnsRefreshPolicy {
        names_max: 2,
        ttl_max: Duration::from_secs(3600),
        ..PACE
    });
    let used = async |host: &str| {
        cache.lookup(&host.into()).await.unwrap();
        // Uses are told apart by the millisecond.
        sleep(Duration::from_millis(5)).await;
    };
    used("a.test").await;
    used("b.test").await;
    let evicted = Arc::downgrade(&cache.shared.names.read().unwrap()["b.test"]);
    used("a.test").await;
    used("c.test").await;
    assert_eq!(lookup.lookups(), 3);
    // The task of a name that is gone ends, however long its addresses live.
    eventually("the end of the task", async || evicted.strong_count() == 0).await;
    used("a.test").await;
    assert_eq!(lookup.lookups(), 3);
    used("b.test").await;
    used("b.test").await;
    assert_eq!(lookup.lookups(), 4);
    assert_eq!(cache.shared.names.read().unwrap().len(), 2);
}

#[tokio::test]
async fn a_name_is_refused_while_as_many_as_permitted_are_looked_up() {
    let lookup = ScriptedLookup::new([ScriptedAnswer::After(MAX_WAIT, &["192.0.2.1"])]);
    let cache = lookup.addresses(DnsRefreshPolicy {
        names_max: 1,
        ..PACE
    });
    let (first, other) = ("a.test".into(), "b.test".into());
    let (refused, first) = (cache.lookup(&other), cache.lookup(&first));
    tokio::select! {
        biased;
        _ = first => panic!("the lookup takes longer"),
        refused = refused => {
            let error = refused.unwrap_err();
            assert_eq!(error.to_string(), "too many host names are being looked up");
        }
    }
}

#[tokio::test]
async fn a_name_that_is_not_kept_is_looked_up_once_for_each_use() {
    let lookup = ScriptedLookup::new([ScriptedAnswer::Of(&["192.0.2.1"], Some(Duration::ZERO))]);
    let cache = lookup.addresses(DnsRefreshPolicy {
        idle: Duration::ZERO,
        ..PACE
    });
    let host = "x.example".into();
    cache.lookup(&host).await.unwrap();
    sleep(Duration::from_millis(200)).await;
    assert_eq!(lookup.lookups(), 1);
    cache.lookup(&host).await.unwrap();
    sleep(Duration::from_millis(200)).await;
    assert_eq!(lookup.lookups(), 2);
}
