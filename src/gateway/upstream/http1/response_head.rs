//! The head of a response (RFC 9112, section 4), and what it declares about the body and the connection.

use bytes::{Buf, Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use httparse::{Header, ParserConfig, Response, Status};
use pingora_error::{Error, ErrorType};
use std::mem::MaybeUninit;
use std::time::Duration;

/// Maximum number of fields.
const FIELDS_MAX: usize = 256;

/// The head of a response.
pub struct ResponseHead {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub framing: ResponseFraming,
    is_http11: bool,
    /// Every parser reads the same fields.
    is_plain: bool,
}

/// How the body of a response ends (RFC 9112, section 6.3), its status and its request aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseFraming {
    Chunked,
    /// In bytes.
    Length(u64),
    /// With the connection.
    Connection,
}

impl ResponseHead {
    /// Takes a head from the start of `received`; `None` if it is not complete yet.
    ///
    /// # Errors
    /// [`ErrorType::InvalidHTTPHeader`]: `received` is not the beginning of a head.
    pub fn take(received: &mut BytesMut) -> Result<Option<Self>, Box<Error>> {
        let mut fields = [const { MaybeUninit::uninit() }; FIELDS_MAX];
        let mut response = Response::new(&mut []);
        let parsed =
            parser().parse_response_with_uninit_headers(&mut response, received, &mut fields);
        let length = match parsed {
            Ok(Status::Complete(length)) => length,
            Ok(Status::Partial) => return Ok(None),
            Err(error) => {
                return Error::e_because(ErrorType::InvalidHTTPHeader, "not a response", error);
            }
        };
        let status = StatusCode::from_u16(response.code.unwrap_or_default());
        let is_http11 = response.version == Some(1);
        // A copy, so that a response does not keep the memory of its whole first read.
        let raw = Bytes::copy_from_slice(&received[..length]);
        let headers = headers_of(response.headers, received.as_ptr(), &raw)?;
        received.advance(length);
        let mut head = Self {
            status: status.map_err(|_| invalid("the status is not a number from 100 to 999"))?,
            framing: framing_of(&headers)?,
            headers,
            is_http11,
            is_plain: is_plain(&raw),
        };
        let headers = &mut head.headers;
        // The length of a chunked body does not count (RFC 9112, section 6.3).
        if headers.contains_key(header::TRANSFER_ENCODING) {
            head.is_plain &= headers.remove(header::CONTENT_LENGTH).is_none();
        }
        Ok(Some(head))
    }

    /// Whether the connection may be used again: the head says nothing else, and no other parser could see another end of
    /// the body.
    pub fn keeps_connection(&self) -> bool {
        let options = self.headers.get_all(header::CONNECTION).iter();
        let has_close = options
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .any(|option| option.trim().eq_ignore_ascii_case("close"));
        let is_framed = match self.status {
            StatusCode::NO_CONTENT => !self.declares_body(),
            StatusCode::NOT_MODIFIED => self.framing != ResponseFraming::Chunked,
            _ => true,
        };
        self.is_http11 && self.is_plain && !has_close && is_framed && self.has_one_framing()
    }

    /// How long the provider keeps the connection open while it is idle, if it says so (RFC 2068, section 19.7.1).
    pub fn keep_alive(&self) -> Option<Duration> {
        let parameters = self.headers.get("keep-alive")?.to_str().ok()?.split(',');
        let mut timeouts = parameters.filter_map(|parameter| {
            let (name, seconds) = parameter.split_once('=')?;
            let is_timeout = name.trim().eq_ignore_ascii_case("timeout");
            is_timeout.then(|| seconds.trim().parse().ok())?
        });
        timeouts.next().map(Duration::from_secs)
    }

    fn declares_body(&self) -> bool {
        let declares = |name| self.headers.contains_key(name);
        declares(header::CONTENT_LENGTH) || declares(header::TRANSFER_ENCODING)
    }

    /// Whether at most one line declares the framing, in its plainest form.
    fn has_one_framing(&self) -> bool {
        let lengths = self.headers.get_all(header::CONTENT_LENGTH).iter();
        let codings = self.headers.get_all(header::TRANSFER_ENCODING).iter();
        let has_plain_length =
            |value: &HeaderValue| value.as_bytes().iter().all(u8::is_ascii_digit);
        let has_plain_coding =
            |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"chunked");
        let mut lines = lengths
            .map(has_plain_length)
            .chain(codings.map(has_plain_coding));
        lines.next().unwrap_or(true) && lines.next().is_none()
    }
}

