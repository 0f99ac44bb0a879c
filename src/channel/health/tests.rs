//! Cool-downs: when they begin, how long they are, and how they end.

use super::*;
use crate::catalog::channel::Probe;

const POLICY: HealthPolicy = HealthPolicy {
    failures: 3,
    failure_percent: 50,
    cool_down: Duration::from_secs(1),
    cool_down_max: Duration::from_secs(10),
    credential_cool_down: Duration::from_secs(60),
    probe: None,
};

fn fail(health: &Health, now: u64, leave: Leave, why: Why) -> Option<Duration> {
    health
        .failed(Moment(now), leave, &POLICY, why, None, 0.0)
        .map(|cooled| cooled.span)
}

#[test]
fn failures_in_a_row_cool_it_down_and_one_success_between_does_not() {
    let health = Health::default();
    assert_eq!(fail(&health, 0, Leave::Free, Why::Broken), None);
    assert_eq!(fail(&health, 0, Leave::Free, Why::Broken), None);
    health.well(Moment(0), Leave::Free);
    assert_eq!(fail(&health, 0, Leave::Free, Why::Broken), None);
    assert_eq!(fail(&health, 0, Leave::Free, Why::Broken), None);
    let span = fail(&health, 0, Leave::Free, Why::Broken);
    assert_eq!(span, Some(Duration::from_secs(1)));
    assert_eq!(health.ask(Moment(999)), None);
}

#[test]
fn one_request_at_a_time_tries_it_again() {
    let health = Health::default();
    fail(&health, 0, Leave::Free, Why::Busy);
    assert_eq!(
        health.standing(Moment(1_000)),
        Standing::OnProbation { why: Why::Busy }
    );
    assert_eq!(health.ask(Moment(1_000)), Some(Leave::Probe));
    assert_eq!(health.ask(Moment(1_000)), None);
    health.untold(Leave::Probe);
    assert_eq!(health.ask(Moment(1_000)), Some(Leave::Probe));
    assert!(health.well(Moment(1_001), Leave::Probe));
    assert_eq!(health.ask(Moment(1_001)), Some(Leave::Free));
}

#[test]
fn each_further_cool_down_is_twice_as_long_up_to_the_longest() {
    let health = Health::default();
    let mut now = 0;
    let mut leave = Leave::Free;
    for seconds in [1, 2, 4, 8, 10, 10] {
        let span = fail(&health, now, leave, Why::Busy).unwrap();
        assert_eq!(span, Duration::from_secs(seconds));
        now += seconds * 1000;
        leave = health.ask(Moment(now)).unwrap();
        assert_eq!(leave, Leave::Probe);
    }
    health.well(Moment(now), leave);
    assert_eq!(
        fail(&health, now, Leave::Free, Why::Busy),
        Some(Duration::from_secs(1))
    );
}

#[test]
fn a_provider_that_names_a_time_is_left_alone_for_that_time() {
    let health = Health::default();
    let asked = Some(Duration::from_secs(30));
    health.failed(Moment(0), Leave::Free, &POLICY, Why::Busy, asked, 0.0);
    assert_eq!(health.ask(Moment(29_999)), None);
    assert_eq!(health.ask(Moment(30_000)), Some(Leave::Probe));
    let asked = Some(Duration::from_secs(1_000_000));
    let cooled = health.failed(Moment(30_000), Leave::Probe, &POLICY, Why::Busy, asked, 0.0);
    assert_eq!(cooled.unwrap().span, ASKED_MAX);
}

#[test]
fn a_refused_key_is_left_alone_for_longer() {
    let health = Health::default();
    let span = fail(&health, 0, Leave::Free, Why::CredentialRefused);
    assert_eq!(span, Some(Duration::from_secs(60)));
}

