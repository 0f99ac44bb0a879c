//! The head of a response (RFC 9112, section 4), and what it declares about the body and the connection.

#[cfg(test)]
mod tests;

use bytes::{Buf, Bytes, BytesMut};
use headgate_protocol::digits::parse_digits;
use headgate_protocol::field_name::parse_field_name;
use http::{HeaderMap, HeaderValue, StatusCode, header};
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
        let is_plain = is_plain(&raw);
        let headers = build_headers(response.headers, received.as_ptr(), &raw, is_plain)?;
        received.advance(length);
        let mut head = Self {
            status: status.map_err(|_| invalid("the status is not a number from 100 to 999"))?,
            framing: parse_framing(&headers)?,
            headers,
            is_http11,
            is_plain,
        };
        let headers = &mut head.headers;
        // The length of a body with a transfer coding does not count (RFC 9112, section 6.3).
        let has_length = matches!(head.framing, ResponseFraming::Length(_));
        if !has_length && headers.contains_key(header::TRANSFER_ENCODING) {
            head.is_plain &= headers.remove(header::CONTENT_LENGTH).is_none();
        }
        Ok(Some(head))
    }

    /// Takes notice of the head before this one: an informational one that parsers read differently makes all that follows it
    /// ambiguous.
    pub fn follow(&mut self, before: Option<&Self>) {
        self.is_plain &= before.is_none_or(|before| before.is_plain);
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
        let mut lines = self.headers.iter().filter_map(|(name, value)| {
            let value = value.as_bytes();
            match *name {
                header::CONTENT_LENGTH => Some(value.iter().all(u8::is_ascii_digit)),
                header::TRANSFER_ENCODING => Some(value.eq_ignore_ascii_case(b"chunked")),
                _ => None,
            }
        });
        lines.next().unwrap_or(true) && lines.next().is_none()
    }
}

/// Accepts blanks before a colon, which are removed, and folded lines, which become one (RFC 9112, sections 5.1 and 5.2).
fn parser() -> ParserConfig {
    let mut parser = ParserConfig::default();
    parser.allow_spaces_after_header_name_in_responses(true);
    parser.allow_obsolete_multiline_headers_in_responses(true);
    parser
}

/// The fields of a head that begins at `base`, and of which `raw` is a copy. Only a head that is not plain has folded
/// lines.
fn build_headers(
    fields: &[Header<'_>],
    base: *const u8,
    raw: &Bytes,
    is_plain: bool,
) -> Result<HeaderMap, Box<Error>> {
    let mut headers = HeaderMap::with_capacity(fields.len());
    for field in fields {
        let name = parse_field_name(field.name.as_bytes());
        let name = name.map_err(|_| invalid("the name of a field is too long"))?;
        let start = field.value.as_ptr() as usize - base as usize;
        // An empty value may point anywhere.
        let value = match field.value.len() {
            0 => Bytes::new(),
            length => raw.slice(start..start + length),
        };
        let value = match is_plain {
            true => value,
            false => unfolded(value),
        };
        let value = HeaderValue::from_maybe_shared(value);
        let value = value.map_err(|_| invalid("the value of a field has control characters"))?;
        headers.append(name, value);
    }
    Ok(headers)
}

/// A value with blanks in place of line breaks.
fn unfolded(value: Bytes) -> Bytes {
    let is_break = |byte: &u8| matches!(byte, b'\r' | b'\n');
    match memchr::memchr(b'\n', &value) {
        None => value,
        Some(_) => value
            .iter()
            .map(|byte| if is_break(byte) { b' ' } else { *byte })
            .collect(),
    }
}

/// # Errors
/// The lengths are not one number.
fn parse_framing(headers: &HeaderMap) -> Result<ResponseFraming, Box<Error>> {
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
        let length = parse_digits(length.trim_ascii());
        let length = length.ok_or_else(|| invalid("`content-length` is not a number"))?;
        if declared.is_some_and(|declared| declared != length) {
            return Err(invalid("two values of `content-length` differ"));
        }
        declared = Some(length);
    }
    Ok(declared.map_or(ResponseFraming::Connection, ResponseFraming::Length))
}

/// Whether every parser reads the same lines: they end in CRLF, none continues another one, and names end at the colon.
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
        Some(colon) => !line[0].is_ascii_whitespace() && !line[colon - 1].is_ascii_whitespace(),
    }
}

fn invalid(reason: &'static str) -> Box<Error> {
    Error::explain(ErrorType::InvalidHTTPHeader, reason)
}
