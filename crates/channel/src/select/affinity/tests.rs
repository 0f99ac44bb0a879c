//! Tests of affinity in a simulation: own channels, spills by load and by caller, cool-downs, failovers.

use super::*;
use crate::balancing::LoadBalancing;
use crate::lease::ChannelLease;
use crate::outcome::{AttemptOutcome, FailureReason};
use crate::select::tests::{candidate, channel, channels};
use headgate_core::catalog::affinity::AffinitySecret;
use std::collections::BTreeMap;

const FACTOR: u16 = 150;

fn four(weights: [u16; 4]) -> Vec<Candidate> {
    let names = ["a", "b", "c", "d"].into_iter().zip(weights);
    names
        .map(|(name, weight)| candidate(channel(name, weight, 0)))
        .collect()
}

/// A request of a session of `caller`.
fn session(caller: &str, number: u32) -> LoadBalancing {
    let secret = AffinitySecret::new(b"a secret of the fleet");
    let mut hasher = secret.hasher("m", Some(caller));
    hasher.add(&number.to_be_bytes());
    LoadBalancing {
        affinity: Some(Box::new(RequestAffinity {
            key: hasher.finish(),
            caller: Some(caller.into()),
            balance_factor: FACTOR,
        })),
        ..LoadBalancing::default()
    }
}

fn lease(
    channels: &Arc<ChannelStates>,
    request: &LoadBalancing,
    candidates: &[Candidate],
    tried: &[Arc<str>],
) -> ChannelLease {
    let now = MonotonicTime::now();
    let chosen = channels.choose_balanced(request, candidates, tried, now);
    chosen.expect("a channel is usable")
}

fn name(lease: &ChannelLease) -> String {
    lease.candidate.channel.name.to_string()
}

/// The number of leases by channel.
fn by_channel(leases: &[ChannelLease]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for lease in leases {
        *counts.entry(name(lease)).or_default() += 1;
    }
    counts
}

/// A session whose own channel is `wanted`.
fn session_for(wanted: &str, channels: &Arc<ChannelStates>, candidates: &[Candidate]) -> u32 {
    let mut sessions = 0..1_000;
    let found = sessions.find(|number| {
        let request = session("ann", *number);
        name(&lease(channels, &request, candidates, &[])) == wanted
    });
    found.expect("each channel has sessions")
}

#[test]
fn a_session_stays_and_sessions_are_shared_by_weight() {
    let (channels, candidates) = (channels(), four([4, 2, 1, 1]));
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for number in 0..8_000 {
        let request = session("ann", number);
        let first = lease(&channels, &request, &candidates, &[]);
        assert_eq!(first.affinity, Some(AffinityOutcome::Own));
        *counts.entry(name(&first)).or_default() += 1;
        drop(first);
        let again = lease(&channels, &request, &candidates, &[]);
        assert_eq!(again.affinity, Some(AffinityOutcome::Own));
    }
    for (channel, expected) in [("a", 4_000), ("b", 2_000), ("c", 1_000), ("d", 1_000)] {
        assert!(counts[channel].abs_diff(expected) < 200, "{counts:?}");
    }
}

#[test]
fn a_channel_above_its_share_of_the_load_spills() {
    let (channels, candidates) = (channels(), four([1; 4]));
    // Requests of many callers, so that no caller is above its own share.
    let held: Vec<ChannelLease> = (0..400)
        .map(|number| {
            let request = session(&format!("caller {number}"), 0);
            lease(&channels, &request, &candidates, &[])
        })
        .collect();
    for (channel, count) in by_channel(&held) {
        assert!((50..=150).contains(&count), "{channel}: {count}");
    }
    // One session alone fills its channel up to the factor times its share, and goes back once there is room.
    let busy = session("ann", 1);
    let own = name(&lease(&channels, &busy, &candidates, &[]));
    drop(held);
    let others: Vec<ChannelLease> = (0..40)
        .map(|number| {
            let mut request = session("ann", 1);
            if let Some(affinity) = &mut request.affinity {
                affinity.caller = Some(format!("caller {number}").into());
            }
            lease(&channels, &request, &candidates, &[])
        })
        .collect();
    let counts = by_channel(&others);
    assert_eq!(counts[&own], 15, "{counts:?}");
    let spilled = others
        .iter()
        .filter(|one| one.affinity == Some(AffinityOutcome::Spilled));
    assert_eq!(spilled.count(), 25);
    drop(others);
    let back = lease(&channels, &busy, &candidates, &[]);
    assert_eq!(
        (name(&back), back.affinity),
        (own, Some(AffinityOutcome::Own))
    );
}

