//! Fetches files from URLs in providers' responses, at addresses that the egress policy allows.
//!
//! The address that was checked is the one that is dialled, so that DNS rebinding has no effect.

mod open_file;

use super::bounded_body::{BodyEnd, BodyReadResult};
use super::dial::{self, UpstreamConnectionPool};
use super::egress_url::{EgressUrl, IDLE, unfetched};
use super::peer::UpstreamPeer;
use super::proxy_tunnel::ProxyTunnel;
use super::session::UpstreamSession;
use crate::fault_from;
use headgate_channel::address_cache::AddressCache;
use headgate_core::catalog::egress::EgressPolicy;
use headgate_core::catalog::outbound_proxy::OutboundProxy;
use headgate_core::filter::fetch::{
    FetchError, FetchFuture, FetchLimits, FetchedFile, FileCredential, OpenFileFuture,
    ResponseFileFetcher, UrlCheckFuture,
};
use headgate_protocol::fault::Fault;
use http::{HeaderMap, HeaderName, Method, StatusCode, header};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// How long the check of a URL may take.
const CHECK_WITHIN: Duration = Duration::from_secs(5);

/// Fetches files, each on a new connection.
pub struct HttpFileFetcher {
    dialer: UpstreamConnectionPool,
    addresses: AddressCache,
}

/// The response of a server.
enum FetchResponse {
    File(FetchedFile),
    Redirect(EgressUrl),
}

impl HttpFileFetcher {
    pub fn new(addresses: AddressCache) -> Self {
        Self {
            // Connections are not reused: a second file from the same server is unlikely.
            dialer: UpstreamConnectionPool::new(1),
            addresses,
        }
    }

    /// A fetcher with the same addresses, for another thread.
    pub fn with_own_connections(&self) -> Self {
        Self::new(self.addresses.clone())
    }

    async fn follow(
        &self,
        url: &str,
        egress: &EgressPolicy,
        bounds: FetchLimits,
    ) -> Result<FetchedFile, FetchError> {
        let mut target = EgressUrl::parse(url)?;
        for _ in 0..=bounds.redirects {
            let mut session = self.connect(&target, egress).await?;
            let response = request_file(&mut session, &target, bounds.bytes).await;
            drop(session);
            match response? {
                FetchResponse::File(file) => return Ok(file),
                FetchResponse::Redirect(next) => target = next,
            }
        }
        Err(unfetched("too many redirects"))
    }

    pub(super) async fn connect(
        &self,
        target: &EgressUrl,
        egress: &EgressPolicy,
    ) -> Result<UpstreamSession, FetchError> {
        let permitted = self.permitted(target, egress).await?;
        let tunnels = self.tunnels(egress).await?;
        let tunnels = tunnels.as_ref();
        let dialled = dial::race(permitted, |address| async move {
            let address = SocketAddr::new(address, target.port);
            let mut peer = target.peer(address);
            if let Some((proxy, addresses)) = tunnels {
                let tunnel = ProxyTunnel::to_address(proxy.clone(), addresses.clone(), address);
                peer.options.custom_l4 = Some(Arc::new(tunnel));
            }
            let peer = UpstreamPeer::from(peer);
            self.dialer.dial(&peer).await.map_err(fault_from::upstream)
        });
        match dialled.await {
            Ok(session) => Ok(session),
            Err(faults) => Err(faults
                .into_iter()
                .next_back()
                .map_or_else(|| unfetched("the host has no A or AAAA record"), broken)),
        }
    }

    /// The proxy of the policy with its addresses; `None` if there is none.
    async fn tunnels(
        &self,
        egress: &EgressPolicy,
    ) -> Result<Option<(Arc<OutboundProxy>, Vec<SocketAddr>)>, FetchError> {
        let Some(proxy) = &egress.proxy else {
            return Ok(None);
        };
        let found = self.addresses.lookup(&proxy.host).await;
        let found = found.map_err(|error| FetchError {
            reason: format!("DNS lookup of the proxy {proxy} failed: {error}"),
            is_temporary: true,
        })?;
        let addresses = found.iter();
        let addresses = addresses.map(|address| SocketAddr::new(*address, proxy.port));
        Ok(Some((proxy.clone(), addresses.collect())))
    }

