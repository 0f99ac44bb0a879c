//! Why what a caller sends over HTTP/1.1 is no request.

use std::io;

/// Nothing more is read from the connection after one of these.
#[derive(Debug, thiserror::Error)]
pub enum Http1ReadError {
    #[error("the header section is larger than `server.limits.header_size`")]
    HeadTooLarge,
    #[error("the request has more header fields than a head may have")]
    TooManyFields,
    /// RFC 9112, section 3.
    #[error("the request line violates RFC 9112, section 3")]
    RequestLine,
    #[error("the request target is neither a path nor a URL")]
    Target,
    /// The text of the parser does not quote the head, which holds the caller's key.
    #[error("malformed header section: {0}")]
    Head(httparse::Error),
    #[error("the header section ends at an ambiguous place")]
    HeadEnd,
    #[error("the chunked body violates RFC 9112, section 7.1")]
    Chunks,
    #[error("the connection ended before the request did")]
    Closed,
    #[error("the connection failed: {0}")]
    Connection(#[from] io::Error),
}
