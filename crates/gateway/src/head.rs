//! Strict check of a request head: rejects what two parsers could read differently.

mod http2;

use super::downstream::http1::Http1ServerSession;
use super::downstream::http1::request_body::BodyFraming;
use super::downstream::http1::request_head::{Http1RequestHead, LengthFieldCounts};
use super::downstream::session::CallerSession;
use headgate_protocol::digits::parse_digits;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::request_path::{RequestPathError, has_hidden_slash, normalised};
use http::{HeaderMap, Method, Uri, Version, header};

/// The path in its normal form, and the query: the router, filters and providers see the same.
#[derive(Debug, PartialEq, Eq)]
pub struct NormalizedRequestTarget {
    pub path: String,
    pub query: Option<String>,
}

/// Refuses a path that no route has and whose escapes other servers could take for separators.
///
/// # Errors
/// [`FaultKind::BadHead`].
pub fn check_unrouted(target: &NormalizedRequestTarget) -> Result<(), Fault> {
    refuse_hidden_slash(&target.path)
}

/// Refuses a path that must not be sent to a provider, which could take an escape in it for a separator.
///
/// # Errors
/// [`FaultKind::BadHead`].
pub fn check_upstream_path(caller: &str, upstream: &str) -> Result<(), Fault> {
    // An operator may write such a path for the provider.
    match has_hidden_slash(caller) {
        true => refuse_hidden_slash(upstream),
        false => Ok(()),
    }
}

fn refuse_hidden_slash(path: &str) -> Result<(), Fault> {
    match has_hidden_slash(path) {
        true => Err(bad(&RequestPathError::HiddenSlash.to_string())),
        false => Ok(()),
    }
}

/// Checks the head that `session` has read, and returns its target.
///
/// # Errors
/// [`FaultKind::BadHead`]; the message names what is ambiguous.
pub fn check(session: &mut CallerSession) -> Result<NormalizedRequestTarget, Fault> {
    match session {
        CallerSession::Http1(session) => check_http1(session),
        CallerSession::Http2(session) => {
            let head = session.req_header();
            http2::check(&head.uri, &head.headers)?;
            target(&head.uri)
        }
        // The head is that of a handshake, which was checked.
        CallerSession::WebSocket(session) => target(&session.head().uri),
    }
}

fn check_http1(session: &mut Http1ServerSession) -> Result<NormalizedRequestTarget, Fault> {
    let framing = check_http1_head(session.request())?;
    let target = target(&session.request().parts.uri)?;
    // Until here, no byte after the head is taken for a body.
    session.begin_body(framing);
    Ok(target)
}

fn check_http1_head(head: &Http1RequestHead) -> Result<BodyFraming, Fault> {
    let parts = &head.parts;
    check_target(&head.target)?;
    // RFC 9110, section 9.3.6: its target is a host with a port.
    if parts.method == Method::CONNECT && parts.uri.authority().is_some() {
        return Err(bad("the request target is not a path"));
    }
    check_host(parts.version, &parts.headers)?;
    check_authority(&parts.uri, &parts.headers)?;
    check_framing(parts.version, &parts.headers, head.length_fields)
}

/// Checks the target as it was sent; parsers of URLs are more lenient.
fn check_target(target: &[u8]) -> Result<(), Fault> {
    let is_absolute = |scheme: &[u8]| {
        let start = target.get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    if target.contains(&b'#') {
        return Err(bad(
            "the request target must not have a fragment; remove `#` and what follows",
        ));
    }
    if target.starts_with(b"/") || is_absolute(b"http://") || is_absolute(b"https://") {
        return Ok(());
    }
    Err(bad("the request target is not a path"))
}

/// Checks the authority of a target that is a URL (RFC 9112, section 3.2.2).
fn check_authority(uri: &Uri, headers: &HeaderMap) -> Result<(), Fault> {
    let Some(authority) = uri.authority() else {
        return Ok(());
    };
    let authority = authority.as_str().as_bytes();
    let host = headers.get(header::HOST).map(|host| host.as_bytes());
    match is_host(authority) && host.is_none_or(|host| host == authority) {
        true => Ok(()),
        false => Err(bad(
            "the host of the request target differs from header `host`; send a path as the target",
        )),
    }
}

fn check_framing(
    version: Version,
    headers: &HeaderMap,
    LengthFieldCounts {
        hyphened,
        lookalikes,
    }: LengthFieldCounts,
) -> Result<BodyFraming, Fault> {
    if lookalikes > 0 {
        return Err(bad(
            "header names `content_length` and `transfer_encoding` are refused; write them with a hyphen",
        ));
    }
    let length = match headers.get(header::CONTENT_LENGTH) {
        Some(length) => parse_digits(length.as_bytes()),
        None => Some(0),
    };
    let (Some(length), 0..=1) = (length, hyphened) else {
        return Err(bad(
            "`content-length` must be one decimal number; send it once",
        ));
    };
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    let Some(coding) = codings.next() else {
        return Ok(BodyFraming::Length(length));
    };
    if version != Version::HTTP_11 {
        return Err(bad("`transfer-encoding` requires HTTP/1.1"));
    }
    if codings.next().is_some() || !coding.as_bytes().eq_ignore_ascii_case(b"chunked") {
        return Err(bad("`transfer-encoding` must be `chunked`"));
    }
    if hyphened > 0 {
        return Err(bad(
            "`content-length` and `transfer-encoding` must not both be sent; send one",
        ));
    }
    Ok(BodyFraming::Chunked)
}

fn check_host(version: Version, headers: &HeaderMap) -> Result<(), Fault> {
    let mut hosts = headers.get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(host), None) => is_host(host.as_bytes())
            .then_some(())
            .ok_or_else(|| bad("header `host` must be a host name, with a port or without")),
        (None, _) if version == Version::HTTP_10 => Ok(()),
        (None, _) => Err(bad("missing required header `host`")),
        (Some(_), Some(_)) => Err(bad(
            "header `host` was received more than once; send it once",
        )),
    }
}

