//! The URL of a file or of a receiver of events, and requests to its server.

use super::request_head::RequestHead;
use headgate_core::catalog::credential::{Credential, SignableBody, SignableRequest};
use headgate_core::catalog::egress::EgressTarget;
use headgate_core::filter::fetch::FetchError;
use http::uri::{Authority, Scheme, Uri};
use http::{HeaderMap, HeaderValue, Method, header};
use pingora_core::protocols::ALPN;
use pingora_core::upstreams::peer::HttpPeer;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Maximum time without a byte from the server.
pub(super) const IDLE: Duration = Duration::from_secs(10);

/// A parsed URL.
pub(super) struct EgressUrl {
    pub(super) is_https: bool,
    pub(super) host: Arc<str>,
    pub(super) port: u16,
    authority: HeaderValue,
    path_and_query: String,
}

/// A request to the server of a URL.
pub(super) struct EgressRequest {
    method: Method,
    target: Uri,
    pub(super) headers: HeaderMap,
}

impl EgressUrl {
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
            port: parse_port(authority, if is_https { 443 } else { 80 })?,
            authority: value.map_err(|_| unfetched("the host is not ASCII text"))?,
            path_and_query: uri
                .path_and_query()
                .map_or("/", |path| path.as_str())
                .to_owned(),
        })
    }

    pub(super) fn egress_target(&self) -> EgressTarget<'_> {
        EgressTarget {
            is_https: self.is_https,
            host: &self.host,
            port: self.port,
        }
    }

    pub(super) fn peer(&self, address: SocketAddr) -> HttpPeer {
        let mut peer = HttpPeer::new(address, self.is_https, self.host.to_string());
        peer.options.alpn = ALPN::H1;
        peer.options.connection_timeout = Some(IDLE);
        peer.options.total_connection_timeout = Some(IDLE);
        peer.options.read_timeout = Some(IDLE);
        peer
    }

    pub(super) fn request(&self, method: Method) -> Result<EgressRequest, FetchError> {
        let target = Uri::try_from(self.path_and_query.as_str());
        let target = target.map_err(|_| unfetched("the path has characters that cannot be sent"));
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, self.authority.clone());
        for (name, value) in [
            (header::ACCEPT, "*/*"),
            (header::ACCEPT_ENCODING, "identity"),
            (header::USER_AGENT, "headgate"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        Ok(EgressRequest {
            method,
            target: target?,
            headers,
        })
    }

    pub(super) fn head<'r>(&'r self, request: &'r EgressRequest) -> RequestHead<'r> {
        RequestHead {
            method: &request.method,
            target: &request.target,
            headers: &request.headers,
            scheme: match self.is_https {
                true => Scheme::HTTPS,
                false => Scheme::HTTP,
            },
            authority: &self.authority,
            has_unknown_length: false,
        }
    }

    /// The target of a redirect.
    pub(super) fn redirected(&self, location: &str) -> Result<Self, FetchError> {
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

impl EgressRequest {
    /// Signs the request, which has no body, as it is about to be sent.
    pub(super) fn sign(&mut self, credential: &Credential) -> Result<(), FetchError> {
        let request = SignableRequest {
            method: &self.method,
            target: &self.target,
            headers: &mut self.headers,
            body: SignableBody::Absent,
        };
        let signed = credential.signer.sign(request);
        signed.map_err(|error| unfetched(error.to_string()))
    }
}

/// # Errors
/// The port is not a number from 1 to 65535.
fn parse_port(authority: &Authority, default: u16) -> Result<u16, FetchError> {
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

pub(super) fn unfetched(reason: impl Into<String>) -> FetchError {
    FetchError {
        reason: reason.into(),
        is_temporary: false,
    }
}

#[cfg(test)]
mod tests {
    use super::EgressUrl;

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
            let target = EgressUrl::parse(url).unwrap_or_else(|error| panic!("{url}: {error}"));
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
            "https://u@x.example/",
            "https://x.example:0/",
            "https://x.example:70000/",
            "https://[::1]:70000/",
            "https://x.example:1:2/",
            "https://bücher.example/",
            "https://x.example/a\r\nb: c",
            "https://x.example/a b",
            "data:image/png;base64,AA==",
        ] {
            assert!(EgressUrl::parse(url).is_err(), "{url}");
        }
    }

    #[test]
    fn a_redirect_leads_to_a_path_or_to_a_url() {
        let from = EgressUrl::parse("https://x.example/a").unwrap();
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
