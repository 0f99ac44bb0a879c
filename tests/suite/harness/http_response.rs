//! Whole responses of scripted servers, byte for byte.

use std::fmt::Display;

/// A response with this status, these header lines, each ended by CRLF, and this body, whose length is declared.
pub fn http_response(status: u16, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let length = body.len();
    let head = format!("HTTP/1.1 {status} Status\r\n{headers}Content-Length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

/// A response with this status, and a body of this content type.
pub fn typed_response(status: u16, content_type: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    http_response(status, &format!("Content-Type: {content_type}\r\n"), body)
}

/// A response with this status and this JSON.
pub fn json_response(status: u16, body: impl Display) -> Vec<u8> {
    typed_response(status, "application/json", body.to_string())
}
