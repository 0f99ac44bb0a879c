//! The provider's side: addresses, peers, and one connection pool per channel and credential.

mod body_conversion;
pub(super) mod body_kind;
pub(super) mod bounded_body;
pub(super) mod bucket;
mod budgeted_body;
pub(super) mod client;
mod connection;
mod credential_wait;
mod decoded_response;
mod dial;
mod egress_url;
pub(super) mod fetch;
pub(crate) mod http1;
mod idle_connections;
mod peeked_chunks;
mod peer;
mod post_event;
pub(super) mod provider_target;
mod proxy_tunnel;
pub(super) mod request;
mod request_head;
pub(super) mod response;
pub(super) mod service;
mod session;
mod streaming;
pub(super) mod whole_response_budget;

use super::fault_from;
use connection::UpstreamConnection;
use dial::UpstreamConnectionPool;
use foldhash::fast::RandomState;
use headgate_channel::address_cache::AddressCache;
use headgate_channel::lease::ChannelLease;
use headgate_core::catalog::channel::{Channel, HttpVersion};
use headgate_core::catalog::credential::Credential;
use headgate_protocol::fault::{Fault, FaultKind};
use peer::UpstreamPeer;
use pingora_core::upstreams::peer::Peer;
use request::ConnectionReusePolicy;
use session::UpstreamSession;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::time::Instant;

/// Maximum number of idle connections, for all channels together.
const POOL_CONNECTIONS_MAX: usize = 1024;
/// How long an idle connection is kept.
const POOL_IDLE: Duration = Duration::from_secs(60);
/// Maximum number of streams per HTTP/2 connection.
const H2_STREAMS_MAX: usize = 100;
/// Flow control window, in bytes: how much of a response a provider may send before it is read. A caller that reads
/// slowly makes the gateway hold this much, in addition to the buffers on the caller's side. Pingora's default of 8 MiB
/// would be 64 times as much.
const H2_STREAM_WINDOW: u32 = 128 << 10;

/// Maximum number of channels and credentials whose peers are kept; far more than a configuration has.
const PROVIDERS_MAX: usize = 4096;

/// Connects to providers and pools idle connections.
pub struct UpstreamClient {
    /// The pool of new connections.
    dialer: Arc<UpstreamConnectionPool>,
    /// The pools of other workers, which are used if the own pool has no connection: that wakes another thread, but is
    /// faster than a new connection.
    siblings: Vec<Arc<UpstreamConnectionPool>>,
    addresses: AddressCache,
    /// By pool: one for each channel and credential. Shared by all workers.
    providers: Arc<RwLock<HashMap<u64, Arc<ChannelPeers>, RandomState>>>,
}

/// The peers of one channel and credential: one for each address.
struct ChannelPeers {
    /// The host, if it is an IP address, which needs no lookup.
    literal_host: Option<Arc<str>>,
    /// The addresses of the peers; a new address list gets new peers.
    addresses: Arc<[IpAddr]>,
    peers: Vec<Arc<UpstreamPeer>>,
    /// Index of the peer that was connected last; it is tried first.
    preferred: AtomicUsize,
}

/// The target of a request: a channel and the credential that is sent to it.
#[derive(Clone, Copy)]
pub struct ChannelWithCredential<'a> {
    pub channel: &'a Channel,
    pub credential: Option<&'a Credential>,
}

impl<'a> ChannelWithCredential<'a> {
    /// The channel and credential of `lease`.
    pub fn from_lease(lease: &'a ChannelLease) -> Self {
        Self {
            channel: &lease.candidate.channel,
            credential: lease.credential(),
        }
    }
}

impl UpstreamClient {
    pub fn new(addresses: AddressCache) -> Self {
        Self {
            dialer: Arc::new(UpstreamConnectionPool::new(POOL_CONNECTIONS_MAX)),
            siblings: Vec::new(),
            addresses,
            providers: Arc::default(),
        }
    }

    /// Clients for `count` workers. Each prefers connections that it opened itself.
    pub fn for_workers(count: usize, addresses: &AddressCache) -> Vec<Self> {
        let clients = (0..count).map(|_| Self::new(addresses.clone()));
        let mut clients: Vec<_> = clients.collect();
        for client in &clients {
            client.dialer.prepare_http2();
        }
        let pools: Vec<_> = clients.iter().map(|client| client.dialer.clone()).collect();
        let providers: Arc<RwLock<_>> = Arc::default();
        for (own, client) in clients.iter_mut().enumerate() {
            client.providers = providers.clone();
            let others = pools.iter().cycle().skip(own + 1).take(count - 1);
            client.siblings = others.cloned().collect();
        }
        clients
    }