fn is_host(host: &[u8]) -> bool {
    let is_allowed = |byte: &u8| {
        let is_mark = matches!(byte, b'-' | b'.' | b'_' | b'~' | b':' | b'[' | b']' | b'%');
        is_mark || byte.is_ascii_alphanumeric()
    };
    !host.is_empty() && host.iter().all(is_allowed)
}

fn target(uri: &http::Uri) -> Result<NormalizedRequestTarget, Fault> {
    let path = uri.path();
    if !path.starts_with('/') {
        return Err(bad("the request target is not a path"));
    }
    let path = normalised(path).map_err(|refused| bad(&refused.to_string()))?;
    Ok(NormalizedRequestTarget {
        path: path.into_owned(),
        query: uri.query().map(String::from),
    })
}

fn bad(message: &str) -> Fault {
    Fault::new(FaultKind::BadHead, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn framing(head: &str) -> Result<BodyFraming, Fault> {
        let head = Http1RequestHead::parse(head.to_owned().into()).unwrap();
        check_http1_head(&head)
    }

    #[test]
    fn a_body_has_one_framing_only() {
        for (version, fields, expected) in [
            ("1.1", "", Some(BodyFraming::Length(0))),
            ("1.1", "Content-Length: 3\r\n", Some(BodyFraming::Length(3))),
            (
                "1.1",
                "Transfer-Encoding: chunked\r\n",
                Some(BodyFraming::Chunked),
            ),
            (
                "1.1",
                "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
                None,
            ),
            ("1.1", "Transfer-Encoding: gzip, chunked\r\n", None),
            (
                "1.1",
                "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                None,
            ),
            ("1.0", "Transfer-Encoding: chunked\r\n", None),
            ("1.1", "Transfer_Encoding: chunked\r\n", None),
            ("1.1", "Content_Length: 3\r\n", None),
            ("1.1", "Content-Length: 3\r\ncontent-length: 3\r\n", None),
            ("1.1", "Content-Length: 3, 3\r\n", None),
            ("1.1", "Content-Length: +3\r\n", None),
        ] {
            let head = format!("POST / HTTP/{version}\r\nHost: a\r\n{fields}\r\n");
            assert_eq!(framing(&head).ok(), expected, "{head}");
        }
    }

    #[test]
    fn a_target_is_a_path_or_an_url_of_ours() {
        for (target, accepted) in [
            ("/v1/models", true),
            ("http://gate.example.com/v1/models", true),
            ("HTTPS://gate.example.com/", true),
            ("http://gate.example.com", true),
            ("http://other.example.com/", false),
            ("http://a@gate.example.com/", false),
            ("ftp://gate.example.com/", false),
            ("gate.example.com:443", false),
            ("*", false),
            ("/v1/models#top", false),
        ] {
            let head = format!("GET {target} HTTP/1.1\r\nHost: gate.example.com\r\n\r\n");
            assert_eq!(framing(&head).is_ok(), accepted, "{target}");
        }
    }

    #[test]
    fn a_host_is_one_name() {
        for (hosts, accepted) in [
            (&["gate.example.com:8080"][..], true),
            (&["[::1]:8080"], true),
            (&[], false),
            (&[""], false),
            (&["a", "a"], false),
            (&["a,b"], false),
            (&["a/b"], false),
            (&["a@b"], false),
        ] {
            let headers = hosts.iter().fold(HeaderMap::new(), |mut headers, host| {
                headers.append(header::HOST, HeaderValue::from_static(host));
                headers
            });
            assert_eq!(
                check_host(Version::HTTP_11, &headers).is_ok(),
                accepted,
                "{hosts:?}"
            );
        }
    }
}
