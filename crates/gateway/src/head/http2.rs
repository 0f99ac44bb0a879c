//! Additional checks of an HTTP/2 request head, where the HTTP/2 library is lenient.

use super::{bad, is_host};
use headgate_http2_inspection::{MALFORMED, MalformedHeadReason};
use headgate_protocol::digits::parse_digits;
use headgate_protocol::fault::Fault;
use http::{HeaderMap, Uri, header};

pub(super) fn check(uri: &Uri, headers: &HeaderMap) -> Result<(), Fault> {
    if let Some(digit) = headers.get(MALFORMED) {
        // The inspection of the connection has appended this field; no client has a reason to send it.
        let malformed = MalformedHeadReason::from_digit(digit.as_bytes());
        let message = malformed.map_or(
            "malformed HTTP/2 request: invalid header section",
            MalformedHeadReason::message,
        );
        return Err(bad(message));
    }
    let authority = uri
        .authority()
        .map(|authority| authority.as_str().as_bytes());
    let host = headers.get(header::HOST).map(|host| host.as_bytes());
    // If both are present, they are equal.
    if !authority.or(host).is_some_and(is_host) {
        return Err(bad(
            "`:authority` must be a host name, with a port or without",
        ));
    }
    let mut lengths = headers.get_all(header::CONTENT_LENGTH).iter();
    let length = lengths.next().map(|length| parse_digits(length.as_bytes()));
    if length == Some(None) || lengths.next().is_some() {
        return Err(bad(
            "`content-length` must be one decimal number; send it once",
        ));
    }
    if headers.contains_key("content_length") || headers.contains_key("transfer_encoding") {
        return Err(bad(
            "header names `content_length` and `transfer_encoding` are refused; write them with a hyphen",
        ));
    }
    Ok(())
}
