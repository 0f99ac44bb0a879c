//! Tests of selection in a simulation: shares by weight, slow channels, tiers, limits and cool-downs.

use super::*;
use crate::outcome::{AttemptFailure, AttemptOutcome, FailureReason};
use headgate_core::catalog::base_path::BasePath;
use headgate_core::catalog::channel::{Channel, ChannelLimits, HttpVersion, Origin, Timeouts};
use headgate_core::catalog::credential::Credential;
use headgate_core::catalog::model::ChannelModel;
use headgate_observe::metrics::Metrics;
use http::{HeaderValue, header};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) fn channel(name: &str, weight: u16, tier: u8) -> Channel {
    let origin = Origin {
        host: "127.0.0.1".into(),
        port: 1,
        base_path: BasePath::default(),
        proxy: None,
        authority: HeaderValue::from_static("127.0.0.1:1"),
        http: HttpVersion::Http1,
        tls: None,
    };
    let fingerprint = RandomState::new().hash_one(name);
    let timeouts = Timeouts::default();
    Channel {
        weight,
        tier,
        ..Channel::for_server(name.into(), origin, timeouts, Vec::new(), fingerprint)
    }
}

pub(crate) fn candidate(channel: Channel) -> Candidate {
    let model = ChannelModel::new("m", channel.fingerprint);
    Candidate::for_model(Arc::new(channel), model)
}

pub(crate) fn channels() -> Arc<ChannelStates> {
    Arc::new(ChannelStates::new(Arc::new(Metrics::default())))
}

/// How many of `requests` go to each candidate, with one request every `every` milliseconds; a request to a channel
/// takes as many milliseconds as `takes` returns.
fn shares(
    candidates: &[Candidate],
    requests: u64,
    every: u64,
    takes: impl Fn(&str) -> u64,
) -> Vec<u64> {
    let channels = channels();
    let mut under_way: BinaryHeap<Reverse<(u64, u64)>> = BinaryHeap::new();
    let mut leases = std::collections::HashMap::new();
    let mut counts = vec![0; candidates.len()];
    for request in 0..requests {
        let now = request * every;
        while let Some(Reverse((end, which))) = under_way.peek().copied() {
            if end > now {
                break;
            }
            under_way.pop();
            leases.remove(&which);
        }
        let lease = channels
            .choose(candidates, &[], MonotonicTime(now))
            .ok()
            .unwrap();
        let name = lease.candidate.channel.name.clone();
        let place = candidates.iter().position(|c| c.channel.name == name);
        counts[place.unwrap()] += 1;
        under_way.push(Reverse((now + takes(&name), request)));
        leases.insert(request, lease);
    }
    counts
}

#[test]
fn idle_channels_share_by_weight() {
    let candidates = [candidate(channel("a", 3, 0)), candidate(channel("b", 1, 0))];
    let counts = shares(&candidates, 20_000, 10, |_| 1);
    let share = counts[0] as f64 / 20_000.0;
    assert!((0.73..0.77).contains(&share), "{share}");
}

#[test]
fn busy_channels_that_are_equally_fast_share_by_weight() {
    let candidates = [candidate(channel("a", 3, 0)), candidate(channel("b", 1, 0))];
    let counts = shares(&candidates, 20_000, 1, |_| 400);
    let share = counts[0] as f64 / 20_000.0;
    assert!((0.70..0.80).contains(&share), "{share}");
}

#[test]
fn a_slow_channel_is_relieved() {
    let candidates = [
        candidate(channel("a", 1, 0)),
        candidate(channel("slow", 1, 0)),
    ];
    let counts = shares(&candidates, 20_000, 1, |name| {
        if name == "slow" { 1000 } else { 50 }
    });
    let share = counts[1] as f64 / 20_000.0;
    assert!(share < 0.3, "{share}");
}

