//! Decides whether an upstream connection may carry another request after its response.

use super::response_bytes::ResponseFramingTracker;
use http::{StatusCode, Version, header};
use pingora_core::protocols::http::client::HttpSession;
use pingora_http::ResponseHeader;

/// Whether the end of the response is unambiguous: otherwise the next bytes on the connection could belong to it.
/// HTTP/2 frames are always unambiguous.
pub fn is_plain(session: &HttpSession) -> bool {
    let HttpSession::H1(session) = session else {
        return true;
    };
    let Some(head) = session.resp_header() else {
        return false;
    };
    let framing = ResponseFraming::read(&session.get_headers_raw_bytes());
    let ends_plainly = match framing {
        None => false,
        Some(ResponseFraming::Chunked) => ResponseFramingTracker::ended_in_plain_chunks(session),
        Some(ResponseFraming::Silent | ResponseFraming::Length) => true,
    };
    stays_open(head) && ends_plainly && framing.is_some_and(|framing| framing.fits(head.status))
}

fn stays_open(head: &ResponseHeader) -> bool {
    let options = head.headers.get_all(header::CONNECTION).iter();
    let has_close = options
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|option| option.trim().eq_ignore_ascii_case("close"));
    head.version == Version::HTTP_11 && !has_close
}

/// The framing that a response head declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResponseFraming {
    /// No framing header.
    Silent,
    Length,
    Chunked,
}

impl ResponseFraming {
    /// The framing of a raw head; `None` if another parser could read the head differently.
    fn read(head: &[u8]) -> Option<Self> {
        let mut rest = head.strip_suffix(b"\r\n")?;
        if !take_line(&mut rest)?.starts_with(b"HTTP/1.1 ") {
            return None;
        }
        let mut framing = Self::Silent;
        while !rest.is_empty() {
            let line = take_line(&mut rest)?;
            let colon = memchr::memchr(b':', line)?;
            let (name, value) = line.split_at(colon);
            if name.last()?.is_ascii_whitespace() || name[0].is_ascii_whitespace() {
                return None;
            }
            let value = value[1..].trim_ascii();
            let declared = if name.eq_ignore_ascii_case(b"content-length") {
                value
                    .iter()
                    .all(u8::is_ascii_digit)
                    .then_some(Self::Length)?
            } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
                value
                    .eq_ignore_ascii_case(b"chunked")
                    .then_some(Self::Chunked)?
            } else {
                continue;
            };
            if framing != Self::Silent {
                return None;
            }
            framing = declared;
        }
        Some(framing)
    }

    /// Whether a response with this status may have this framing.
    fn fits(self, status: StatusCode) -> bool {
        match status {
            StatusCode::NO_CONTENT => self == Self::Silent,
            StatusCode::NOT_MODIFIED => self != Self::Chunked,
            _ => true,
        }
    }
}

/// Takes the next line; `None` if it does not end in CRLF.
fn take_line<'h>(rest: &mut &'h [u8]) -> Option<&'h [u8]> {
    let (line, behind) = rest.split_at(memchr::memchr(b'\n', rest)? + 1);
    *rest = behind;
    line.strip_suffix(b"\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_unambiguous_head_has_a_framing() {
        for (head, framing) in [
            ("HTTP/1.1 200 OK\r\n\r\n", Some(ResponseFraming::Silent)),
            (
                "HTTP/1.1 200 \r\nA: b\r\nContent-Length: 2\r\n\r\n",
                Some(ResponseFraming::Length),
            ),
            (
                "HTTP/1.1 200 OK\r\ntransfer-encoding:  Chunked \r\nA:\r\n\r\n",
                Some(ResponseFraming::Chunked),
            ),
            ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n", None),
            ("\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", None),
            ("HTTP/1.1 200 OK\nContent-Length: 2\n\n", None),
            ("HTTP/1.1 200 OK\r\nA: b\nContent-Length: 2\r\n\r\n", None),
            ("HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\n", None),
            ("HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", None),
            ("HTTP/1.1 200 OK\r\nA: b\r\n c: d\r\n\r\n", None),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\ncontent-length: 2\r\n\r\n",
                None,
            ),
            ("HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\n", None),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
                None,
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: x, chunked\r\n\r\n",
                None,
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
                None,
            ),
        ] {
            assert_eq!(ResponseFraming::read(head.as_bytes()), framing, "{head:?}");
        }
    }
}
