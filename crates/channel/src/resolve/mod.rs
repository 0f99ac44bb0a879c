//! Resolves host names: the hosts file first, then name servers, then the system's resolver.

mod name_server;
mod system;

use hickory_resolver::proto::rr::{Name, RecordType};
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::{Pin, pin};
use std::time::Duration;
use system::ResolvConf;
use tokio::time::timeout;

/// How often each name server is queried; all servers are queried before the first one is queried again.
const ROUNDS: usize = 2;
/// How long addresses of one family wait for those of the other. RFC 8305, section 3, recommends 50 ms; here only the
/// first request for a name waits.
const OTHER_FAMILY_WAIT: Duration = Duration::from_millis(200);

/// The addresses of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedAddresses {
    /// In the order of preference within each family; never empty.
    pub addresses: Vec<IpAddr>,
    /// The time to live; `None` if the addresses do not come from a name server.
    pub ttl: Option<Duration>,
}

/// Resolves host names; a trait, so that tests can script lookups.
pub trait HostResolver: Send + Sync {
    fn resolve<'a>(&'a self, host: &'a str) -> ResolveFuture<'a>;
}

/// A lookup in progress; its error says why the name has no address.
pub type ResolveFuture<'a> =
    Pin<Box<dyn Future<Output = io::Result<ResolvedAddresses>> + Send + 'a>>;

/// Resolves names like the operating system, and also returns the time to live of addresses.
pub struct DnsResolver {
    /// Name servers to use instead of the system's; the system's resolver is then not used either.
    servers: Option<Vec<SocketAddr>>,
}

impl DnsResolver {
    /// A resolver that queries `servers`, or the system's name servers if the list is empty.
    pub fn new(servers: Vec<SocketAddr>) -> Self {
        Self {
            servers: (!servers.is_empty()).then_some(servers),
        }
    }

    async fn lookup_addresses(&self, host: &str) -> io::Result<ResolvedAddresses> {
        let name = Name::from_ascii(host)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let listed = match name.is_localhost() {
            // `localhost` is resolved without a name server (RFC 6761, section 6.3).
            true => vec![Ipv6Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into()],
            false => system::hosts(&name).await,
        };
        if !listed.is_empty() {
            return Ok(ResolvedAddresses {
                addresses: listed,
                ttl: None,
            });
        }
        if let Some(servers) = &self.servers {
            return resolve_with_search(&ResolvConf::without_search(servers.clone()), &name).await;
        }
        match query_system_servers(&name).await {
            Ok(resolution) => Ok(resolution),
            // The system's resolver may know other sources of names.
            Err(error) => {
                tracing::debug!(host, %error, "name servers returned no addresses; asking the system's resolver");
                let resolution = resolve_with_system(host).await;
                // The system's resolver does not distinguish an unknown name from an outage.
                resolution.map_err(|of_system| io::Error::new(error.kind(), of_system))
            }
        }
    }
}

impl HostResolver for DnsResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> ResolveFuture<'a> {
        Box::pin(self.lookup_addresses(host))
    }
}

async fn query_system_servers(name: &Name) -> io::Result<ResolvedAddresses> {
    resolve_with_search(&ResolvConf::read().await?, name).await
}

async fn resolve_with_system(host: &str) -> io::Result<ResolvedAddresses> {
    let mut addresses = Vec::new();
    for found in tokio::net::lookup_host((host, 0)).await? {
        if !addresses.contains(&found.ip()) {
            addresses.push(found.ip());
        }
    }
    match addresses.is_empty() {
        true => Err(no_address()),
        false => Ok(ResolvedAddresses {
            addresses,
            ttl: None,
        }),
    }
}

/// Resolves `name`, and a short name in each search domain; the first name that has addresses wins, so that the
/// addresses of both families belong to one name.
async fn resolve_with_search(conf: &ResolvConf, name: &Name) -> io::Result<ResolvedAddresses> {
    let mut failure = None;
    for name in conf.names(name) {
        let v6 = query_in_turn(&conf.servers, &name, RecordType::AAAA);
        let v4 = query_in_turn(&conf.servers, &name, RecordType::A);
        match both_families(v6, v4).await {
            Ok(Some(resolution)) => return Ok(resolution),
            Ok(None) => {}
            Err(error) => failure = Some(error),
        }
    }
    Err(failure.unwrap_or_else(no_address))
}