    /// The address cache, shared with other users of the same hosts.
    pub fn addresses(&self) -> AddressCache {
        self.addresses.clone()
    }

    /// A connection to `channel`: from the pool of any of its addresses if `source` allows that, otherwise a new one to
    /// the first address that accepts it. The future is dropped at `deadline`.
    ///
    /// # Errors
    /// [`FaultKind::Connect`]: DNS lookup failed, or no address accepted a connection.
    async fn connect(
        &self,
        channel: &Channel,
        credential: Option<&Credential>,
        source: ConnectionReusePolicy,
        deadline: Instant,
    ) -> Result<Box<UpstreamConnection>, Fault> {
        let provider = self.provider(channel, credential).await?;
        if source == ConnectionReusePolicy::Pool
            && let Some(connection) = self.pooled(&provider).await
        {
            return Ok(connection);
        }
        self.dial(channel, &provider, source, deadline).await
    }

    async fn pooled(&self, provider: &ChannelPeers) -> Option<Box<UpstreamConnection>> {
        for pool in [&self.dialer].into_iter().chain(&self.siblings) {
            for (_, peer) in provider.in_order() {
                if let Some(session) = pool.pooled(peer).await {
                    return Some(UpstreamConnection::new(session, pool, peer, true));
                }
            }
        }
        None
    }

    async fn dial(
        &self,
        channel: &Channel,
        provider: &ChannelPeers,
        source: ConnectionReusePolicy,
        deadline: Instant,
    ) -> Result<Box<UpstreamConnection>, Fault> {
        let mut unfinished = DialDeadlineLogGuard {
            channel: &channel.name,
            addresses: &provider.peers,
            deadline,
            over: false,
        };
        let raced = dial::race(provider.in_order(), |(index, peer)| async move {
            let dialed = match source {
                ConnectionReusePolicy::FreshHttp1 => self.dialer.dial_http1(peer).await,
                ConnectionReusePolicy::Pool | ConnectionReusePolicy::Fresh => {
                    self.dialer.dial(peer).await
                }
            };
            match dialed {
                // Pingora falls back to HTTP/1.1 if a provider negotiates no protocol.
                Ok(session) if is_too_old(channel, &session) => {
                    Err(no_connection("the provider does not negotiate HTTP/2"))
                }
                Ok(session) => Ok((index, session)),
                Err(error) => Err(unreachable(fault_from::upstream(error))),
            }
        });
        let raced = raced.await;
        unfinished.over = true;
        match raced {
            Ok((index, session)) => {
                provider.preferred.store(index, Ordering::Relaxed);
                let peer = &provider.peers[index];
                Ok(UpstreamConnection::new(session, &self.dialer, peer, false))
            }
            Err(faults) => Err(combine_faults(faults)),
        }
    }

    async fn provider(
        &self,
        channel: &Channel,
        credential: Option<&Credential>,
    ) -> Result<Arc<ChannelPeers>, Fault> {
        let (host, _) = channel.origin.next_hop();
        let pool = credential.map_or(channel.fingerprint, |credential| credential.fingerprint);
        let known = self
            .providers
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&pool)
            .cloned();
        let known = match known {
            Some(provider) if provider.literal_host.as_ref() == Some(host) => return Ok(provider),
            known => known,
        };
        let addresses = self.addresses.lookup(host).await.map_err(|error| {
            no_connection(format!("DNS lookup of `{host}` failed: {error}")).source(error)
        })?;
        if let Some(provider) = &known
            && provider.addresses == addresses
        {
            return Ok(provider.clone());
        }
        let provider = Arc::new(ChannelPeers::new(
            channel,
            pool,
            addresses,
            known.as_deref(),
        ));
        let mut providers = self
            .providers
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if providers.len() >= PROVIDERS_MAX {
            // Peers in use are created again by their next request.
            providers.clear();
        }
        providers.insert(pool, provider.clone());
        Ok(provider)
    }
}

