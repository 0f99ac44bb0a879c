//! A DNS cache of providers' addresses. One task per host name refreshes its addresses before they expire.
//!
//! A request waits for a lookup only if the name is not in the cache. Names that are no longer used are removed.

use super::resolve::{HostResolver, ResolvedAddresses};
use headgate_core::state::calendar::whole_ms;
use headgate_observe::metrics::Metrics;
use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

/// The maximum number of addresses of a name; no deadline leaves time to try more.
const ADDRESSES_MAX: usize = 16;
/// How often the delay after a failed lookup is doubled at most.
const RETRY_DOUBLINGS_MAX: u32 = 5;

/// The label of hosts that metrics do not name.
const OTHER_HOST: &str = "other";

/// The intervals of the task that refreshes a name's addresses.
#[derive(Clone, Copy, Debug)]
pub struct DnsRefreshPolicy {
    /// The minimum time to live; shorter ones are raised to it.
    pub ttl_min: Duration,
    /// The maximum time to live; longer ones are lowered to it.
    pub ttl_max: Duration,
    /// The time to live of addresses that came without one.
    pub refresh: Duration,
    /// The delay after a failed lookup.
    pub retry: Duration,
    /// A name that was not used for this long is removed.
    pub idle: Duration,
    /// The maximum number of names; a further one takes the place of that which was not used for the longest time.
    pub names_max: usize,
    /// Whether operators name the hosts. Hosts that callers name are no metric label, and their failures no warning.
    pub is_configured: bool,
}

/// Addresses by host name.
#[derive(Clone)]
pub struct AddressCache {
    shared: Arc<AddressCacheInner>,
}

struct AddressCacheInner {
    resolver: Box<dyn HostResolver>,
    metrics: Arc<Metrics>,
    refresh_policy: DnsRefreshPolicy,
    began: Instant,
    names: RwLock<HashMap<Arc<str>, Arc<CachedName>>>,
}

struct CachedName {
    state: watch::Sender<HostAddressState>,
    /// The time of the last use, in milliseconds since `began`.
    last_used_at: AtomicU64,
    /// Notified when another name has taken its place.
    evicted: Notify,
}

#[derive(Clone)]
enum HostAddressState {
    /// The first lookup is in progress.
    Unknown,
    Known(Arc<[IpAddr]>),
    /// The last lookup failed, and none has succeeded before.
    Failed(io::ErrorKind, Arc<str>),
}

impl AddressCache {
    pub fn new(
        resolver: impl HostResolver + 'static,
        metrics: Arc<Metrics>,
        refresh_policy: DnsRefreshPolicy,
    ) -> Self {
        Self {
            shared: Arc::new(AddressCacheInner {
                resolver: Box::new(resolver),
                metrics,
                refresh_policy,
                began: Instant::now(),
                names: RwLock::default(),
            }),
        }
    }

    /// All addresses of `host`, with families interleaved. The allocation stays the same until the addresses change.
    ///
    /// # Errors
    /// Why the name does not resolve, if no lookup has succeeded.
    pub async fn lookup(&self, host: &Arc<str>) -> io::Result<Arc<[IpAddr]>> {
        // A literal needs no entry, and callers can write any number of them.
        if let Ok(literal) = host.parse::<IpAddr>() {
            return Ok(Arc::new([literal]));
        }
        let name = self.shared.name(host);
        let name =
            name.ok_or_else(|| io::Error::other("too many host names are being looked up"))?;
        name.last_used_at
            .store(self.shared.now(), Ordering::Relaxed);
        if let HostAddressState::Known(addresses) = &*name.state.borrow() {
            return Ok(addresses.clone());
        }
        let mut state = name.state.subscribe();
        let state = state
            .wait_for(|state| !matches!(state, HostAddressState::Unknown))
            .await
            .map_err(io::Error::other)?
            .clone();
        match state {
            HostAddressState::Known(addresses) => Ok(addresses),
            HostAddressState::Unknown => Err(io::Error::other("DNS lookup ended without a result")),
            HostAddressState::Failed(kind, reason) => Err(io::Error::new(kind, &*reason)),
        }
    }
}

impl AddressCacheInner {
    /// The cache entry of `host`. If there is none, it is created and a task starts to refresh it; `None` if there are
    /// too many names whose lookups are in progress.
    fn name(self: &Arc<Self>, host: &Arc<str>) -> Option<Arc<CachedName>> {
        let known = self.names.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(name) = known.get(host) {
            return Some(name.clone());
        }
        drop(known);
        let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
        if names.len() >= self.refresh_policy.names_max && !names.contains_key(host) {
            evict(&mut names)?;
        }
        let name = names.entry(host.clone()).or_insert_with(|| {
            let name = Arc::new(CachedName {
                state: watch::Sender::new(HostAddressState::Unknown),
                last_used_at: AtomicU64::new(self.now()),
                evicted: Notify::new(),
            });
            tokio::spawn(self.clone().refresh_until_idle(host.clone(), name.clone()));
            name
        });
        Some(name.clone())
    }