/// Accepts blanks before a colon, which are removed (RFC 9112, section 5.1).
fn parser() -> ParserConfig {
    let mut parser = ParserConfig::default();
    parser.allow_spaces_after_header_name_in_responses(true);
    parser
}

/// The fields of a head that begins at `base`, and of which `raw` is a copy.
fn headers_of(
    fields: &[Header<'_>],
    base: *const u8,
    raw: &Bytes,
) -> Result<HeaderMap, Box<Error>> {
    let mut headers = HeaderMap::with_capacity(fields.len());
    for field in fields {
        let name = HeaderName::from_bytes(field.name.as_bytes());
        let name = name.map_err(|_| invalid("the name of a field is too long"))?;
        let start = field.value.as_ptr() as usize - base as usize;
        // An empty value may point anywhere.
        let value = match field.value.len() {
            0 => Bytes::new(),
            length => raw.slice(start..start + length),
        };
        let value = HeaderValue::from_maybe_shared(value);
        let value = value.map_err(|_| invalid("the value of a field has control characters"))?;
        headers.append(name, value);
    }
    Ok(headers)
}

/// # Errors
/// The lengths are not one number.
fn framing_of(headers: &HeaderMap) -> Result<ResponseFraming, Box<Error>> {
    if let Some(coding) = headers
        .get_all(header::TRANSFER_ENCODING)
        .iter()
        .next_back()
    {
        let last = coding.as_bytes().rsplit(|byte| *byte == b',').next();
        let is_chunked =
            last.is_some_and(|last| last.trim_ascii().eq_ignore_ascii_case(b"chunked"));
        return Ok(match is_chunked {
            true => ResponseFraming::Chunked,
            false => ResponseFraming::Connection,
        });
    }
    let mut declared = None;
    let lengths = headers.get_all(header::CONTENT_LENGTH).iter();
    for length in lengths.flat_map(|value| value.as_bytes().split(|byte| *byte == b',')) {
        let length = length_of(length.trim_ascii());
        let length = length.ok_or_else(|| invalid("`content-length` is not a number"))?;
        if declared.is_some_and(|declared| declared != length) {
            return Err(invalid("two values of `content-length` differ"));
        }
        declared = Some(length);
    }
    Ok(declared.map_or(ResponseFraming::Connection, ResponseFraming::Length))
}

fn length_of(digits: &[u8]) -> Option<u64> {
    // `parse` would accept a sign.
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let digits = is_number.then(|| std::str::from_utf8(digits).ok())?;
    digits?.parse().ok()
}

/// Whether every parser reads the same lines: they end in CRLF, and names end at the colon.
fn is_plain(raw: &[u8]) -> bool {
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', raw) {
        let Some(line) = raw[start..end].strip_suffix(b"\r") else {
            return false;
        };
        let is_plain = match start {
            0 => line.starts_with(b"HTTP/1.1 "),
            _ => has_plain_name(line),
        };
        if !is_plain {
            return false;
        }
        start = end + 1;
    }
    true
}

/// Whether a line after the first one is empty, or begins with a name and a colon.
fn has_plain_name(line: &[u8]) -> bool {
    match memchr::memchr(b':', line) {
        None | Some(0) => line.is_empty(),
        Some(colon) => !line[colon - 1].is_ascii_whitespace(),
    }
}

fn invalid(reason: &'static str) -> Box<Error> {
    Error::explain(ErrorType::InvalidHTTPHeader, reason)
}

#[cfg(test)]
mod tests {
    use super::{ResponseFraming, ResponseHead};
    use bytes::BytesMut;

    fn take(head: &str) -> ResponseHead {
        let mut received = BytesMut::from(format!("{head}body").as_bytes());
        let taken = ResponseHead::take(&mut received).unwrap().unwrap();
        assert_eq!(&received[..], b"body");
        taken
    }

