//! Checks the raw bytes of an HTTP/1.1 response: whether a chunked body ends where every parser finds its end.
//!
//! Pingora's decoder accepts chunks that the grammar forbids, and could end a body where another parser does not. Chunk
//! extensions and trailers, which no provider sends, count as irregular too.

use crate::gateway::chunk_grammar::{ChunkGrammar, ChunkScanResult};
use crate::gateway::intercepted_stream::{InterceptedConnection, ReadInterceptor};
use bytes::Bytes;
use pingora_core::protocols::Stream;
use pingora_core::protocols::http::v1::client::HttpSession;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};

/// Position in a provider's response to one request.
pub enum ResponseFramingTracker {
    Head(HeadLineScanner),
    /// In a chunked body that is regular so far.
    Chunks(ChunkGrammar),
    /// After the last byte of a regular chunked body.
    End,
    /// The body is not chunked, or is irregular.
    Other,
}

/// State of the current line of a head.
#[derive(Default)]
pub struct HeadLineScanner {
    bytes: usize,
    begins_with_return: bool,
}

impl Default for ResponseFramingTracker {
    fn default() -> Self {
        Self::Head(HeadLineScanner::default())
    }
}

impl ResponseFramingTracker {
    /// Whether the chunked body that `session` has read was regular to its end.
    pub fn ended_in_plain_chunks(session: &HttpSession) -> bool {
        let response = InterceptedConnection::<Self>::interceptor(session.stream());
        matches!(response, Some(Self::End))
    }

    /// Corks or uncorks the connection of `session`.
    pub fn set_corked(session: &HttpSession, is_corked: bool) {
        InterceptedConnection::<Self>::set_corked(session.stream(), is_corked);
    }

    /// Lends the bytes that are written to the connection of `session` next, as [`InterceptedConnection::lend`].
    pub fn lend(session: &HttpSession, bytes: Bytes) {
        InterceptedConnection::<Self>::lend(session.stream(), bytes);
    }

    /// Processes the next bytes of the connection.
    fn take(&mut self, bytes: &[u8]) {
        let mut body = bytes;
        if let Self::Head(line) = self {
            let Some(end) = line.find_end(bytes) else {
                return;
            };
            *self = Self::Chunks(ChunkGrammar::default());
            body = &bytes[end..];
        }
        if body.is_empty() {
            return;
        }
        *self = match self {
            Self::Chunks(grammar) => match grammar.scan(body) {
                ChunkScanResult::Open if grammar.is_plain() => return,
                ChunkScanResult::End(at) if at == body.len() && grammar.is_plain() => Self::End,
                _ => Self::Other,
            },
            _ => Self::Other,
        };
    }
}

impl HeadLineScanner {
    /// The position after the empty line that ends the head, if it is in `bytes`.
    fn find_end(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', bytes) {
            self.extend(&bytes[start..end]);
            start = end + 1;
            if self.bytes == 0 || self.bytes == 1 && self.begins_with_return {
                return Some(start);
            }
            *self = Self::default();
        }
        self.extend(&bytes[start..]);
        None
    }

    fn extend(&mut self, piece: &[u8]) {
        if self.bytes == 0 {
            self.begins_with_return = piece.first() == Some(&b'\r');
        }
        self.bytes += piece.len();
    }
}

impl ReadInterceptor for ResponseFramingTracker {
    fn poll_read(
        &mut self,
        stream: &mut Stream,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(stream).poll_read(context, buffer))?;
        self.take(&buffer.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::ResponseFramingTracker;

    #[test]
    fn only_a_plain_chunked_body_counts_as_ended() {
        for (body, ends) in [
            ("0\r\n\r\n", true),
            ("2\r\n{}\r\n0\r\n\r\n", true),
            ("00A\r\n0123456789\r\n1\r\n\n\r\n000\r\n\r\n", true),
            ("", false),
            ("2\r\n{}\r\n", false),
            ("2\r\n{}\r\n0\r\n", false),
            ("2\r\n{}\r\n0\r\n\r\nX", false),
            ("2\r\n{}\r\n\r\n", false),
            ("\r\n", false),
            ("2\n{}\n0\n\n", false),
            ("2 \r\n{}\r\n0\r\n\r\n", false),
            ("2;a\r\n{}\r\n0\r\n\r\n", false),
            ("2\r\n{}\r\n0\r\na: b\r\n\r\n", false),
            ("0x2\r\n{}\r\n0\r\n\r\n", false),
            ("00000000000000000\r\n\r\n", false),
            ("{}", false),
        ] {
            for head in ["HTTP/1.1 200 OK\r\nA: b\r\n\r\n", "HTTP/1.1 200 OK\n\n"] {
                let response = format!("{head}{body}");
                for size in [1, 2, 3, 5, 7, response.len()] {
                    let mut bytes = ResponseFramingTracker::default();
                    for piece in response.as_bytes().chunks(size) {
                        bytes.take(piece);
                    }
                    assert_eq!(
                        matches!(bytes, ResponseFramingTracker::End),
                        ends,
                        "{body:?} in pieces of {size}"
                    );
                }
            }
        }
    }
}
