//! One question to one name server: over UDP, and over TCP where the response does not fit.

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

/// How long a name server has for its response, over UDP and once more over TCP.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Asks `server` for the addresses of `name` in `family`, which is A or AAAA; none where it has no such address.
///
/// # Errors
/// The server is unreachable, did not respond in time, or refuses.
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

/// The addresses among `records`; those of a chain of aliases live as long as the record with the shortest life.
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

/// A resolver with one name server and without a cache. What hickory would do beyond that is done by those who
/// call: it tries no other server where one refuses, and `Addresses` is the cache.
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
    // Some name servers and firewalls drop questions that have the extension.
    options.edns0 = false;
    options.use_hosts_file = ResolveHosts::Never;
    TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
        .with_options(options)
        .build()
}
