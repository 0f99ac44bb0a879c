//! Limits how often invalid keys can be tried from one address.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Invalid keys of one address in a window; then its keys are not looked at until the window ends.
const FAILURES_MAX: u32 = 10;
const WINDOW: Duration = Duration::from_secs(60);
/// The maximum number of addresses; a new one replaces the one with the oldest window.
const ADDRESSES_MAX: usize = 1_024;

/// Invalid keys by the address of the client; an IPv6 network of 64 bits counts as one address.
#[derive(Default)]
pub(super) struct FailedKeyCounts {
    by_address: Mutex<HashMap<IpAddr, FailureWindow>>,
}

struct FailureWindow {
    since: Instant,
    failures: u32,
}

impl FailedKeyCounts {
    /// How long the client has to wait before its keys are looked at; `None` if it need not.
    pub fn wait(&self, client: Option<SocketAddr>, now: Instant) -> Option<Duration> {
        let counts = self.lock();
        let window = counts.get(&client_network(client))?;
        let left = WINDOW.checked_sub(now.duration_since(window.since))?;
        (window.failures >= FAILURES_MAX).then_some(left)
    }

    /// Counts an invalid key.
    pub fn record(&self, client: Option<SocketAddr>, now: Instant) {
        let address = client_network(client);
        let mut counts = self.lock();
        if !counts.contains_key(&address) && counts.len() >= ADDRESSES_MAX {
            let oldest = counts.iter().min_by_key(|(_, window)| window.since);
            if let Some(oldest) = oldest.map(|(address, _)| *address) {
                counts.remove(&oldest);
            }
        }
        let new = || FailureWindow {
            since: now,
            failures: 0,
        };
        let window = counts.entry(address).or_insert_with(new);
        if now.duration_since(window.since) >= WINDOW {
            *window = new();
        }
        window.failures = window.failures.saturating_add(1);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, FailureWindow>> {
        self.by_address
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn client_network(client: Option<SocketAddr>) -> IpAddr {
    let address = client.map_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED), |client| client.ip());
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from(u128::from(address) >> 64 << 64).into(),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_waits_after_too_many_failures_and_the_others_do_not() {
        let (counts, now) = (FailedKeyCounts::default(), Instant::now());
        let client = |text: &str| Some(text.parse().unwrap());
        for _ in 0..FAILURES_MAX {
            assert_eq!(counts.wait(client("[2001:db8::1]:1"), now), None);
            counts.record(client("[2001:db8::1]:1"), now);
        }
        let later = now + Duration::from_secs(20);
        let left = Some(Duration::from_secs(40));
        assert_eq!(counts.wait(client("[2001:db8::ffff]:2"), later), left);
        for other in ["[2001:db8:0:1::1]:1", "10.0.0.1:1"] {
            assert_eq!(counts.wait(client(other), later), None);
        }
        let after = now + WINDOW + Duration::from_millis(1);
        assert_eq!(counts.wait(client("[2001:db8::1]:1"), after), None);
        counts.record(client("[2001:db8::1]:1"), after);
        assert_eq!(counts.wait(client("[2001:db8::1]:1"), after), None);
    }

    #[test]
    fn the_number_of_addresses_is_bounded() {
        let (counts, now) = (FailedKeyCounts::default(), Instant::now());
        for index in 0..ADDRESSES_MAX as u32 + 10 {
            let address = IpAddr::V4(index.into());
            counts.record(Some((address, 1).into()), now);
        }
        assert_eq!(counts.lock().len(), ADDRESSES_MAX);
    }
}
