//! Tests of cool-downs: when they begin, how long they are, and how they end.

use super::*;
use headgate_core::catalog::channel::ProbePolicy;

const POLICY: HealthPolicy = HealthPolicy {
    consecutive_failures: 3,
    failure_percent: 50,
    cool_down: Duration::from_secs(1),
    cool_down_max: Duration::from_secs(10),
    credential_cool_down: Duration::from_secs(60),
    probe: None,
};

fn failure(reason: FailureReason, retry_after: Option<Duration>) -> AttemptFailure {
    AttemptFailure {
        retry_after,
        ..AttemptFailure::new(reason)
    }
}

fn fail(
    health: &HealthTracker,
    now: u64,
    permit: HealthPermit,
    reason: FailureReason,
) -> Option<Duration> {
    fail_with(health, now, permit, &failure(reason, None))
}

/// The length of the cool-down that a failure under [`POLICY`] starts, without jitter.
fn fail_with(
    health: &HealthTracker,
    now: u64,
    permit: HealthPermit,
    failure: &AttemptFailure,
) -> Option<Duration> {
    health
        .record_failure(MonotonicTime(now), permit, &POLICY, failure, "req_1", 0.0)
        .map(|cooled| cooled.span)
}

#[test]
fn consecutive_failures_start_a_cool_down_and_a_success_resets_the_count() {
    let health = HealthTracker::default();
    let fails = || {
        fail(
            &health,
            0,
            HealthPermit::Normal,
            FailureReason::ConnectionClosed,
        )
    };
    assert_eq!((fails(), fails()), (None, None));
    health.record_success(MonotonicTime(0), HealthPermit::Normal);
    assert_eq!((fails(), fails()), (None, None));
    assert_eq!(fails(), Some(Duration::from_secs(1)));
    assert_eq!(health.try_use(MonotonicTime(999)), None);
}

#[test]
fn half_open_admits_one_request_at_a_time() {
    let health = HealthTracker::default();
    fail(&health, 0, HealthPermit::Normal, FailureReason::RateLimited);
    assert_eq!(
        health.status(MonotonicTime(1_000)),
        HealthStatus::HalfOpen {
            reason: FailureReason::RateLimited
        }
    );
    assert_eq!(
        health.try_use(MonotonicTime(1_000)),
        Some(HealthPermit::HalfOpenTrial)
    );
    assert_eq!(health.try_use(MonotonicTime(1_000)), None);
    health.release_trial(HealthPermit::HalfOpenTrial);
    assert_eq!(
        health.try_use(MonotonicTime(1_000)),
        Some(HealthPermit::HalfOpenTrial)
    );
    assert!(health.record_success(MonotonicTime(1_001), HealthPermit::HalfOpenTrial));
    assert_eq!(
        health.try_use(MonotonicTime(1_001)),
        Some(HealthPermit::Normal)
    );
}

#[test]
fn each_further_cool_down_is_twice_as_long_up_to_the_longest() {
    let health = HealthTracker::default();
    let mut now = 0;
    let mut permit = HealthPermit::Normal;
    for seconds in [1, 2, 4, 8, 10, 10] {
        let span = fail(&health, now, permit, FailureReason::RateLimited).unwrap();
        assert_eq!(span, Duration::from_secs(seconds));
        now += seconds * 1000;
        permit = health.try_use(MonotonicTime(now)).unwrap();
        assert_eq!(permit, HealthPermit::HalfOpenTrial);
    }
    health.record_success(MonotonicTime(now), permit);
    assert_eq!(
        fail(
            &health,
            now,
            HealthPermit::Normal,
            FailureReason::RateLimited
        ),
        Some(Duration::from_secs(1))
    );
}

#[test]
fn retry_after_sets_the_length_of_the_cool_down() {
    let health = HealthTracker::default();
    let retry_after = Some(Duration::from_secs(30));
    fail_with(
        &health,
        0,
        HealthPermit::Normal,
        &failure(FailureReason::RateLimited, retry_after),
    );
    assert_eq!(health.try_use(MonotonicTime(29_999)), None);
    assert_eq!(
        health.try_use(MonotonicTime(30_000)),
        Some(HealthPermit::HalfOpenTrial)
    );
    let retry_after = Some(Duration::from_secs(1_000_000));
    let cooled = fail_with(
        &health,
        30_000,
        HealthPermit::HalfOpenTrial,
        &failure(FailureReason::RateLimited, retry_after),
    );
    assert_eq!(cooled, Some(RETRY_AFTER_MAX));
}

