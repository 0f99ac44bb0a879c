//! Whether a request is meant for this listener, and does not come from a web page of another origin.
//!
//! A web page can have the browser of an operator send requests to addresses that only the operator reaches: under a
//! name of its own that it resolves to such an address (DNS rebinding), or to the address itself. A browser states the
//! name in `Host`, and the page's origin in `Origin` and `Sec-Fetch-Site`.

use super::refusal::AdminRefusal;
use bytes::Bytes;
use headgate_config::snapshot::admin::{AdminAccessRules, canonical};
use headgate_core::serve::AppClientConnection;
use http::uri::Authority;
use http::{HeaderMap, HeaderName, Method, Request, header};
use std::net::{IpAddr, SocketAddr};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// Checks that every name under which the request was sent is one of this listener.
///
/// The port is not compared: it is another one behind `ssh -L` or a port mapping, and a web page cannot choose the name
/// by it. Addresses cannot be rebound; other ones than the listener's count if keys protect the listener.
pub(super) fn check_host(
    request: &Request<Bytes>,
    listener: SocketAddr,
    rules: &AdminAccessRules,
) -> Result<(), AdminRefusal> {
    let misdirected = |host: &str| {
        let host = host.to_owned();
        Err(AdminRefusal::Misdirected { host })
    };
    let mut is_named = false;
    for authority in authorities(request) {
        let Ok(parsed) = authority.parse::<Authority>() else {
            return misdirected(authority);
        };
        let host = canonical(parsed.host());
        if !host.is_some_and(|host| is_own(&host, listener, rules)) {
            return misdirected(authority);
        }
        is_named = true;
    }
    match is_named {
        true => Ok(()),
        false => misdirected(""),
    }
}

/// Checks that no web page of another origin made the request. A link on another page may lead here.
pub(super) fn check_origin(
    request: &Request<Bytes>,
    client: &AppClientConnection,
) -> Result<(), AdminRefusal> {
    let headers = request.headers();
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let is_foreign = origins.any(|origin| {
        let origin = origin.to_str().unwrap_or_default();
        !authorities(request).all(|own| is_same_origin(origin, own, client.is_tls))
    });
    let is_from_elsewhere = matches!(
        value(headers, &SEC_FETCH_SITE),
        Some("cross-site" | "same-site")
    );
    let is_link =
        request.method() == Method::GET && value(headers, &SEC_FETCH_MODE) == Some("navigate");
    match is_foreign || is_from_elsewhere && !is_link {
        true => Err(AdminRefusal::ForeignOrigin),
        false => Ok(()),
    }
}

/// `Host` headers, and the authority of HTTP/2 or of an absolute URL; an unreadable one is empty.
fn authorities(request: &Request<Bytes>) -> impl Iterator<Item = &str> {
    let hosts = request.headers().get_all(header::HOST).iter();
    let hosts = hosts.map(|host| host.to_str().unwrap_or_default());
    hosts.chain(request.uri().authority().map(Authority::as_str))
}

fn is_own(host: &str, listener: SocketAddr, rules: &AdminAccessRules) -> bool {
    let Ok(address) = host.parse::<IpAddr>() else {
        return host == "localhost" || rules.names_host(host);
    };
    address.is_loopback()
        || address == listener.ip().to_canonical()
        || rules.has_keys()
        || rules.without_keys
        || rules.names_host(host)
}

/// Whether `origin` is that of `authority`. Behind a proxy with TLS, the origin of a plain listener may have TLS.
fn is_same_origin(origin: &str, authority: &str, is_tls: bool) -> bool {
    let (of_origin, port) = match (
        origin.strip_prefix("https://"),
        origin.strip_prefix("http://"),
    ) {
        (Some(of_origin), _) => (of_origin, 443),
        (None, Some(of_origin)) if !is_tls => (of_origin, 80),
        _ => return false,
    };
    let parsed = |text: &str| {
        let authority = text.parse::<Authority>().ok()?;
        Some((
            canonical(authority.host())?,
            authority.port_u16().unwrap_or(port),
        ))
    };
    let (one, other) = (parsed(of_origin), parsed(authority));
    one.is_some() && one == other
}

fn value<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_the_same_if_scheme_host_and_port_are() {
        for (origin, authority, is_tls, expected) in [
            ("http://127.0.0.1:9091", "127.0.0.1:9091", false, true),
            ("http://LOCALHOST:9091", "localhost:9091", false, true),
            ("http://[::1]:9091", "[::1]:9091", false, true),
            ("http://localhost:3000", "localhost:9091", false, false),
            ("http://localhost", "localhost:9091", false, false),
            ("http://localhost:9091", "localhost:9091", true, false),
            ("https://gate.test", "gate.test", false, true),
            ("https://gate.test", "gate.test:443", true, true),
            ("https://gate.test.evil.test", "gate.test", true, false),
            ("https://evil.test", "gate.test", false, false),
            ("null", "gate.test", false, false),
            ("", "gate.test", false, false),
            ("https://", "", false, false),
            ("file://gate.test", "gate.test", false, false),
        ] {
            let same = is_same_origin(origin, authority, is_tls);
            assert_eq!(same, expected, "{origin} {authority}");
        }
    }
}