    #[test]
    fn a_head_is_taken_once_it_is_complete() {
        let head = "HTTP/1.1 404 Not Found\r\nA: b\r\nC:\r\nA:  d \r\nContent-Length: 4\r\n\r\n";
        for end in 1..head.len() {
            let mut received = BytesMut::from(&head.as_bytes()[..end]);
            assert!(ResponseHead::take(&mut received).unwrap().is_none());
            assert_eq!(received.len(), end);
        }
        let taken = take(head);
        assert_eq!(taken.status, 404);
        assert_eq!(taken.framing, ResponseFraming::Length(4));
        let fields: Vec<_> = taken
            .headers
            .iter()
            .map(|(name, value)| format!("{name}={}", value.to_str().unwrap()))
            .collect();
        assert_eq!(fields, ["a=b", "a=d", "c=", "content-length=4"]);
    }

    #[test]
    fn the_connection_is_kept_if_the_end_of_the_body_is_unambiguous() {
        for (head, framing, is_kept) in [
            ("HTTP/1.1 200 OK\r\n\r\n", ResponseFraming::Connection, true),
            (
                "HTTP/1.1 200 \r\nA: b\r\nContent-Length: 2\r\n\r\n",
                ResponseFraming::Length(2),
                true,
            ),
            (
                "HTTP/1.1 200 OK\r\ntransfer-encoding:  Chunked \r\nA:\r\n\r\n",
                ResponseFraming::Chunked,
                true,
            ),
            (
                "HTTP/1.1 200 OK\r\nConnection: a, Close\r\nContent-Length: 2\r\n\r\n",
                ResponseFraming::Length(2),
                false,
            ),
            (
                "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n",
                ResponseFraming::Length(2),
                false,
            ),
            (
                "\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n",
                ResponseFraming::Length(2),
                false,
            ),
            (
                "HTTP/1.1 200 OK\nContent-Length: 2\n\n",
                ResponseFraming::Length(2),
                false,
            ),
            (
                "HTTP/1.1 200 OK\r\nA: b\nContent-Length: 2\r\n\r\n",
                ResponseFraming::Length(2),
                false,
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\n",
                ResponseFraming::Length(2),
                false,
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\ncontent-length: 2\r\n\r\n",
                ResponseFraming::Length(2),
                false,
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\n",
                ResponseFraming::Length(2),
                false,
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
                ResponseFraming::Chunked,
                false,
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: x, chunked\r\n\r\n",
                ResponseFraming::Chunked,
                false,
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, x\r\n\r\n",
                ResponseFraming::Connection,
                false,
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
                ResponseFraming::Chunked,
                false,
            ),
            ("HTTP/1.1 204 OK\r\n\r\n", ResponseFraming::Connection, true),
            (
                "HTTP/1.1 204 OK\r\nContent-Length: 0\r\n\r\n",
                ResponseFraming::Length(0),
                false,
            ),
            (
                "HTTP/1.1 304 OK\r\nContent-Length: 9\r\n\r\n",
                ResponseFraming::Length(9),
                true,
            ),
            (
                "HTTP/1.1 304 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                ResponseFraming::Chunked,
                false,
            ),
        ] {
            let taken = take(head);
            assert_eq!(taken.framing, framing, "{head:?}");
            assert_eq!(taken.keeps_connection(), is_kept, "{head:?}");
        }
    }

    #[test]
    fn the_time_that_a_provider_keeps_a_connection_is_read() {
        for (value, seconds) in [
            ("timeout=5", Some(5)),
            ("max=100, Timeout = 75", Some(75)),
            ("timeout=0", Some(0)),
            ("timeout=", None),
            ("timeout=-1", None),
            ("max=5", None),
        ] {
            let taken = take(&format!("HTTP/1.1 200 OK\r\nKeep-Alive: {value}\r\n\r\n"));
            let keep_alive = taken.keep_alive().map(|time| time.as_secs());
            assert_eq!(keep_alive, seconds, "{value}");
        }
    }

    #[test]
    fn what_is_no_head_is_refused() {
        for head in [
            "{}",
            "HTTP/2 200 OK\r\n\r\n",
            "HTTP/1.1 20 OK\r\n\r\n",
            "HTTP/1.1 099 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA b\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA: b\r\n c: d\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA: \0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n",
        ] {
            let mut received = BytesMut::from(head.as_bytes());
            assert!(ResponseHead::take(&mut received).is_err(), "{head:?}");
        }
        let fields = "A: b\r\n".repeat(super::FIELDS_MAX + 1);
        let head = format!("HTTP/1.1 200 OK\r\n{fields}\r\n");
        let mut received = BytesMut::from(head.as_bytes());
        assert!(ResponseHead::take(&mut received).is_err());
    }
}