#[test]
fn a_refused_credential_cools_down_for_longer() {
    let health = HealthTracker::default();
    let span = fail(
        &health,
        0,
        HealthPermit::Normal,
        FailureReason::RefusedCredential,
    );
    assert_eq!(span, Some(Duration::from_secs(60)));
}

#[test]
fn a_sole_refused_credential_is_retried_within_seconds_with_growing_cool_downs() {
    let policy = policy_of_sole_credential(POLICY);
    let health = HealthTracker::default();
    let (mut now, mut permit) = (0, HealthPermit::Normal);
    for seconds in [2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600] {
        let reason = FailureReason::RefusedCredential;
        let cooled = health.record_failure(
            MonotonicTime(now),
            permit,
            &policy,
            &failure(reason, None),
            "req_1",
            0.0,
        );
        assert_eq!(cooled.unwrap().span, Duration::from_secs(seconds));
        now += seconds * 1000;
        permit = health.try_use(MonotonicTime(now)).unwrap();
    }
    health.record_success(MonotonicTime(now), permit);
    let cooled = health.record_failure(
        MonotonicTime(now),
        HealthPermit::Normal,
        &policy,
        &failure(FailureReason::RefusedAccount, None),
        "req_1",
        0.0,
    );
    assert_eq!(cooled.unwrap().span, Duration::from_secs(2));
    let shorter = HealthPolicy {
        credential_cool_down: Duration::from_millis(500),
        ..POLICY
    };
    assert_eq!(policy_of_sole_credential(shorter), shorter);
}

#[test]
fn a_failure_rate_starts_a_cool_down_too() {
    let health = HealthTracker::default();
    let mut cooled = None;
    for request in 0..FAILURE_WINDOW_REQUESTS_MIN {
        match request % 2 {
            0 => drop(health.record_success(MonotonicTime(0), HealthPermit::Normal)),
            _ => cooled = fail(&health, 0, HealthPermit::Normal, FailureReason::ServerError),
        }
    }
    assert!(cooled.is_some());
}

#[test]
fn a_response_to_an_earlier_request_does_not_end_the_cool_down() {
    let health = HealthTracker::default();
    fail(&health, 0, HealthPermit::Normal, FailureReason::RateLimited);
    assert!(!health.record_success(MonotonicTime(10), HealthPermit::Normal));
    assert_eq!(health.try_use(MonotonicTime(10)), None);
    assert_eq!(
        fail(
            &health,
            10,
            HealthPermit::Normal,
            FailureReason::ConnectionClosed
        ),
        None
    );
    assert_eq!(
        health.try_use(MonotonicTime(1_000)),
        Some(HealthPermit::HalfOpenTrial)
    );
}

#[test]
fn jitter_only_shortens_a_cool_down() {
    for jitter in [0.0, 0.5, 1.0] {
        let health = HealthTracker::default();
        let cooled = health.record_failure(
            MonotonicTime(0),
            HealthPermit::Normal,
            &POLICY,
            &failure(FailureReason::RateLimited, None),
            "req_1",
            jitter,
        );
        let span = cooled.unwrap().span.as_millis();
        assert!((800..=1000).contains(&span), "{span}");
    }
}

#[test]
fn a_probe_ends_a_cool_down_unless_retry_after_or_a_refused_credential_set_it() {
    let retry_after = Some(Duration::from_secs(5));
    for (reason, retry_after, ends) in [
        (FailureReason::RateLimited, None, true),
        (FailureReason::RateLimited, retry_after, false),
        (FailureReason::RefusedCredential, None, false),
    ] {
        let health = HealthTracker::default();
        fail_with(
            &health,
            0,
            HealthPermit::Normal,
            &failure(reason, retry_after),
        );
        assert_eq!(
            health.record_probe_success(MonotonicTime(10)),
            ends,
            "{reason:?} {retry_after:?}"
        );
        assert_eq!(
            health.status(MonotonicTime(10)) == HealthStatus::Healthy,
            ends
        );
    }
    assert!(
        !HealthTracker::default().record_probe_success(MonotonicTime(0)),
        "it was well before"
    );
}