    /// Resolves `host` repeatedly until it is no longer used.
    async fn refresh_until_idle(self: Arc<Self>, host: Arc<str>, name: Arc<CachedName>) {
        let mut failures = 0;
        loop {
            let pause = match self.resolver.resolve(&host).await {
                Ok(resolution) => {
                    failures = 0;
                    self.resolved(&host, &name, resolution)
                }
                Err(error) => {
                    failures += 1;
                    self.record_failed_lookup(&host, &name, &error, failures)
                }
            };
            let looked_up_at = self.now();
            // An evicted name is looked up again when it is used again.
            let _ = timeout(pause, name.evicted.notified()).await;
            let last_used_at = name.last_used_at.load(Ordering::Relaxed);
            let is_idle = match *name.state.borrow() {
                HostAddressState::Known(_) => {
                    self.now() > last_used_at + whole_ms(self.refresh_policy.idle)
                }
                // A name that could not be resolved is resolved again only if it was used since the last lookup.
                HostAddressState::Unknown | HostAddressState::Failed(..) => {
                    last_used_at <= looked_up_at
                }
            };
            if self.is_evicted(&host, &name) {
                return;
            }
            if is_idle {
                let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
                if names
                    .get(&host)
                    .is_some_and(|kept| Arc::ptr_eq(kept, &name))
                {
                    names.remove(&host);
                }
                return;
            }
        }
    }

    /// Whether the entry is gone, also if the name has a new one.
    fn is_evicted(&self, host: &str, name: &Arc<CachedName>) -> bool {
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        !names.get(host).is_some_and(|kept| Arc::ptr_eq(kept, name))
    }

    /// Replaces the addresses; returns the time until the next lookup.
    fn resolved(&self, host: &str, name: &CachedName, resolution: ResolvedAddresses) -> Duration {
        self.metrics.count_dns_lookup(self.host_label(host), true);
        let ResolvedAddresses { addresses, ttl } = resolution;
        let DnsRefreshPolicy {
            ttl_min, ttl_max, ..
        } = self.refresh_policy;
        let addresses = interleaved(addresses);
        name.state.send_if_modified(|state| {
            if matches!(state, HostAddressState::Known(old) if same(old, &addresses)) {
                return false;
            }
            tracing::debug!(host, ?addresses, ?ttl, "DNS lookup succeeded");
            *state = HostAddressState::Known(addresses.into());
            true
        });
        ttl.map_or(self.refresh_policy.refresh, |ttl| {
            ttl.clamp(ttl_min, ttl_max)
        })
    }

    /// Keeps the addresses and counts the failure; returns the time until the next lookup.
    fn record_failed_lookup(
        &self,
        host: &str,
        name: &CachedName,
        error: &io::Error,
        failures: u32,
    ) -> Duration {
        self.metrics.count_dns_lookup(self.host_label(host), false);
        let known = matches!(*name.state.borrow(), HostAddressState::Known(_));
        match self.refresh_policy.is_configured {
            true => {
                tracing::warn!(host, %error, keeps_previous_addresses = known, "DNS lookup failed");
            }
            false => tracing::debug!(host, %error, "DNS lookup of a caller's URL failed"),
        }
        if known {
            // No request waits for this name, so the delay grows and spares name servers that fail.
            return self.refresh_policy.retry * 2u32.pow(failures.min(RETRY_DOUBLINGS_MAX));
        }
        name.state.send_replace(HostAddressState::Failed(
            error.kind(),
            error.to_string().into(),
        ));
        self.refresh_policy.retry
    }

    fn host_label<'h>(&self, host: &'h str) -> &'h str {
        match self.refresh_policy.is_configured {
            true => host,
            false => OTHER_HOST,
        }
    }

    fn now(&self) -> u64 {
        whole_ms(self.began.elapsed())
    }
}

impl Default for DnsRefreshPolicy {
    fn default() -> Self {
        Self {
            ttl_min: Duration::from_secs(1),
            ttl_max: Duration::from_secs(300),
            refresh: Duration::from_secs(30),
            retry: Duration::from_secs(1),
            idle: Duration::from_secs(3600),
            names_max: usize::MAX,
            is_configured: true,
        }
    }
}

/// Removes the name that was not used for the longest time; `None` if all of them are being looked up.
fn evict(names: &mut HashMap<Arc<str>, Arc<CachedName>>) -> Option<()> {
    let looked_up = names
        .iter()
        .filter(|(_, name)| !matches!(*name.state.borrow(), HostAddressState::Unknown));
    let (host, name) =
        looked_up.min_by_key(|(_, name)| name.last_used_at.load(Ordering::Relaxed))?;
    name.evicted.notify_one();
    let host = host.clone();
    names.remove(&host);
    Some(())
}

/// The addresses with families alternating, IPv6 first (RFC 8305, section 4).
fn interleaved(addresses: Vec<IpAddr>) -> Vec<IpAddr> {
    let (v6, v4): (Vec<_>, Vec<_>) = addresses.into_iter().partition(IpAddr::is_ipv6);
    let mut families = [v6.into_iter(), v4.into_iter()];
    let mut all = Vec::new();
    while all.len() < ADDRESSES_MAX {
        let before = all.len();
        for address in families.iter_mut().flat_map(|family| family.next()) {
            all.push(address);
        }
        if all.len() == before {
            break;
        }
    }
    all
}

/// Whether both lists contain the same addresses: name servers rotate the order with each response.
fn same(old: &[IpAddr], new: &[IpAddr]) -> bool {
    old.len() == new.len() && new.iter().all(|address| old.contains(address))
}

#[cfg(test)]
mod tests;