#[test]
fn a_caller_cannot_aim_its_sessions_at_one_channel() {
    let (channels, candidates) = (channels(), four([1; 4]));
    // Others keep the load of all channels so high that no channel is above its share.
    let others: Vec<ChannelLease> = (0..400)
        .map(|number| {
            let request = session(&format!("caller {number}"), 0);
            lease(&channels, &request, &candidates, &[])
        })
        .collect();
    let aimed: Vec<u32> = {
        let is_of_a = |number: &u32| {
            let request = session("ann", *number);
            let affinity = request.affinity.as_deref().unwrap();
            &*own_candidate(affinity, &candidates).unwrap().channel.name == "a"
        };
        (0..).filter(is_of_a).take(40).collect()
    };
    let held: Vec<ChannelLease> = aimed
        .iter()
        .map(|number| lease(&channels, &session("ann", *number), &candidates, &[]))
        .collect();
    let counts = by_channel(&held);
    assert!(counts["a"] <= 15, "{counts:?}");
    drop((others, held));
    assert_eq!(channels.caller_loads.counts("ann"), []);
}

#[test]
fn a_session_leaves_a_channel_in_cool_down_and_comes_back() {
    let (channels, candidates) = (channels(), four([1; 4]));
    let number = session_for("a", &channels, &candidates);
    let request = session("ann", number);
    let staying = session("ann", session_for("b", &channels, &candidates));
    let mut failing = lease(&channels, &request, &candidates, &[]);
    failing.report(AttemptOutcome::failure(FailureReason::RateLimited), "req_1");
    drop(failing);
    let mut next = Vec::new();
    for _ in 0..3 {
        let elsewhere = lease(&channels, &request, &candidates, &[]);
        assert_eq!(elsewhere.affinity, Some(AffinityOutcome::CoolingDown));
        next.push(name(&elsewhere));
        let stayed = lease(&channels, &staying, &candidates, &[]);
        assert_eq!(stayed.affinity, Some(AffinityOutcome::Own));
    }
    next.dedup();
    assert_eq!(next.len(), 1, "the session moves once: {next:?}");
    let model = candidates[0].model_fingerprint();
    for fingerprint in [Some(candidates[0].channel.fingerprint), model] {
        let health = fingerprint.and_then(|fingerprint| channels.health(fingerprint));
        health.map(|health| health.reset());
    }
    let back = lease(&channels, &request, &candidates, &[]);
    assert_eq!(back.affinity, Some(AffinityOutcome::Own));
}

#[test]
fn further_attempts_go_on_in_the_order_of_the_session() {
    let (channels, candidates) = (channels(), four([1; 4]));
    for number in 0..20 {
        let request = session("ann", number);
        let (mut tried, mut order) = (Vec::new(), Vec::new());
        for _ in 0..4 {
            let attempt = lease(&channels, &request, &candidates, &tried);
            let expected = match tried.is_empty() {
                true => AffinityOutcome::Own,
                false => AffinityOutcome::FailedOver,
            };
            assert_eq!(attempt.affinity, Some(expected));
            tried.push(attempt.candidate.channel.name.clone());
            order.push(attempt.candidate.channel.name.to_string());
        }
        // Without its first channel the session goes to its second one from the start.
        let rest: Vec<Candidate> = candidates
            .iter()
            .filter(|one| *one.channel.name != *order[0])
            .cloned()
            .collect();
        assert_eq!(name(&lease(&channels, &request, &rest, &[])), order[1]);
    }
}

#[test]
fn an_id_precedes_affinity_and_a_higher_tier_waits_for_its_turn() {
    let channels = channels();
    let mut candidates = four([1; 4]);
    let other = session("ann", session_for("a", &channels, &candidates));
    for candidate in &mut candidates {
        candidate.is_preferred = &*candidate.channel.name == "d";
    }
    candidates.sort_by_key(Candidate::rank);
    let bound = lease(&channels, &other, &candidates, &[]);
    assert_eq!((&*name(&bound), bound.affinity), ("d", None));
    let mut tiers = four([1; 4]);
    tiers.push(candidate(channel("last", 1, 1)));
    for number in 0..100 {
        let lease = lease(&channels, &session("ann", number), &tiers, &[]);
        assert_ne!(name(&lease), "last");
    }
    let all = ["a", "b", "c", "d"].map(Arc::from);
    let last = lease(&channels, &other, &tiers, &all);
    assert_eq!(
        (&*name(&last), last.affinity),
        ("last", Some(AffinityOutcome::FailedOver))
    );
}