#[test]
fn no_request_is_the_trial_while_probes_fail() {
    let probe = ProbePolicy {
        interval: Duration::from_secs(10),
        timeout: Duration::from_secs(2),
    };
    let policy = HealthPolicy {
        probe: Some(probe),
        ..POLICY
    }
    .for_channel();
    let health = HealthTracker::default();
    let mut cooled = 0;
    // Three failures in a row start the cool-down; each further response arrives as late as possible.
    for count in 0..20 {
        let now = MonotonicTime(count * 13_000);
        if count > 3 {
            assert_eq!(health.try_use(now), None, "{now:?}");
        }
        let failed = health.record_probe_failure(
            now,
            &policy,
            &failure(FailureReason::ConnectError, None),
            "req_1",
            1.0,
        );
        cooled += u32::from(failed.is_some());
    }
    assert_eq!(cooled, 1, "it is one cool-down");
    assert!(health.record_probe_success(MonotonicTime(260_000)));
    assert_eq!(
        health.try_use(MonotonicTime(260_000)),
        Some(HealthPermit::Normal)
    );
}

#[test]
fn a_stale_success_does_not_end_a_later_cool_down() {
    let health = HealthTracker::default();
    fail(
        &health,
        0,
        HealthPermit::Normal,
        FailureReason::ConnectionClosed,
    );
    let retry_after = Some(Duration::from_secs(300));
    fail_with(
        &health,
        0,
        HealthPermit::Normal,
        &failure(FailureReason::RateLimited, retry_after),
    );
    assert!(!health.record_success(MonotonicTime(10), HealthPermit::LastResort));
    assert_eq!(health.try_use(MonotonicTime(299_999)), None);
}

#[test]
fn the_report_has_the_beginning_the_end_and_the_last_error_of_what_is_not_healthy() {
    let health = HealthTracker::default();
    assert_eq!(health.report(MonotonicTime(0)), HealthReport::healthy());
    fail(&health, 0, HealthPermit::Normal, FailureReason::RateLimited);
    let cooling = health.report(MonotonicTime(1));
    let since = cooling.since.unwrap();
    assert_eq!(cooling.status.name(), "cooling_down");
    assert_eq!(cooling.until, Some(since + Duration::from_secs(1)));

    // The trial fails: another cool-down of the same trouble.
    let trial = health.try_use(MonotonicTime(1_000)).unwrap();
    let tested = health.report(MonotonicTime(1_000));
    assert_eq!(
        (tested.status.name(), tested.since, tested.until),
        ("half_open", Some(since), None)
    );
    fail(&health, 1_500, trial, FailureReason::Timeout);
    let again = health.report(MonotonicTime(1_500));
    assert_eq!(again.since, Some(since));
    assert_eq!(again.until, Some(since + Duration::from_millis(3_500)));
    let last = again.last_error.clone().unwrap();
    assert_eq!(
        (last.reason, &*last.request_id),
        (FailureReason::Timeout, "req_1")
    );

    let half_open = health.report(MonotonicTime(3_500));
    assert_eq!(half_open.status.name(), "half_open");
    let trial = health.try_use(MonotonicTime(3_500)).unwrap();
    assert!(health.record_success(MonotonicTime(3_501), trial));
    let recovered = health.report(MonotonicTime(3_501));
    let expected = HealthReport {
        last_error: Some(last),
        ..HealthReport::healthy()
    };
    assert_eq!(recovered, expected);
}

#[test]
fn a_refused_credential_is_unhealthy_until_its_cool_down_is_over() {
    for reason in [
        FailureReason::RefusedCredential,
        FailureReason::RefusedAccount,
    ] {
        let health = HealthTracker::default();
        fail(&health, 0, HealthPermit::Normal, reason);
        let name_at = |at| health.status(MonotonicTime(at)).name();
        assert_eq!(
            (name_at(59_999), name_at(60_000)),
            ("unhealthy", "half_open")
        );
    }
}
