//! The Pingora service: listeners, the exchange, and its two sides. No other module names Pingora.

mod background_service;
pub mod connectivity;
mod deadline;
mod downstream;
mod exchange;
mod fault_from;
mod head;
pub mod listen;
pub mod preview;
pub mod probe;
mod read_buffer;
mod reply;
mod request_id;
mod routing_fault;
pub mod service;
#[cfg(feature = "simulation")]
#[path = "tests/simulated_network.rs"]
pub mod simulated_network;
#[cfg(feature = "simulation")]
#[path = "tests/simulated_timers.rs"]
mod simulated_timers;
#[cfg(feature = "simulation")]
#[path = "tests/simulation.rs"]
pub mod simulation;
mod subrequest;
mod timers;
#[cfg(feature = "otlp")]
mod trace_export_service;
mod unrouted_request;
mod upstream;
mod websocket_refusal;

/// What fuzz targets call.
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing {
    pub use crate::downstream::http1::stream_check::check as check_requests;
    pub use crate::upstream::http1::response_check::check as check_responses;
}

use headgate_channel::address_cache::{AddressCache, DnsRefreshPolicy};
use headgate_channel::live::ChannelStates;
use headgate_channel::resolve::DnsResolver;
use headgate_channel::retry_budget::RetryBudget;
use headgate_config::reload::SnapshotReloader;
use headgate_config::snapshot::server::DnsSettings;
use headgate_core::catalog::client_address::{ClientAddressResolver, DownstreamClient};
use headgate_core::outgoing::OutgoingClients;
use headgate_core::outgoing::bucket_client::BucketClient;
use headgate_core::state::kept_thoughts::ThoughtStore;
use headgate_observe::access_log::AccessLog;
use headgate_observe::metrics::Metrics;
use http::HeaderMap;
use listen::caller_connections::CallerConnectionCounts;
use listen::drain_state::DrainState;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use upstream::UpstreamClient;
use upstream::bucket::UpstreamBucketClient;
use upstream::fetch::HttpFileFetcher;
use upstream::service::UpstreamCalloutClient;
use upstream::whole_response_budget::WholeResponseBudget;

/// A client for the requests of a media store, for a process that runs no gateway.
pub fn bucket_client(dns: &DnsSettings, metrics: Arc<Metrics>) -> Arc<dyn BucketClient> {
    let addresses = addresses(dns, metrics, DnsRefreshPolicy::default());
    let upstream = Arc::new(UpstreamClient::new(addresses));
    Arc::new(UpstreamBucketClient::new(upstream))
}

/// How long the addresses of a host that callers or responses name are kept at least, and how many such hosts.
const OTHER_HOST_TTL_MIN: Duration = Duration::from_secs(2);
const OTHER_HOSTS_MAX: usize = 10_000;

/// State that all exchanges of the process share.
pub struct Gateway {
    reloader: Arc<SnapshotReloader>,
    upstream: Arc<UpstreamClient>,
    fetcher: Arc<HttpFileFetcher>,
    channels: Arc<ChannelStates>,
    budget: Arc<RetryBudget>,
    whole_bodies: Arc<WholeResponseBudget>,
    thoughts: Arc<ThoughtStore>,
    metrics: Arc<Metrics>,
    access_log: Arc<AccessLog>,
    drain_state: Arc<DrainState>,
    caller_connections: Arc<CallerConnectionCounts>,
    client_addresses: Arc<ClientAddressResolver>,
}

impl Gateway {
    pub fn new(
        reloader: Arc<SnapshotReloader>,
        channels: Arc<ChannelStates>,
        metrics: Arc<Metrics>,
        access_log: Arc<AccessLog>,
        drain_state: Arc<DrainState>,
    ) -> Self {
        let client_addresses = reloader.current().server.client_addresses.clone();
        let dns = reloader.current().server.dns.clone();
        let addresses = addresses(&dns, metrics.clone(), DnsRefreshPolicy::default());
        let others = addresses_of_others(&dns, metrics.clone());
        let upstream = Arc::new(UpstreamClient::new(addresses));
        let bucket = UpstreamBucketClient::new(upstream.clone());
        let clients = OutgoingClients {
            buckets: Arc::new(bucket),
        };
        reloader.connect_features(&clients);
        let services = UpstreamCalloutClient::new(upstream.clone());
        reloader
            .services()
            .connect(Arc::new(services), metrics.services.clone());
        let thoughts = Arc::new(ThoughtStore::new(reloader.state().clone()));
        Self {
            reloader,
            upstream,
            fetcher: Arc::new(HttpFileFetcher::new(others)),
            channels,
            budget: Arc::default(),
            whole_bodies: Arc::default(),
            thoughts,
            metrics,
            access_log,
            drain_state,
            caller_connections: Arc::default(),
            client_addresses,
        }
    }

    /// Gateways for `count` worker threads, each with connections of its own.
    pub fn for_workers(&self, count: usize) -> Vec<Self> {
        let clients = UpstreamClient::for_workers(count, &self.addresses());
        let workers = clients.into_iter().map(|upstream| Self {
            upstream: Arc::new(upstream),
            budget: self.budget.clone(),
            caller_connections: self.caller_connections.clone(),
            ..self.with_own_connections()
        });
        workers.collect()
    }

    /// A gateway with connections of its own: a thread drives the connections that it opened, and the requests of
    /// one thread must not depend on another.
    pub fn with_own_connections(&self) -> Self {
        Self {
            reloader: self.reloader.clone(),
            upstream: Arc::new(UpstreamClient::new(self.addresses())),
            fetcher: Arc::new(self.fetcher.with_own_connections()),
            channels: Arc::new(ChannelStates::clone(&self.channels)),
            budget: Arc::default(),
            whole_bodies: self.whole_bodies.clone(),
            thoughts: self.thoughts.clone(),
            metrics: self.metrics.clone(),
            access_log: self.access_log.clone(),
            drain_state: self.drain_state.clone(),
            caller_connections: Arc::default(),
            client_addresses: self.client_addresses.clone(),
        }
    }

    /// The client of a request that `peer` sent with these headers.
    fn resolve_client(
        &self,
        peer: Option<SocketAddr>,
        headers: &HeaderMap,
    ) -> Option<DownstreamClient> {
        Some(self.client_addresses.resolve_client(peer?, headers))
    }

    /// The address cache of provider hosts, for other users such as the prober.
    pub fn addresses(&self) -> AddressCache {
        self.upstream.addresses()
    }
}

fn addresses(
    dns: &DnsSettings,
    metrics: Arc<Metrics>,
    refresh_policy: DnsRefreshPolicy,
) -> AddressCache {
    let DnsSettings {
        servers,
        refresh_interval,
    } = dns;
    let refresh_policy = DnsRefreshPolicy {
        refresh: *refresh_interval,
        ..refresh_policy
    };
    AddressCache::new(DnsResolver::new(servers.clone()), metrics, refresh_policy)
}

/// The addresses of hosts that callers and responses name: kept for a short time, since anyone can name many.
fn addresses_of_others(dns: &DnsSettings, metrics: Arc<Metrics>) -> AddressCache {
    let refresh_policy = DnsRefreshPolicy {
        // Not looked up again unless it is used again.
        idle: Duration::ZERO,
        ttl_min: OTHER_HOST_TTL_MIN,
        names_max: OTHER_HOSTS_MAX,
        is_configured: false,
        ..DnsRefreshPolicy::default()
    };
    addresses(dns, metrics, refresh_policy)
}