impl ChannelPeers {
    /// Takes over the preferred address of `before`, if it is still in the list.
    fn new(channel: &Channel, pool: u64, addresses: Arc<[IpAddr]>, before: Option<&Self>) -> Self {
        let (host, port) = channel.origin.next_hop();
        let last = before.and_then(Self::preferred_address);
        let preferred = preferred_among(&addresses, last);
        let peers = addresses
            .iter()
            .map(|address| {
                Arc::new(UpstreamPeer::new(
                    channel,
                    pool,
                    SocketAddr::new(*address, port),
                ))
            })
            .collect();
        Self {
            literal_host: host.parse::<IpAddr>().is_ok().then(|| host.clone()),
            addresses,
            peers,
            preferred: AtomicUsize::new(preferred),
        }
    }

    fn preferred_address(&self) -> Option<IpAddr> {
        let preferred = self.preferred.load(Ordering::Relaxed);
        self.addresses.get(preferred).copied()
    }

    /// The peers with their indices, the preferred one first.
    fn in_order(&self) -> impl Iterator<Item = (usize, &Arc<UpstreamPeer>)> {
        let preferred = self.preferred.load(Ordering::Relaxed);
        let others = (0..self.peers.len()).filter(move |index| *index != preferred);
        std::iter::once(preferred)
            .chain(others)
            .map(|index| (index, &self.peers[index]))
    }
}

/// The index of the address that connected last. If it is gone, an address of the same family, since the other family
/// may be unreachable from this host.
fn preferred_among(addresses: &[IpAddr], last: Option<IpAddr>) -> usize {
    let at = |wanted: &dyn Fn(&IpAddr, IpAddr) -> bool| {
        let last = last?;
        addresses.iter().position(|address| wanted(address, last))
    };
    at(&|address, last| *address == last)
        .or_else(|| at(&|address, last| address.is_ipv6() == last.is_ipv6()))
        .unwrap_or(0)
}

/// Logs the addresses that were tried if a deadline ends the race.
struct DialDeadlineLogGuard<'a> {
    channel: &'a str,
    addresses: &'a [Arc<UpstreamPeer>],
    /// The race may also end before it, since the caller has left.
    deadline: Instant,
    over: bool,
}

impl Drop for DialDeadlineLogGuard<'_> {
    fn drop(&mut self) {
        if !self.over && Instant::now() >= self.deadline {
            let addresses: Vec<String> = self
                .addresses
                .iter()
                .map(|peer| peer.address().to_string())
                .collect();
            tracing::info!(
                channel = self.channel,
                addresses = addresses.join(", "),
                "could not connect to any address in time"
            );
        }
    }
}

/// One error for the failures of all addresses.
fn combine_faults(faults: Vec<Fault>) -> Fault {
    let details: Vec<String> = faults
        .iter()
        .filter_map(|fault| fault.detail.clone())
        .collect();
    let reported = details.join("; ");
    match faults.into_iter().next_back() {
        Some(last) => last.detail(reported),
        None => no_connection("the name has no address"),
    }
}

fn is_too_old(channel: &Channel, session: &UpstreamSession) -> bool {
    channel.origin.http == HttpVersion::Http2 && !matches!(session, UpstreamSession::Http2(_))
}

/// Turns a failure before the first byte of the request into [`FaultKind::Connect`]: the provider has received nothing.
fn unreachable(mut fault: Fault) -> Fault {
    if fault.kind == FaultKind::Upstream {
        fault.kind = FaultKind::Connect;
    }
    fault
}

fn no_connection(detail: impl Into<String>) -> Fault {
    let message = "the provider could not be reached; try again";
    Fault::new(FaultKind::Connect, message).detail(detail)
}

#[cfg(test)]
mod tests {
    use super::preferred_among;
    use std::net::IpAddr;

    #[test]
    fn the_address_or_family_that_connected_last_is_preferred() {
        let addresses: Vec<IpAddr> = ["2001:db8::1", "192.0.2.1", "2001:db8::2", "192.0.2.2"]
            .map(|text| text.parse().unwrap())
            .into();
        for (last, preferred) in [
            (None, 0),
            (Some("192.0.2.2"), 3),
            (Some("192.0.2.9"), 1),
            (Some("2001:db8::9"), 0),
        ] {
            let last = last.map(|text| text.parse().unwrap());
            assert_eq!(preferred_among(&addresses, last), preferred, "{last:?}");
        }
        let v6 = [addresses[0]];
        assert_eq!(preferred_among(&v6, Some(addresses[1])), 0);
    }
}
