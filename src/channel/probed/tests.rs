//! When a probe is sent, with which key, and what its answer changes.

use super::*;
use crate::catalog::channel::{HealthPolicy, SecretText};
use crate::channel::select::tests::{channel, channels};
use http::{HeaderValue, header};

const REFUSED: Result<(), Why> = Err(Why::CredentialRefused);

fn probed(keys: u64) -> Arc<Channel> {
    let mut channel = channel("a", 1, 0);
    channel.health = HealthPolicy {
        failures: 1,
        credential_cool_down: Duration::from_millis(500),
        probe: Some(Probe {
            every: Duration::from_secs(60),
            timeout: Duration::from_secs(5),
        }),
        ..HealthPolicy::default()
    };
    channel.credentials = (0..keys)
        .map(|key| Credential {
            name: header::AUTHORIZATION,
            value: HeaderValue::from_static("Bearer x"),
            secret: SecretText::new("x"),
            fingerprint: channel.fingerprint.wrapping_add(key + 1),
        })
        .collect();
    Arc::new(channel)
}

fn key_of(probing: Option<Probing>) -> Option<usize> {
    probing.expect("a probe is of use").key
}

#[test]
fn a_channel_that_just_served_a_request_is_not_probed() {
    let (channels, channel) = (channels(), probed(0));
    let now = Moment::now();
    assert!(channels.probe(&channel, 0, now).is_some());
    let candidates = [Candidate::bound_to(channel.clone())];
    let mut lease = channels.choose(&candidates, &[], now).expect("it is well");
    lease.tell(crate::channel::outcome::Outcome::Well);
    assert!(channels.probe(&channel, 0, Moment::now()).is_none());
    let later = Moment::now().after(Duration::from_secs(61));
    assert!(channels.probe(&channel, 0, later).is_some());
}

#[test]
fn a_channel_without_probes_is_not_probed() {
    let channel = Arc::new(channel("a", 1, 0));
    assert!(channels().probe(&channel, 0, Moment::now()).is_none());
}

#[test]
fn keys_are_probed_in_turn_and_one_that_is_refused_again_when_its_time_is_over() {
    let (channels, channel) = (channels(), probed(2));
    let now = Moment::now();
    for (turn, key) in [(0, 0), (1, 1), (2, 0), (usize::MAX, 1)] {
        assert_eq!(key_of(channels.probe(&channel, turn, now)), Some(key));
    }
    let refused = channels.probe(&channel, 0, now).expect("it is well");
    refused.tell(REFUSED);
    assert_eq!(key_of(channels.probe(&channel, 0, now)), Some(1));
    let later = Moment::now().after(Duration::from_secs(1));
    let first = channels
        .probe(&channel, 0, later)
        .expect("its time is over");
    assert_eq!(first.key, Some(0));
    let another = channels.probe(&channel, 0, later);
    assert_eq!(key_of(another), Some(1), "the first is being tried");
    first.tell(Ok(()));
    let fingerprint = channel.credentials[0].fingerprint;
    assert_eq!(channels.standing(fingerprint, later), Standing::Well);
}

#[test]
fn what_a_probe_finds_counts_for_the_channel_or_its_key_or_not_at_all() {
    for (found, whole, key) in [
        (Err(Why::Unreachable), false, true),
        (Err(Why::Silent), false, true),
        (Err(Why::ProviderError), false, true),
        (REFUSED, true, false),
        (Err(Why::Busy), true, true),
        (Ok(()), true, true),
    ] {
        let (channels, channel) = (channels(), probed(1));
        let now = Moment::now();
        let probing = channels.probe(&channel, 0, now).expect("it is well");
        probing.tell(found);
        let is_well = |fingerprint| channels.standing(fingerprint, now) == Standing::Well;
        let told = (
            is_well(channel.fingerprint),
            is_well(channel.credentials[0].fingerprint),
        );
        assert_eq!(told, (whole, key), "{found:?}");
    }
}