    /// The addresses of a host that the policy permits, at least one.
    async fn permitted(
        &self,
        target: &EgressUrl,
        egress: &EgressPolicy,
    ) -> Result<Vec<IpAddr>, FetchError> {
        let found = self.addresses.lookup(&target.host).await;
        let found = found.map_err(|error| FetchError {
            reason: format!("DNS lookup failed: {error}"),
            is_temporary: !is_final(error.kind()),
        })?;
        let permitted = found
            .iter()
            .filter(|address| egress.allows(target.egress_target(), **address));
        let permitted: Vec<IpAddr> = permitted.copied().collect();
        if permitted.is_empty() {
            let scheme = if target.is_https { "https" } else { "http" };
            return Err(unfetched(format!(
                "`egress` does not allow {scheme} to {}:{}",
                target.host, target.port
            )));
        }
        Ok(permitted)
    }
}

impl ResponseFileFetcher for HttpFileFetcher {
    fn open<'a>(
        &'a self,
        url: &'a str,
        egress: &'a EgressPolicy,
        headers: &'a HeaderMap,
        credential: Option<FileCredential<'a>>,
    ) -> OpenFileFuture<'a> {
        Box::pin(open_file::open(self, url, egress, (headers, credential)))
    }

    fn check<'a>(&'a self, url: &'a str, egress: &'a EgressPolicy) -> UrlCheckFuture<'a> {
        Box::pin(async move {
            let target = EgressUrl::parse(url)?;
            let checked = timeout(CHECK_WITHIN, self.permitted(&target, egress)).await;
            let late = || FetchError {
                reason: format!("the DNS lookup took longer than {CHECK_WITHIN:?}"),
                is_temporary: true,
            };
            checked.unwrap_or_else(|_| Err(late())).map(drop)
        })
    }

    fn fetch<'a>(
        &'a self,
        url: &'a str,
        egress: &'a EgressPolicy,
        bounds: FetchLimits,
    ) -> FetchFuture<'a> {
        Box::pin(async move {
            let fetched = timeout(bounds.within, self.follow(url, egress, bounds));
            fetched.await.unwrap_or_else(|_| {
                Err(unfetched(format!(
                    "no complete response within {:?}",
                    bounds.within
                )))
            })
        })
    }
}

async fn request_file(
    session: &mut UpstreamSession,
    target: &EgressUrl,
    bytes_max: usize,
) -> Result<FetchResponse, FetchError> {
    let request = target.request(Method::GET)?;
    let head = target.head(&request);
    let sent = session.write_request(&head, None, IDLE).await;
    sent.map_err(|error| broken(fault_from::upstream(error)))?;
    let read = session.read_head(&mut false).await;
    read.map_err(|error| broken(fault_from::upstream(error)))?;
    let (status, headers) = session.head().ok_or_else(|| unfetched("no response"))?;
    let text = |name: HeaderName| headers.get(name)?.to_str().ok();
    match status {
        StatusCode::OK => {}
        status if status.is_redirection() => {
            let location =
                text(header::LOCATION).ok_or_else(|| unfetched("redirect without a `location`"))?;
            return target.redirected(location).map(FetchResponse::Redirect);
        }
        status => return Err(unfetched(format!("status {}", status.as_u16()))),
    }
    let content_type = text(header::CONTENT_TYPE).map(str::to_owned);
    let cache_control = text(header::CACHE_CONTROL).map(str::to_owned);
    let declared = text(header::CONTENT_LENGTH)
        .and_then(|length| length.parse().ok())
        .unwrap_or(0);
    let too_large = || unfetched(format!("larger than {bytes_max} bytes"));
    if declared > bytes_max {
        return Err(too_large());
    }
    let content = BodyReadResult::read(session, declared, bytes_max).await;
    match content.end {
        BodyEnd::Complete => Ok(FetchResponse::File(FetchedFile {
            content_type,
            cache_control,
            content: content.bytes,
        })),
        BodyEnd::TooLong => Err(too_large()),
        BodyEnd::Broken(fault) => Err(broken(fault)),
    }
}

/// Whether a lookup that failed so shows that there is no such name, or can be none.
fn is_final(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::InvalidInput)
}

pub(super) fn broken(fault: Fault) -> FetchError {
    unfetched(fault.into_reason())
}
