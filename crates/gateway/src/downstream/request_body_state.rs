//! Whether the caller's body was read, and what the head declares about it until then.

use headgate_protocol::digits::parse_digits;
use http::request::Parts;
use http::{Version, header};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestBodyState {
    Unread {
        /// Length in bytes, as the caller declares it.
        declared: Option<u64>,
        /// Whether the caller waits for 100 (Continue) before it sends the body.
        expects_continue: bool,
    },
    Read,
}

impl RequestBodyState {
    /// That of a request with a body.
    pub fn declared_by(head: &Parts) -> Self {
        let length = head.headers.get(header::CONTENT_LENGTH);
        let length = length.and_then(|length| parse_digits(length.as_bytes()));
        let expect = head.headers.get(header::EXPECT);
        Self::Unread {
            // Only the end of an HTTP/2 stream shows whether a length of 0 is true.
            declared: length.filter(|bytes| *bytes > 0),
            // RFC 9110, section 15.2: a server must not send informational responses to HTTP/1.0 clients.
            expects_continue: head.version > Version::HTTP_10
                && expect
                    .is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue")),
        }
    }
}