#[test]
fn a_refused_key_that_serves_alone_is_tried_within_seconds_and_then_ever_later() {
    let policy = of_sole_credential(POLICY);
    let health = Health::default();
    let (mut now, mut leave) = (0, Leave::Free);
    for seconds in [2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600] {
        let why = Why::CredentialRefused;
        let cooled = health.failed(Moment(now), leave, &policy, why, None, 0.0);
        assert_eq!(cooled.unwrap().span, Duration::from_secs(seconds));
        now += seconds * 1000;
        leave = health.ask(Moment(now)).unwrap();
    }
    health.well(Moment(now), leave);
    let cooled = health.failed(
        Moment(now),
        Leave::Free,
        &policy,
        Why::AccountRefused,
        None,
        0.0,
    );
    assert_eq!(cooled.unwrap().span, Duration::from_secs(2));
    let shorter = HealthPolicy {
        credential_cool_down: Duration::from_millis(500),
        ..POLICY
    };
    assert_eq!(of_sole_credential(shorter), shorter);
}

#[test]
fn a_share_of_failures_cools_it_down_too() {
    let health = Health::default();
    let mut cooled = None;
    for request in 0..RECENT_REQUESTS_MIN {
        match request % 2 {
            0 => drop(health.well(Moment(0), Leave::Free)),
            _ => cooled = fail(&health, 0, Leave::Free, Why::ProviderError),
        }
    }
    assert!(cooled.is_some());
}

#[test]
fn what_was_asked_before_it_failed_changes_nothing() {
    let health = Health::default();
    fail(&health, 0, Leave::Free, Why::Busy);
    assert!(!health.well(Moment(10), Leave::Free));
    assert_eq!(health.ask(Moment(10)), None);
    assert_eq!(fail(&health, 10, Leave::Free, Why::Broken), None);
    assert_eq!(health.ask(Moment(1_000)), Some(Leave::Probe));
}

#[test]
fn jitter_only_shortens() {
    for jitter in [0.0, 0.5, 1.0] {
        let health = Health::default();
        let cooled = health.failed(Moment(0), Leave::Free, &POLICY, Why::Busy, None, jitter);
        let span = cooled.unwrap().span.as_millis();
        assert!((800..=1000).contains(&span), "{span}");
    }
}

#[test]
fn a_probe_ends_a_cool_down_unless_the_provider_named_a_time_or_refused_a_key() {
    let asked = Some(Duration::from_secs(5));
    for (why, asked, ends) in [
        (Why::Busy, None, true),
        (Why::Busy, asked, false),
        (Why::CredentialRefused, None, false),
    ] {
        let health = Health::default();
        health.failed(Moment(0), Leave::Free, &POLICY, why, asked, 0.0);
        assert_eq!(health.probed_well(Moment(10)), ends, "{why:?} {asked:?}");
        assert_eq!(health.standing(Moment(10)) == Standing::Well, ends);
    }
    assert!(
        !Health::default().probed_well(Moment(0)),
        "it was well before"
    );
}

#[test]
fn what_is_probed_is_never_tried_by_a_request_while_its_probes_fail() {
    let probe = Probe {
        every: Duration::from_secs(10),
        timeout: Duration::from_secs(2),
    };
    let policy = HealthPolicy {
        probe: Some(probe),
        ..POLICY
    }
    .of_whole_channel();
    let health = Health::default();
    let mut cooled = 0;
    // Three in a row are enough; each further answer comes as late as can be.
    for count in 0..20 {
        let now = Moment(count * 13_000);
        if count > 3 {
            assert_eq!(health.ask(now), None, "{now:?}");
        }
        let failed = health.probe_failed(now, &policy, Why::Unreachable, 1.0);
        cooled += u32::from(failed.is_some());
    }
    assert_eq!(cooled, 1, "it is one cool-down");
    assert!(health.probed_well(Moment(260_000)));
    assert_eq!(health.ask(Moment(260_000)), Some(Leave::Free));
}

#[test]
fn an_old_use_does_not_undo_what_was_learned_since() {
    let health = Health::default();
    fail(&health, 0, Leave::Free, Why::Broken);
    let asked = Some(Duration::from_secs(300));
    health.failed(Moment(0), Leave::Free, &POLICY, Why::Busy, asked, 0.0);
    assert!(!health.well(Moment(10), Leave::LastResort));
    assert_eq!(health.ask(Moment(299_999)), None);
}
