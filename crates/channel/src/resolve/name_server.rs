//! One query to one name server: over UDP, and over TCP if the response does not fit.

use super::ResolvedAddresses;
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{
    ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts,
};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::{Name, Record, RecordType};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// The timeout of a response, over UDP and again over TCP.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Queries `server` for the addresses of `name` in `family` (A or AAAA); `None` if there are none.
///
/// # Errors
/// The server is unreachable, does not respond in time, or refuses the query.
pub async fn query(
    server: SocketAddr,
    name: Name,
    family: RecordType,
) -> io::Result<Option<ResolvedAddresses>> {
    let resolver = resolver(server).map_err(io::Error::other)?;
    match resolver.lookup(name, family).await {
        Ok(lookup) => Ok(resolution(lookup.answers())),
        Err(error) if error.is_no_records_found() => Ok(None),
        Err(error) => Err(io::Error::other(format!("name server {server}: {error}"))),
    }
}

/// The addresses among `records`; with a chain of CNAME records, the shortest time to live applies.
fn resolution(records: &[Record]) -> Option<ResolvedAddresses> {
    let addresses: Vec<_> = records
        .iter()
        .filter_map(|record| record.data.ip_addr())
        .collect();
    let ttl = records.iter().map(|record| record.ttl).min();
    (!addresses.is_empty()).then_some(ResolvedAddresses {
        addresses,
        ttl: ttl.map(|seconds| Duration::from_secs(seconds.into())),
    })
}

/// A resolver with one name server and without a cache. The callers do the rest: `query_in_turn` tries the next server,
/// and `AddressCache` is the cache.
fn resolver(server: SocketAddr) -> Result<TokioResolver, NetError> {
    let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(|mut connection| {
        connection.port = server.port();
        connection
    });
    let server = NameServerConfig::new(server.ip(), true, connections.into());
    let config = ResolverConfig::from_name_servers(vec![server]);
    let mut options = ResolverOpts::default();
    options.timeout = TIMEOUT;
    options.attempts = 0;
    options.cache_size = 0;
    // Some name servers and firewalls drop queries with EDNS.
    options.edns0 = false;
    options.use_hosts_file = ResolveHosts::Never;
    TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
        .with_options(options)
        .build()
}
