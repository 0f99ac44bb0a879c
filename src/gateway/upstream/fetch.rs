//! Fetches files from URLs in providers' responses, at addresses that the egress policy allows.
//!
//! The address that was checked is the one that is dialled, so that DNS rebinding has no effect.

use super::bounded_body::{BodyEnd, CollectedBody};
use super::dial::{self, UpstreamConnectionPool};
use super::peer::UpstreamPeer;
use super::wire::{read_head, write_request};
use crate::catalog::egress::{EgressPolicy, EgressTarget};
use crate::channel::address_cache::AddressCache;
use crate::filter::fetch::{
    FetchError, FetchFuture, FetchLimits, FetchedFile, ResponseFileFetcher, UrlCheckFuture,
};
use crate::gateway::fault_from;
use crate::protocol::fault::Fault;
use http::uri::{Authority, Scheme, Uri};
use http::{HeaderValue, Method, StatusCode, Version, header};
use pingora_core::protocols::ALPN;
use pingora_core::protocols::http::client::HttpSession;
use pingora_core::upstreams::peer::HttpPeer;
use pingora_http::RequestHeader;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Maximum number of redirects; each target is checked again.
const REDIRECTS_MAX: usize = 3;
/// Maximum time without a byte from the server.
pub(super) const IDLE: Duration = Duration::from_secs(10);

/// How long the check of a URL may take.
const CHECK_WITHIN: Duration = Duration::from_secs(5);

/// Fetches files, each on a new connection.
pub struct HttpFileFetcher {
    dialer: UpstreamConnectionPool,
    addresses: AddressCache,
}

/// A parsed URL.
pub(super) struct FetchUrl {
    is_https: bool,
    pub(super) host: Arc<str>,
    pub(super) port: u16,
    authority: HeaderValue,
    path_and_query: String,
}

/// The response of a server.
enum FetchResponse {
    File(FetchedFile),
    Redirect(FetchUrl),
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
        bytes_max: usize,
    ) -> Result<FetchedFile, FetchError> {
        let mut target = FetchUrl::parse(url)?;
        for _ in 0..=REDIRECTS_MAX {
            let mut session = self.connect(&target, egress).await?;
            let response = request_file(&mut session, &target, bytes_max).await;
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
        target: &FetchUrl,
        egress: &EgressPolicy,
    ) -> Result<HttpSession, FetchError> {
        let permitted = self.permitted(target, egress).await?;
        let dialled = dial::race(permitted, |address| async move {
            let peer = UpstreamPeer::from(target.peer(address));
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

    /// The addresses of a host that the policy permits, at least one.
    async fn permitted(
        &self,
        target: &FetchUrl,
        egress: &EgressPolicy,
    ) -> Result<Vec<IpAddr>, FetchError> {
        let found = self.addresses.of(&target.host).await;
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
    fn check<'a>(&'a self, url: &'a str, egress: &'a EgressPolicy) -> UrlCheckFuture<'a> {
        Box::pin(async move {
            let target = FetchUrl::parse(url)?;
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
            let fetched = timeout(bounds.within, self.follow(url, egress, bounds.bytes));
            fetched.await.unwrap_or_else(|_| {
                Err(unfetched(format!(
                    "no complete response within {:?}",
                    bounds.within
                )))
            })
        })
    }
}

impl FetchUrl {
    pub(super) fn parse(url: &str) -> Result<Self, FetchError> {
        let uri: Uri = url.parse().map_err(|_| unfetched("not a URL"))?;
        let is_https = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            _ => return Err(unfetched("the scheme is not https or http")),
        };
        let authority = uri
            .authority()
            .ok_or_else(|| unfetched("the URL has no host"))?;
        let host = authority
            .host()
            .trim_start_matches('[')
            .trim_end_matches(']');
        if host.is_empty() || authority.as_str().contains('@') {
            return Err(unfetched("the URL has no host, or has user information"));
        }
        let value = HeaderValue::from_str(authority.as_str());
        Ok(Self {
            is_https,
            host: host.into(),
            port: port_of(authority, if is_https { 443 } else { 80 })?,
            authority: value.map_err(|_| unfetched("the host is not ASCII text"))?,
            path_and_query: uri
                .path_and_query()
                .map_or("/", |path| path.as_str())
                .to_owned(),
        })
    }

    fn egress_target(&self) -> EgressTarget<'_> {
        EgressTarget {
            is_https: self.is_https,
            host: &self.host,
            port: self.port,
        }
    }

    fn peer(&self, address: IpAddr) -> HttpPeer {
        let address = SocketAddr::new(address, self.port);
        let mut peer = HttpPeer::new(address, self.is_https, self.host.to_string());
        peer.options.alpn = ALPN::H1;
        peer.options.connection_timeout = Some(IDLE);
        peer.options.total_connection_timeout = Some(IDLE);
        peer.options.read_timeout = Some(IDLE);
        peer
    }

    pub(super) fn head(&self, method: Method) -> Result<RequestHeader, FetchError> {
        let (mut parts, ()) = http::Request::new(()).into_parts();
        parts.method = method;
        parts.version = Version::HTTP_11;
        let uri = Uri::try_from(self.path_and_query.as_str());
        parts.uri = uri.map_err(|_| unfetched("the path has characters that cannot be sent"))?;
        parts.headers.insert(header::HOST, self.authority.clone());
        for (name, value) in [
            (header::ACCEPT, "*/*"),
            (header::ACCEPT_ENCODING, "identity"),
            (header::USER_AGENT, "headgate"),
        ] {
            parts.headers.insert(name, HeaderValue::from_static(value));
        }
        Ok(RequestHeader::from(parts))
    }

    /// The target of a redirect.
    fn redirected(&self, location: &str) -> Result<Self, FetchError> {
        if !location.starts_with('/') || location.starts_with("//") {
            return Self::parse(location);
        }
        Ok(Self {
            is_https: self.is_https,
            host: self.host.clone(),
            port: self.port,
            authority: self.authority.clone(),
            path_and_query: location.split('#').next().unwrap_or_default().to_owned(),
        })
    }
}

