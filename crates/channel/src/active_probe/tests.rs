//! Tests of active probes: when a probe is sent, with which credential, and what its result changes.

use super::*;
use crate::select::tests::{channel, channels};
use headgate_core::catalog::channel::HealthPolicy;
use http::{HeaderValue, header};

fn failed(reason: FailureReason) -> Result<(), AttemptFailure> {
    Err(AttemptFailure::new(reason))
}

fn probed(keys: u64) -> Arc<Channel> {
    let mut channel = channel("a", 1, 0);
    channel.health = HealthPolicy {
        consecutive_failures: 1,
        credential_cool_down: Duration::from_millis(500),
        probe: Some(ProbePolicy {
            interval: Duration::from_secs(60),
            timeout: Duration::from_secs(5),
        }),
        ..HealthPolicy::default()
    };
    channel.credentials = (0..keys)
        .map(|key| {
            Credential::header(
                header::AUTHORIZATION,
                HeaderValue::from_static("Bearer x"),
                "x",
                channel.fingerprint.wrapping_add(key + 1),
            )
        })
        .collect();
    Arc::new(channel)
}

fn probed_key(probing: Option<ProbeAttempt>) -> Option<usize> {
    probing.expect("a probe is of use").key
}

#[test]
fn a_channel_that_just_served_a_request_is_not_probed() {
    let (channels, channel) = (channels(), probed(0));
    let now = MonotonicTime::now();
    assert!(channels.probe(&channel, 0, now).is_some());
    let candidates = [Candidate::bound_to(channel.clone(), None)];
    let mut lease = channels.choose(&candidates, &[], now).expect("it is well");
    lease.report(crate::outcome::AttemptOutcome::Success, "req_1");
    assert!(channels.probe(&channel, 0, MonotonicTime::now()).is_none());
    let later = MonotonicTime::now().after(Duration::from_secs(61));
    assert!(channels.probe(&channel, 0, later).is_some());
}

#[test]
fn a_channel_without_probes_is_not_probed() {
    let channel = Arc::new(channel("a", 1, 0));
    assert!(
        channels()
            .probe(&channel, 0, MonotonicTime::now())
            .is_none()
    );
}

#[test]
fn credentials_are_probed_in_turn_and_a_refused_one_after_its_cool_down() {
    let (channels, channel) = (channels(), probed(2));
    let now = MonotonicTime::now();
    for (turn, key) in [(0, 0), (1, 1), (2, 0), (usize::MAX, 1)] {
        assert_eq!(probed_key(channels.probe(&channel, turn, now)), Some(key));
    }
    let refused = channels.probe(&channel, 0, now).expect("it is well");
    refused.report(failed(FailureReason::RefusedCredential), "req_1");
    assert_eq!(probed_key(channels.probe(&channel, 0, now)), Some(1));
    let later = MonotonicTime::now().after(Duration::from_secs(1));
    let first = channels
        .probe(&channel, 0, later)
        .expect("its time is over");
    assert_eq!(first.key, Some(0));
    let another = channels.probe(&channel, 0, later);
    assert_eq!(probed_key(another), Some(1), "the first is being tried");
    first.report(Ok(()), "req_1");
    let fingerprint = channel.credentials[0].fingerprint;
    assert_eq!(channels.status(fingerprint, later), HealthStatus::Healthy);
}

#[test]
fn a_probe_result_counts_for_the_channel_or_the_credential_or_neither() {
    for (found, whole, key) in [
        (failed(FailureReason::ConnectError), false, true),
        (failed(FailureReason::Timeout), false, true),
        (failed(FailureReason::ServerError), false, true),
        (failed(FailureReason::RefusedCredential), true, false),
        (failed(FailureReason::RateLimited), true, true),
        (Ok(()), true, true),
    ] {
        let (channels, channel) = (channels(), probed(1));
        let now = MonotonicTime::now();
        let probing = channels.probe(&channel, 0, now).expect("it is well");
        probing.report(found, "req_1");
        let is_healthy = |fingerprint| channels.status(fingerprint, now) == HealthStatus::Healthy;
        let reported = (
            is_healthy(channel.fingerprint),
            is_healthy(channel.credentials[0].fingerprint),
        );
        assert_eq!(reported, (whole, key), "{found:?}");
    }
}