#[test]
fn a_slow_channel_gets_few_requests_by_latency_although_it_is_idle() {
    let candidates = [
        candidate(channel("fast", 1, 0)),
        candidate(channel("slow", 1, 0)),
    ];
    let by_latency = LoadBalancing {
        measure: LoadMeasure::Latency,
        ..LoadBalancing::default()
    };
    let by_load = LoadBalancing::default();
    for (balancing, least, most) in [(by_latency, 10, 150), (by_load, 400, 600)] {
        let (channels, mut slow) = (channels(), 0);
        for request in 0..1_000 {
            let now = MonotonicTime(request * 1_000);
            let chosen = channels.choose_balanced(&balancing, &candidates, &[], now);
            let lease = chosen.ok().unwrap();
            let is_slow = &*lease.candidate.channel.name == "slow";
            slow += u32::from(is_slow);
            if lease.is_timed {
                let latency = channels.candidate_latency(&lease.candidate).unwrap();
                latency.record(
                    now,
                    Duration::from_millis(if is_slow { 2_000 } else { 200 }),
                );
            }
        }
        // From time to time it is tried again.
        assert!((least..=most).contains(&slow), "{balancing:?}: {slow}");
    }
}

#[test]
fn by_latency_a_channel_that_becomes_slow_is_relieved_and_one_that_is_unknown_is_tried_once() {
    let channels = channels();
    let candidates = [candidate(channel("a", 1, 0)), candidate(channel("b", 1, 0))];
    let balancing = LoadBalancing {
        measure: LoadMeasure::Latency,
        ..LoadBalancing::default()
    };
    let now = MonotonicTime(0);
    let choose = || {
        let chosen = channels.choose_balanced(&balancing, &candidates, &[], now);
        chosen.ok().unwrap()
    };
    let latency = |at: usize| channels.candidate_latency(&candidates[at]).unwrap();
    latency(0).record(now, Duration::from_millis(100));
    let first = choose();
    assert_eq!(&*first.candidate.channel.name, "b");
    for _ in 0..5 {
        assert_eq!(&*choose().candidate.channel.name, "a");
    }
    drop(first);
    latency(1).record(now, Duration::from_millis(50));
    assert_eq!(&*choose().candidate.channel.name, "b");
    latency(1).record(now, Duration::from_millis(550));
    assert_eq!(&*choose().candidate.channel.name, "a");
    // A sixth request of 100 ms waits longer than the first one of 550 ms.
    let held: Vec<ChannelLease> = (0..5).map(|_| choose()).collect();
    assert!(
        held.iter()
            .all(|lease| &*lease.candidate.channel.name == "a")
    );
    assert_eq!(&*choose().candidate.channel.name, "b");
}

#[test]
fn the_next_tier_is_used_when_the_one_before_has_no_usable_channel() {
    let channels = channels();
    let candidates = [
        candidate(channel("first", 1, 0)),
        candidate(channel("second", 1, 1)),
    ];
    let name = |lease: &ChannelLease| lease.candidate.channel.name.to_string();
    let mut lease = channels
        .choose(&candidates, &[], MonotonicTime(0))
        .ok()
        .unwrap();
    assert_eq!(name(&lease), "first");
    lease.report(AttemptOutcome::failure(FailureReason::RateLimited), "req_1");
    let lease = channels
        .choose(&candidates, &[], MonotonicTime::now())
        .ok()
        .unwrap();
    assert_eq!(name(&lease), "second");
}

#[test]
fn a_channel_at_its_limit_is_skipped_and_reported_as_such() {
    let channels = channels();
    let mut small = channel("small", 1, 0);
    small.limits.concurrent = Some(1);
    let candidates = [candidate(small)];
    let held = channels
        .choose(&candidates, &[], MonotonicTime(0))
        .ok()
        .unwrap();
    let none = channels
        .choose(&candidates, &[], MonotonicTime(0))
        .err()
        .unwrap();
    assert!(none.is_full());
    assert_eq!(none.to_string(), "small: at its limit `concurrent`");
    drop(held);
    assert!(channels.choose(&candidates, &[], MonotonicTime(0)).is_ok());
}

