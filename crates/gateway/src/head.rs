//! Strict check of a request head: rejects what two parsers could read differently.

mod http2;

use super::listen::http1_inspection::{BodyFraming, RawHeadSummary, SharedHttp1Inspector};
use super::listen::http1_reader::Http1Reader;
use headgate_protocol::digits::parse_digits;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::request_path::{RequestPathError, has_hidden_slash, normalised};
use http::{HeaderMap, Version, header};
use memchr::{memchr, memchr_iter};
use pingora_core::protocols::http::ServerSession;

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
pub fn check(session: &ServerSession) -> Result<NormalizedRequestTarget, Fault> {
    let uri = &session.req_header().uri;
    if session.is_http2() {
        http2::check(uri, &session.req_header().headers)?;
        return target(uri);
    }
    let Some(inspection) = Http1Reader::inspection(session) else {
        return target(uri);
    };
    let checked = check_http1(session, &inspection).and_then(|framing| Ok((target(uri)?, framing)));
    // The inspection reads the body by the framing that was checked here.
    let framing = match &checked {
        Ok((_, framing)) => *framing,
        Err(_) => BodyFraming::Refused,
    };
    inspection.begin_body(framing);
    checked.map(|(target, _)| target)
}

fn check_http1(
    session: &ServerSession,
    inspection: &SharedHttp1Inspector,
) -> Result<BodyFraming, Fault> {
    let request = session.req_header();
    let raw = match session.as_http1() {
        Some(h1) => h1.get_headers_raw_bytes(),
        None => return Err(bad("malformed HTTP request: no header section")),
    };
    let RawHeadSummary {
        bytes,
        valid_request_line,
    } = inspection.head();
    if !valid_request_line {
        return Err(bad(
            "malformed request line: expected a method, a target and a version, separated by single spaces; percent-encode spaces and special characters in the target",
        ));
    }
    if raw.len() != bytes {
        return Err(bad(
            "malformed HTTP request: the end of the header section is ambiguous",
        ));
    }
    check_request_line(&raw)?;
    check_host(request.version, &request.headers)?;
    check_framing(request.version, &request.headers, &raw)
}

/// Checks the target as it was sent; Pingora parses it more leniently.
fn check_request_line(raw: &[u8]) -> Result<(), Fault> {
    // Empty lines before the request line are ignored (RFC 9112, section 2.2).
    let raw = raw.trim_ascii_start();
    let line = &raw[..memchr(b'\n', raw).unwrap_or(raw.len())];
    let mut spaces = memchr_iter(b' ', line);
    let target = match (spaces.next(), spaces.next()) {
        (Some(start), Some(end)) => &line[start + 1..end],
        (Some(start), None) => &line[start + 1..],
        (None, _) => &[],
    };
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

fn check_framing(version: Version, headers: &HeaderMap, raw: &[u8]) -> Result<BodyFraming, Fault> {
    let RawLengthHeaderCounts {
        hyphened,
        lookalikes,
    } = RawLengthHeaderCounts::sent(raw);
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

/// Counts the body length headers in the raw head: Pingora may have merged or removed some.
#[derive(Default)]
struct RawLengthHeaderCounts {
    /// Lines with the name `content-length`.
    hyphened: usize,
    /// Lines with names that some parsers take for `content-length` or `transfer-encoding`.
    lookalikes: usize,
}

impl RawLengthHeaderCounts {
    fn sent(raw: &[u8]) -> Self {
        let mut lengths = Self::default();
        let mut start = 0;
        for end in memchr_iter(b'\n', raw) {
            let line = raw[start..end].trim_ascii_start();
            start = end + 1;
            if !matches!(line.first(), Some(b'C' | b'c' | b'T' | b't')) {
                continue;
            }
            let name = &line[..memchr(b':', line).unwrap_or(line.len())];
            let name = name.trim_ascii_end();
            if name.eq_ignore_ascii_case(b"content-length") {
                lengths.hyphened += 1;
            } else if name.eq_ignore_ascii_case(b"content_length")
                || name.eq_ignore_ascii_case(b"transfer_encoding")
            {
                lengths.lookalikes += 1;
            }
        }
        lengths
    }
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

    #[test]
    fn a_body_has_one_framing_only() {
        let headers = |values: &[&'static str]| {
            values.iter().fold(HeaderMap::new(), |mut headers, value| {
                headers.append(header::TRANSFER_ENCODING, HeaderValue::from_static(value));
                headers
            })
        };
        let with_length =
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length : 3\r\n\r\n";
        for (version, codings, raw, accepted) in [
            (Version::HTTP_11, &[][..], &b""[..], true),
            (
                Version::HTTP_11,
                &["chunked"],
                b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
                true,
            ),
            (Version::HTTP_11, &["chunked"], with_length, false),
            (Version::HTTP_11, &["gzip, chunked"], b"", false),
            (Version::HTTP_11, &["chunked", "chunked"], b"", false),
            (Version::HTTP_10, &["chunked"], b"", false),
            (
                Version::HTTP_11,
                &[],
                b"POST / HTTP/1.1\r\nTransfer_Encoding: chunked\r\n\r\n",
                false,
            ),
            (
                Version::HTTP_11,
                &[],
                b"POST / HTTP/1.1\r\nContent-Length: 3\r\ncontent-length: 3\r\n\r\n",
                false,
            ),
        ] {
            assert_eq!(
                check_framing(version, &headers(codings), raw).is_ok(),
                accepted,
                "{codings:?}"
            );
        }
    }

    #[test]
    fn a_target_is_a_path_or_an_url_of_ours() {
        for (target, accepted) in [
            ("/v1/models", true),
            ("http://gate.example.com/v1/models", true),
            ("HTTPS://gate.example.com/", true),
            ("ftp://gate.example.com/", false),
            ("v1/models", false),
            ("gate.example.com:443", false),
            ("*", false),
            ("/v1/models#top", false),
            ("", false),
        ] {
            let raw = format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n");
            assert_eq!(
                check_request_line(raw.as_bytes()).is_ok(),
                accepted,
                "{target}"
            );
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
