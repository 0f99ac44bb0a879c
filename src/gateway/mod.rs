//! The Pingora service: listeners, the exchange and its two sides. The only module that names Pingora.

mod chunk_grammar;
mod deadline;
mod downstream;
mod exchange;
mod fault_from;
mod head;
mod hygiene;
mod intercepted_stream;
pub mod listen;
pub mod preview;
pub mod probe;
mod refusal;
mod reply;
mod request_id;
pub mod service;
mod subrequest;
mod upstream;
mod websocket_refusal;

use crate::catalog::client_address::{Client, ClientAddresses};
use crate::channel::addresses::{Addresses, Pace};
use crate::channel::budget::RetryBudget;
use crate::channel::live::Channels;
use crate::channel::resolve::Resolver;
use crate::observe::access_log::AccessLog;
use crate::observe::metrics::Metrics;
use crate::reload::Reloader;
use crate::snapshot::server::Dns;
use http::HeaderMap;
use listen::caller_connections::CallerConnections;
use listen::stages::Stages;
use std::net::SocketAddr;
use std::sync::Arc;
use upstream::Upstream;
use upstream::fetch::Fetcher;

/// What all exchanges of a process share.
pub struct Gateway {
    reloader: Arc<Reloader>,
    upstream: Upstream,
    fetcher: Arc<Fetcher>,
    channels: Arc<Channels>,
    budget: RetryBudget,
    metrics: Arc<Metrics>,
    access_log: Arc<AccessLog>,
    stages: Arc<Stages>,
    caller_connections: Arc<CallerConnections>,
    client_addresses: Arc<ClientAddresses>,
}

impl Gateway {
    pub fn new(
        reloader: Arc<Reloader>,
        channels: Arc<Channels>,
        metrics: Arc<Metrics>,
        access_log: Arc<AccessLog>,
        stages: Arc<Stages>,
    ) -> Self {
        let client_addresses = reloader.current().server.client_addresses.clone();
        let addresses = addresses(&reloader.current().server.dns, metrics.clone());
        Self {
            reloader,
            upstream: Upstream::new(addresses.clone()),
            fetcher: Arc::new(Fetcher::new(addresses)),
            channels,
            budget: RetryBudget::default(),
            metrics,
            access_log,
            stages,
            caller_connections: Arc::default(),
            client_addresses,
        }
    }

    /// The client of a request that `peer` sent with these headers.
    fn client_of(&self, peer: Option<SocketAddr>, headers: &HeaderMap) -> Option<Client> {
        Some(self.client_addresses.client_of(peer?, headers))
    }

    /// The addresses of providers, for whoever else asks them something.
    pub fn addresses(&self) -> Addresses {
        self.upstream.addresses()
    }
}

fn addresses(dns: &Dns, metrics: Arc<Metrics>) -> Addresses {
    let Dns { servers, refresh } = dns;
    let servers = servers.clone();
    let pace = Pace {
        refresh: *refresh,
        ..Pace::default()
    };
    Addresses::new(Resolver::new(servers), metrics, pace)
}