/// # Errors
/// The port is not a number from 1 to 65535.
fn port_of(authority: &Authority, default: u16) -> Result<u16, FetchError> {
    let text = authority.as_str().rsplit_once(']');
    let text = text.map_or(authority.as_str(), |(_, rest)| rest);
    match text.split_once(':') {
        None | Some((_, "")) => Ok(default),
        Some(_) => match authority.port_u16() {
            None | Some(0) => Err(unfetched("the port is not a number from 1 to 65535")),
            Some(port) => Ok(port),
        },
    }
}

async fn request_file(
    session: &mut HttpSession,
    target: &FetchUrl,
    bytes_max: usize,
) -> Result<FetchResponse, FetchError> {
    let head = Box::new(target.head(Method::GET)?);
    let sent = write_request(session, head, None, IDLE).await;
    sent.map_err(|error| broken(fault_from::upstream(error)))?;
    let read = read_head(session, &mut false).await;
    read.map_err(|error| broken(fault_from::upstream(error)))?;
    let head = session
        .response_header()
        .ok_or_else(|| unfetched("no response"))?;
    let text = |name| {
        head.headers
            .get(name)
            .and_then(|value: &HeaderValue| value.to_str().ok())
    };
    match head.status {
        StatusCode::OK => {}
        status if status.is_redirection() => {
            let location =
                text(header::LOCATION).ok_or_else(|| unfetched("redirect without a `location`"))?;
            return target.redirected(location).map(FetchResponse::Redirect);
        }
        status => return Err(unfetched(format!("status {}", status.as_u16()))),
    }
    let content_type = text(header::CONTENT_TYPE).map(str::to_owned);
    let declared = text(header::CONTENT_LENGTH)
        .and_then(|length| length.parse().ok())
        .unwrap_or(0);
    let too_large = || unfetched(format!("larger than {bytes_max} bytes"));
    if declared > bytes_max {
        return Err(too_large());
    }
    let content = CollectedBody::read(session, declared, bytes_max).await;
    match content.end {
        BodyEnd::Complete => Ok(FetchResponse::File(FetchedFile {
            content_type,
            content: content.bytes,
        })),
        BodyEnd::TooLong => Err(too_large()),
        BodyEnd::Broken(fault) => Err(broken(fault)),
    }
}

pub(super) fn unfetched(reason: impl Into<String>) -> FetchError {
    FetchError {
        reason: reason.into(),
        is_temporary: false,
    }
}

/// Whether a lookup that failed so shows that there is no such name, or can be none.
fn is_final(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::InvalidInput)
}

pub(super) fn broken(fault: Fault) -> FetchError {
    unfetched(fault.detail.unwrap_or(fault.message))
}

#[cfg(test)]
mod tests {
    use super::FetchUrl;

    #[test]
    fn a_url_is_taken_apart_or_refused() {
        for (url, host, port, path) in [
            (
                "https://x.example/a.png?sig=1",
                "x.example",
                443,
                "/a.png?sig=1",
            ),
            ("http://127.0.0.1:81", "127.0.0.1", 81, "/"),
            ("https://[::1]/", "::1", 443, "/"),
            ("https://[::1]:8443/#part", "::1", 8443, "/"),
            ("https://x.example:/", "x.example", 443, "/"),
            ("https://x.example#part", "x.example", 443, "/"),
        ] {
            let target = FetchUrl::parse(url).unwrap_or_else(|error| panic!("{url}: {error}"));
            assert_eq!(
                (&*target.host, target.port, &*target.path_and_query),
                (host, port, path)
            );
        }
        for url in [
            "",
            "a.png",
            "/a.png",
            "ftp://x.example/a",
            "https://u:p@x.example/",
            "https://x.example:0/",
            "https://x.example:70000/",
            "https://[::1]:70000/",
            "https://x.example:1:2/",
            "https://bücher.example/",
            "https://x.example/a\r\nb: c",
            "https://x.example/a b",
            "data:image/png;base64,AA==",
        ] {
            assert!(FetchUrl::parse(url).is_err(), "{url}");
        }
    }

    #[test]
    fn a_redirect_leads_to_a_path_or_to_a_url() {
        let from = FetchUrl::parse("https://x.example/a").unwrap();
        for (location, host, path) in [
            ("/b?c#d", "x.example", "/b?c"),
            ("https://y.example/b", "y.example", "/b"),
        ] {
            let target = from.redirected(location).unwrap();
            assert_eq!((&*target.host, &*target.path_and_query), (host, path));
        }
        for location in ["b", "//y.example/b", ""] {
            assert!(from.redirected(location).is_err(), "{location}");
        }
    }
}