#[test]
fn requests_a_minute_are_counted_and_forgotten() {
    let channels = channels();
    let mut small = channel("small", 1, 0);
    small.limits.requests_per_minute = Some(2);
    let candidates = [candidate(small)];
    for _ in 0..2 {
        assert!(channels.choose(&candidates, &[], MonotonicTime(0)).is_ok());
    }
    assert!(
        channels
            .choose(&candidates, &[], MonotonicTime(59_999))
            .is_err()
    );
    assert!(
        channels
            .choose(&candidates, &[], MonotonicTime(60_000))
            .is_ok()
    );
}

#[test]
fn keys_are_used_in_turn_and_a_refused_one_is_left_out() {
    let channels = channels();
    let mut pool = channel("pool", 1, 0);
    pool.credentials = (0..3)
        .map(|key| {
            Credential::header(
                header::AUTHORIZATION,
                HeaderValue::from_static("x"),
                "x",
                pool.fingerprint + 1 + key,
            )
        })
        .collect();
    let candidates = [candidate(pool)];
    let mut used = Vec::new();
    for _ in 0..6 {
        let mut lease = channels
            .choose(&candidates, &[], MonotonicTime::now())
            .ok()
            .unwrap();
        used.push(lease.key.unwrap());
        if lease.key == Some(1) {
            lease.report(
                AttemptOutcome::failure(FailureReason::RefusedCredential),
                "req_1",
            );
        }
    }
    assert_eq!(used, [0, 1, 2, 0, 2, 2]);
}

#[test]
fn a_channel_whose_keys_are_all_refused_is_not_used() {
    let channels = channels();
    let mut pool = channel("pool", 1, 0);
    pool.credentials = vec![Credential::header(
        header::AUTHORIZATION,
        HeaderValue::from_static("x"),
        "x",
        7,
    )];
    let candidates = [candidate(pool)];
    let mut lease = channels
        .choose(&candidates, &[], MonotonicTime::now())
        .ok()
        .unwrap();
    lease.report(
        AttemptOutcome::failure(FailureReason::RefusedAccount),
        "req_1",
    );
    let none = channels
        .choose(&candidates, &[], MonotonicTime::now())
        .err()
        .unwrap();
    assert!(
        none.to_string()
            .contains("credential cooling down (refused_account)"),
        "{none}"
    );
    // This channel is the only one that serves the model.
    assert!(none.retry_after().unwrap() <= Duration::from_secs(2));
}

#[test]
fn a_failing_channel_is_the_last_resort_but_not_one_that_sent_retry_after() {
    for (retry_after, usable) in [(None, true), (Some(Duration::from_secs(30)), false)] {
        let channels = channels();
        let candidates = [candidate(channel("only", 1, 0))];
        let mut lease = channels
            .choose(&candidates, &[], MonotonicTime::now())
            .ok()
            .unwrap();
        let failure = AttemptFailure {
            retry_after,
            ..AttemptFailure::new(FailureReason::RateLimited)
        };
        lease.report(AttemptOutcome::Failure(failure), "req_1");
        drop(lease);
        assert!(!channels.has_another(&candidates, &[], MonotonicTime::now()));
        let again = channels.choose(&candidates, &[], MonotonicTime::now());
        assert_eq!(again.is_ok(), usable, "{retry_after:?}");
        if let Ok(mut lease) = again {
            lease.report(AttemptOutcome::Success, "req_1");
            assert!(channels.has_another(&candidates, &[], MonotonicTime::now()));
        }
    }
}

#[test]
fn a_limit_holds_under_concurrent_requests() {
    let mut limited = channel("a", 1, 0);
    limited.limits = ChannelLimits {
        concurrent: Some(3),
        requests_per_minute: Some(2_000),
        ..ChannelLimits::default()
    };
    let channels = channels();
    let candidates = [candidate(limited)];
    let (granted, most) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..2_000 {
                    let Ok(lease) = channels.choose(&candidates, &[], MonotonicTime(1)) else {
                        continue;
                    };
                    granted.fetch_add(1, Ordering::Relaxed);
                    let load = channels.load(&lease.candidate.channel);
                    most.fetch_max(load.in_flight().into(), Ordering::Relaxed);
                }
            });
        }
    });
    assert!(most.into_inner() <= 3);
    assert!(granted.into_inner() <= 2_000);
}