/// Queries both families concurrently; the addresses of one family are enough.
async fn both_families(
    v6: impl Future<Output = io::Result<Option<ResolvedAddresses>>>,
    v4: impl Future<Output = io::Result<Option<ResolvedAddresses>>>,
) -> io::Result<Option<ResolvedAddresses>> {
    let (mut v6, mut v4) = (pin!(v6), pin!(v4));
    let (v6, v4) = tokio::select! {
        first = &mut v6 => {
            let wait = wait_after(&first);
            (Some(first), timeout(wait, v4).await.ok())
        }
        first = &mut v4 => {
            let wait = wait_after(&first);
            (timeout(wait, v6).await.ok(), Some(first))
        }
    };
    merge_families(v6.into_iter().chain(v4))
}

/// How long to wait for the second family: without limit if the first family has no addresses.
fn wait_after(first: &io::Result<Option<ResolvedAddresses>>) -> Duration {
    match first {
        Ok(Some(_)) => OTHER_FAMILY_WAIT,
        Ok(None) | Err(_) => Duration::MAX,
    }
}

fn merge_families(
    families: impl Iterator<Item = io::Result<Option<ResolvedAddresses>>>,
) -> io::Result<Option<ResolvedAddresses>> {
    let mut all: Option<ResolvedAddresses> = None;
    let mut failure = None;
    for family in families {
        match (family, &mut all) {
            (Ok(Some(resolution)), Some(all)) => {
                all.addresses.extend(resolution.addresses);
                all.ttl = all.ttl.min(resolution.ttl);
            }
            (Ok(Some(resolution)), None) => all = Some(resolution),
            (Ok(None), _) => {}
            (Err(error), _) => failure = Some(error),
        }
    }
    match (all, failure) {
        (None, Some(error)) => Err(error),
        (all, _) => Ok(all),
    }
}

/// Queries one server after the other until one responds; `None` if the name has no address of this family.
async fn query_in_turn(
    servers: &[SocketAddr],
    name: &Name,
    family: RecordType,
) -> io::Result<Option<ResolvedAddresses>> {
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "no name server is configured");
    for server in std::iter::repeat_n(servers, ROUNDS).flatten() {
        match name_server::query(*server, name.clone(), family).await {
            Ok(resolution) => return Ok(resolution),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

fn no_address() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "the name has no A or AAAA record")
}

#[cfg(test)]
mod tests {
    use super::{ResolvedAddresses, both_families};
    use std::future::{pending, ready};
    use std::io;
    use std::time::Duration;

    fn resolution(addresses: &[&str], ttl: u64) -> ResolvedAddresses {
        ResolvedAddresses {
            addresses: addresses.iter().map(|text| text.parse().unwrap()).collect(),
            ttl: Some(Duration::from_secs(ttl)),
        }
    }

    #[tokio::test]
    async fn a_family_does_not_wait_for_ever_for_the_other() {
        let v6 = resolution(&["2001:db8::1"], 60);
        let v4 = resolution(&["192.0.2.1"], 60);
        let found = both_families(pending(), ready(Ok(Some(v4.clone())))).await;
        assert_eq!(found.unwrap(), Some(v4));
        let found = both_families(ready(Ok(Some(v6.clone()))), pending()).await;
        assert_eq!(found.unwrap(), Some(v6));
    }

    #[tokio::test]
    async fn addresses_of_both_families_live_as_long_as_the_shorter_lived() {
        let v6 = || ready(Ok(Some(resolution(&["2001:db8::1"], 20))));
        let v4 = || ready(Ok(Some(resolution(&["192.0.2.1"], 300))));
        let both = resolution(&["2001:db8::1", "192.0.2.1"], 20);
        assert_eq!(both_families(v6(), v4()).await.unwrap(), Some(both));
        let none = || ready(Ok(None));
        let failing = || ready(Err(io::Error::other("refused")));
        let only_v4 = resolution(&["192.0.2.1"], 300);
        assert_eq!(
            both_families(none(), v4()).await.unwrap(),
            Some(only_v4.clone())
        );
        assert_eq!(both_families(failing(), v4()).await.unwrap(), Some(only_v4));
        assert_eq!(both_families(none(), none()).await.unwrap(), None);
        assert!(both_families(failing(), none()).await.is_err());
    }
}
