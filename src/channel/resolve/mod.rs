//! From a host's name to its addresses: the hosts file, name servers, and the system's resolver as the last word.

mod message;
mod server;
mod system;

use message::{Family, Reply};
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::{Pin, pin};
use std::time::Duration;
use system::ResolvConf;
use tokio::time::timeout;

/// Each server is asked so many times, one after the other.
const ROUNDS: usize = 2;
/// How long addresses of one family wait for those of the other (RFC 8305, 3, asks for 50 ms; nobody
/// waits here but the first request of all).
const OTHER_FAMILY: Duration = Duration::from_millis(200);

/// What was found of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// In the order of preference within each family; never none.
    pub addresses: Vec<IpAddr>,
    /// How long they may be used; unknown where they do not come from a name server.
    pub ttl: Option<Duration>,
}

/// Finds addresses; a trait so that tests can play a world of names.
pub trait Lookup: Send + Sync {
    fn lookup<'a>(&'a self, host: &'a str) -> Looking<'a>;
}

/// A lookup under way; its error says why the name has no address.
pub type Looking<'a> = Pin<Box<dyn Future<Output = io::Result<Found>> + Send + 'a>>;

/// Finds addresses as this system does, and learns how long they may be used.
pub struct Resolver {
    /// Asked instead of the system's; the system's resolver is then not asked either.
    servers: Option<Vec<SocketAddr>>,
}

impl Resolver {
    /// Asks `servers`, or those of the system if there are none.
    pub fn new(servers: Vec<SocketAddr>) -> Self {
        Self {
            servers: (!servers.is_empty()).then_some(servers),
        }
    }

    async fn find(&self, host: &str) -> io::Result<Found> {
        let listed = match is_localhost(host) {
            true => vec![Ipv6Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into()],
            false => system::hosts(host).await,
        };
        if !listed.is_empty() {
            return Ok(Found {
                addresses: listed,
                ttl: None,
            });
        }
        if let Some(servers) = &self.servers {
            return ask(&ResolvConf::of(servers.clone()), host).await;
        }
        match ask(&system::resolv_conf().await, host).await {
            Ok(found) => Ok(found),
            // It may know other sources of names.
            Err(error) => {
                tracing::debug!(host, %error, "no answer from the name servers, asking the system");
                ask_system(host).await
            }
        }
    }
}

impl Lookup for Resolver {
    fn lookup<'a>(&'a self, host: &'a str) -> Looking<'a> {
        Box::pin(self.find(host))
    }
}

/// Such names never leave the machine (RFC 6761, 6.3).
fn is_localhost(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    let last = host.rsplit('.').next().unwrap_or_default();
    last.eq_ignore_ascii_case("localhost")
}

async fn ask_system(host: &str) -> io::Result<Found> {
    let mut addresses = Vec::new();
    for found in tokio::net::lookup_host((host, 0)).await? {
        if !addresses.contains(&found.ip()) {
            addresses.push(found.ip());
        }
    }
    match addresses.is_empty() {
        true => Err(no_address()),
        false => Ok(Found {
            addresses,
            ttl: None,
        }),
    }
}

/// Asks for `host` and, where it is short, for `host` in each search domain; the first that has addresses counts.
async fn ask(conf: &ResolvConf, host: &str) -> io::Result<Found> {
    let mut failed = None;
    for name in conf.names(host) {
        match both_families(&conf.servers, &name).await {
            Ok(Some(found)) => return Ok(found),
            Ok(None) => {}
            Err(error) => failed = Some(error),
        }
    }
    Err(failed.unwrap_or_else(no_address))
}

/// Addresses of both families, asked for at the same time; one family is enough.
async fn both_families(servers: &[SocketAddr], name: &str) -> io::Result<Option<Found>> {
    let mut v6 = pin!(one_family(servers, name, Family::V6));
    let mut v4 = pin!(one_family(servers, name, Family::V4));
    let (v6, v4) = tokio::select! {
        found = &mut v6 => {
            let patience = patience_after(&found);
            (Some(found), timeout(patience, v4).await.ok())
        }
        found = &mut v4 => {
            let patience = patience_after(&found);
            (timeout(patience, v6).await.ok(), Some(found))
        }
    };
    joined(v6.into_iter().chain(v4))
}

/// How long the second family may take: where the first has nothing, as long as it needs.
fn patience_after(first: &io::Result<Option<Found>>) -> Duration {
    match first {
        Ok(Some(_)) => OTHER_FAMILY,
        Ok(None) | Err(_) => Duration::MAX,
    }
}

fn joined(families: impl Iterator<Item = io::Result<Option<Found>>>) -> io::Result<Option<Found>> {
    let mut all: Option<Found> = None;
    let mut failed = None;
    for family in families {
        match (family, &mut all) {
            (Ok(Some(found)), Some(all)) => {
                all.addresses.extend(found.addresses);
                all.ttl = all.ttl.min(found.ttl);
            }
            (Ok(Some(found)), None) => all = Some(found),
            (Ok(None), _) => {}
            (Err(error), _) => failed = Some(error),
        }
    }
    match (all, failed) {
        (None, Some(error)) => Err(error),
        (all, _) => Ok(all),
    }
}

/// Asks one server after the other until one knows; none if the name has no such address.
async fn one_family(
    servers: &[SocketAddr],
    name: &str,
    family: Family,
) -> io::Result<Option<Found>> {
    let mut failed = io::Error::new(io::ErrorKind::NotFound, "there is no name server");
    for server in std::iter::repeat_n(servers, ROUNDS).flatten() {
        match server::ask(*server, name, family).await {
            Ok(Reply::Addresses { addresses, ttl }) => {
                let ttl = Some(ttl);
                return Ok((!addresses.is_empty()).then_some(Found { addresses, ttl }));
            }
            Ok(Reply::NoSuchName) => return Ok(None),
            Ok(Reply::Refused(code)) => {
                failed =
                    io::Error::other(format!("name server {server} refuses, with code {code}"));
            }
            Ok(Reply::Truncated) => failed = io::Error::other("the answer is too long"),
            Err(error) => {
                failed = io::Error::new(error.kind(), format!("name server {server}: {error}"));
            }
        }
    }
    Err(failed)
}

fn no_address() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "the name has no address")
}
