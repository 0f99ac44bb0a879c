//! The head of a request (RFC 9112, sections 3 and 5), parsed once, when all of it has arrived.

use super::read_error::Http1ReadError;
use bytes::Bytes;
use headgate_protocol::field_name::parse_field_name;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, Uri, Version, header};
use httparse::{Error, Header, Status};
use std::mem::MaybeUninit;

/// Maximum number of header fields.
const FIELDS_MAX: usize = 256;

/// The head of a request.
pub struct Http1RequestHead {
    pub parts: Parts,
    /// The target as it was sent.
    pub target: Bytes,
    pub length_fields: LengthFieldCounts,
    /// Whether the client may send its next request on the same connection (RFC 9112, section 9.3).
    pub keeps_connection: bool,
}

/// How often a head declares the length of its body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LengthFieldCounts {
    /// Lines with the name `content-length`.
    pub hyphened: usize,
    /// Lines with names that some parsers take for `content-length` or `transfer-encoding`.
    pub lookalikes: usize,
}

impl Default for Http1RequestHead {
    /// That of a request which has not arrived.
    fn default() -> Self {
        let (parts, ()) = Request::new(()).into_parts();
        Self {
            parts,
            target: Bytes::new(),
            length_fields: LengthFieldCounts::default(),
            keeps_connection: false,
        }
    }
}

impl Http1RequestHead {
    /// Parses a complete head, with the empty line at its end.
    ///
    /// # Errors
    /// It is malformed, or ends elsewhere.
    pub fn parse(raw: Bytes) -> Result<Self, Http1ReadError> {
        let mut fields = [const { MaybeUninit::uninit() }; FIELDS_MAX];
        let mut request = httparse::Request::new(&mut []);
        match request.parse_with_uninit_headers(&raw, &mut fields) {
            Ok(Status::Complete(bytes)) if bytes == raw.len() => {}
            Ok(_) => return Err(Http1ReadError::HeadEnd),
            Err(error) => return Err(head_error(error, &raw)),
        }
        let target = raw.slice_ref(request.path.unwrap_or_default().as_bytes());
        // The parser takes UTF-8.
        if !target.is_ascii() {
            return Err(Http1ReadError::RequestLine);
        }
        let (mut parts, ()) = Request::new(()).into_parts();
        let method = request.method.unwrap_or_default().as_bytes();
        parts.method = Method::from_bytes(method).map_err(|_| Http1ReadError::RequestLine)?;
        parts.uri = Uri::from_maybe_shared(target.clone()).map_err(|_| Http1ReadError::Target)?;
        if request.version != Some(1) {
            parts.version = Version::HTTP_10;
        }
        let length_fields = append_fields(&mut parts.headers, request.headers, &raw)?;
        let keeps_connection = keeps_connection(parts.version, &parts.headers);
        Ok(Self {
            parts,
            target,
            length_fields,
            keeps_connection,
        })
    }

    /// Whether `received`, the begin of a head, can be continued to a head.
    ///
    /// # Errors
    /// It cannot.
    pub fn check_begin(received: &[u8]) -> Result<(), Http1ReadError> {
        let mut fields = [const { MaybeUninit::uninit() }; FIELDS_MAX];
        let parsed =
            httparse::Request::new(&mut []).parse_with_uninit_headers(received, &mut fields);
        parsed
            .map(drop)
            .map_err(|error| head_error(error, received))
    }
}

fn head_error(error: Error, head: &[u8]) -> Http1ReadError {
    match error {
        Error::TooManyHeaders => Http1ReadError::TooManyFields,
        Error::Token | Error::Version => Http1ReadError::RequestLine,
        Error::NewLine if !has_version_at_end(head) => Http1ReadError::RequestLine,
        error => Http1ReadError::Head(error),
    }
}

/// Whether the first line of a head ends as a request line does.
fn has_version_at_end(head: &[u8]) -> bool {
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    line.ends_with(b" HTTP/1.1") || line.ends_with(b" HTTP/1.0")
}

/// Appends the fields of a head, whose values become slices of `raw`.
fn append_fields(
    headers: &mut HeaderMap,
    fields: &[Header<'_>],
    raw: &Bytes,
) -> Result<LengthFieldCounts, Http1ReadError> {
    let mut counts = LengthFieldCounts::default();
    headers.reserve(fields.len());
    for field in fields {
        let name = parse_field_name(field.name.as_bytes());
        let name = name.map_err(|_| Http1ReadError::Head(Error::HeaderName))?;
        match name.as_str() {
            "content-length" => counts.hyphened += 1,
            "content_length" | "transfer_encoding" => counts.lookalikes += 1,
            _ => {}
        }
        let value = HeaderValue::from_maybe_shared(raw.slice_ref(field.value));
        let value = value.map_err(|_| Http1ReadError::Head(Error::HeaderValue))?;
        headers.append(name, value);
    }
    Ok(counts)
}

fn keeps_connection(version: Version, headers: &HeaderMap) -> bool {
    let (mut has_close, mut has_keep_alive) = (false, false);
    let values = headers.get_all(header::CONNECTION).iter();
    for option in values.flat_map(|value| value.as_bytes().split(|byte| *byte == b',')) {
        let option = option.trim_ascii();
        has_close |= option.eq_ignore_ascii_case(b"close");
        has_keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
    }
    !has_close && (has_keep_alive || version == Version::HTTP_11)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_line_has_two_single_spaces_and_no_other_blank() {
        for (line, valid) in [
            ("GET / HTTP/1.1", true),
            ("GET /a%20b?c={d} HTTP/1.1", true),
            ("GET  HTTP/1.1", false),
            ("GET / HTTP/1.1 ", false),
            (" GET / HTTP/1.1", false),
            ("GET  / HTTP/1.1", false),
            ("GET /  HTTP/1.1", false),
            ("GET /pa th HTTP/1.1", false),
            ("GET /?a b HTTP/1.1", false),
            ("GET\t/ HTTP/1.1", false),
            ("GET /a\tb HTTP/1.1", false),
            ("GET /\tHTTP/1.1", false),
            ("GET / HTTP/1.1\t", false),
            ("GET /a\rb HTTP/1.1", false),
            ("GET /\r HTTP/1.1", false),
            ("GET / HTTP/1.1\r", false),
            ("GET /\0 HTTP/1.1", false),
            ("GET /\u{b} HTTP/1.1", false),
            ("GET /\u{7f} HTTP/1.1", false),
            ("GET /\u{e9} HTTP/1.1", false),
            ("GET /", false),
            ("GET", false),
        ] {
            let head = format!("{line}\r\nHost: a\r\n\r\n");
            let parsed = Http1RequestHead::parse(head.into());
            let is_refused = matches!(parsed, Err(Http1ReadError::RequestLine));
            assert_eq!((parsed.is_ok(), is_refused), (valid, !valid), "{line:?}");
        }
    }
}
