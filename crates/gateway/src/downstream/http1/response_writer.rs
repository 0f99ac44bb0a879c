//! What a response looks like on an HTTP/1.1 connection: its head, and the framing of its body (RFC 9112, sections 4, 6 and 7).

use headgate_protocol::digits::parse_digits;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use pingora_core::protocols::http::date;

/// Room for a head, in bytes.
const HEAD_BYTES: usize = 512;

/// How the body of a response is framed, and what is still to come of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResponseBodyFraming {
    /// No head was written yet, or the body is complete.
    #[default]
    Ended,
    /// This many bytes, more than 0.
    Length(u64),
    Chunked,
    /// Until the connection ends.
    Connection,
}

impl ResponseBodyFraming {
    /// The framing that a head declares.
    pub fn declared_by(status: StatusCode, headers: &HeaderMap, is_head_request: bool) -> Self {
        let has_none = matches!(
            status,
            StatusCode::SWITCHING_PROTOCOLS | StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED
        );
        if has_none || is_head_request {
            return Self::Ended;
        }
        if headers.contains_key(header::TRANSFER_ENCODING) {
            return Self::Chunked;
        }
        let length = headers.get(header::CONTENT_LENGTH);
        match length.and_then(|length| parse_digits(length.as_bytes())) {
            Some(0) => Self::Ended,
            Some(length) => Self::Length(length),
            None => Self::Connection,
        }
    }
}

/// Appends the head of a response as it is sent; `connection` is what it says about its connection.
pub fn encode_head(
    wire: &mut Vec<u8>,
    status: StatusCode,
    headers: &HeaderMap,
    connection: &'static str,
) {
    wire.reserve(HEAD_BYTES);
    wire.extend_from_slice(b"HTTP/1.1 ");
    wire.extend_from_slice(status.as_str().as_bytes());
    wire.extend_from_slice(b" ");
    wire.extend_from_slice(status.canonical_reason().unwrap_or_default().as_bytes());
    wire.extend_from_slice(b"\r\n");
    for (name, value) in headers {
        // These two are the connection's own.
        if matches!(*name, header::DATE | header::CONNECTION) {
            continue;
        }
        put_field(wire, wire_name(name), value);
    }
    put_field(wire, "Date", &date::get_cached_date());
    put_field(wire, "Connection", &HeaderValue::from_static(connection));
    wire.extend_from_slice(b"\r\n");
}

fn put_field(wire: &mut Vec<u8>, name: &str, value: &HeaderValue) {
    wire.reserve(name.len() + value.len() + 4);
    wire.extend_from_slice(name.as_bytes());
    wire.extend_from_slice(b": ");
    wire.extend_from_slice(value.as_bytes());
    wire.extend_from_slice(b"\r\n");
}

/// The names that scripts search for in their usual spelling.
fn wire_name(name: &HeaderName) -> &str {
    match *name {
        header::CONTENT_TYPE => "Content-Type",
        header::CONTENT_LENGTH => "Content-Length",
        header::TRANSFER_ENCODING => "Transfer-Encoding",
        header::CACHE_CONTROL => "Cache-Control",
        header::CONTENT_ENCODING => "Content-Encoding",
        header::SET_COOKIE => "Set-Cookie",
        header::SERVER => "Server",
        header::AGE => "Age",
        header::ACCEPT_RANGES => "Accept-Ranges",
        _ => name.as_str(),
    }
}
