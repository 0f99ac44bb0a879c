//! Writes the response of a request to its HTTP/1.1 connection.

use super::Http1ServerSession;
use super::response_writer::{ResponseBodyFraming, encode_head};
use crate::deadline::{DeadlineElapsed, in_time};
use bytes::{Buf, Bytes};
use http::{HeaderMap, Method, StatusCode, header};
use std::io::{self, Cursor, IoSlice, Write};
use std::pin::pin;
use tokio::io::{AsyncWrite, AsyncWriteExt};

/// The end of a chunked body (RFC 9112, section 7.1).
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";
/// The end of a chunk, and of the body behind it.
const CHUNK_END_AND_LAST_CHUNK: &[u8] = b"\r\n0\r\n\r\n";

/// The response to the current request, as far as it was written.
#[derive(Default)]
pub(super) struct ResponseInProgress {
    status: Option<StatusCode>,
    body: ResponseBodyFraming,
    unsent: UnsentBytes,
}

/// What leaves with the next write, in this order. Kept here, so that a write that is dropped can be continued.
#[derive(Default)]
struct UnsentBytes {
    /// The head of the response, and the size of a chunk.
    head: Cursor<Vec<u8>>,
    data: Bytes,
    tail: &'static [u8],
}

impl Http1ServerSession {
    /// The status of the response; `None` before its head was written.
    pub fn response_status(&self) -> Option<StatusCode> {
        self.response.status
    }

    /// Lets the client send its body (RFC 9110, section 15.2.1).
    ///
    /// # Errors
    /// The connection broke.
    pub async fn write_continue(&mut self) -> io::Result<()> {
        // Goes before the head of the response, even if this write is dropped.
        self.response.unsent.head = Cursor::new(b"HTTP/1.1 100 Continue\r\n\r\n".to_vec());
        self.write_unsent().await
    }

    /// Writes the head of the response. It leaves with the first bytes of the body, or at once if these may come much later.
    ///
    /// # Errors
    /// The connection broke, or the client did not take it in time.
    pub async fn write_head(&mut self, status: StatusCode, headers: &HeaderMap) -> io::Result<()> {
        self.begin_response(status, headers);
        match self.response.body {
            ResponseBodyFraming::Length(_) => Ok(()),
            _ => self.write_unsent().await,
        }
    }

    /// Writes a piece of the body, and its end after the last one.
    ///
    /// # Errors
    /// The connection broke, the client did not take the piece in time, or the body ends before its declared length.
    pub async fn write_body(&mut self, data: Bytes, is_end: bool) -> io::Result<()> {
        // A write that was dropped is continued first.
        let unsent = &self.response.unsent;
        if !unsent.data.is_empty() || !unsent.tail.is_empty() {
            self.write_unsent().await?;
        }
        self.response.push(data, is_end);
        self.write_unsent().await?;
        match self.response.body {
            ResponseBodyFraming::Length(_) if is_end => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    /// Closes the connection for writing, so that the client notices the end.
    pub async fn shutdown(&mut self) {
        // The connection is no longer used, so an error does not matter.
        let _ = self.write_unsent().await;
        let _ = AsyncWriteExt::shutdown(&mut self.stream).await;
    }

    fn begin_response(&mut self, status: StatusCode, headers: &HeaderMap) {
        let is_head_request = self.request.parts.method == Method::HEAD;
        let body = ResponseBodyFraming::declared_by(status, headers, is_head_request);
        self.keeps_connection &= body != ResponseBodyFraming::Connection;
        let connection = match self.keeps_connection {
            _ if status == StatusCode::SWITCHING_PROTOCOLS => "upgrade",
            true => "keep-alive",
            // The client must change the protocol, on another connection.
            false if headers.contains_key(header::UPGRADE) => "upgrade, close",
            false => "close",
        };
        self.response.status = Some(status);
        self.response.body = body;
        let head = self.response.unsent.head.get_mut();
        encode_head(head, status, headers, connection);
    }

    async fn write_unsent(&mut self) -> io::Result<()> {
        let (stream, unsent) = (&mut self.stream, &mut self.response.unsent);
        let writing = pin!(in_time(self.write_timeout, async {
            unsent.write_to(stream).await?;
            // Frees what it took.
            *unsent = UnsentBytes::default();
            // Also after a write that was dropped before its own.
            stream.flush().await
        }));
        let written = writing.await;
        written.unwrap_or_else(|DeadlineElapsed| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl ResponseInProgress {
    /// Adds a piece of the body to what leaves with the next write.
    fn push(&mut self, mut data: Bytes, is_end: bool) {
        let unsent = &mut self.unsent;
        match self.body {
            ResponseBodyFraming::Ended => return,
            ResponseBodyFraming::Length(left) => {
                // What exceeds the declared length would be taken for the next response.
                data.truncate(usize::try_from(left).unwrap_or(usize::MAX));
                self.body = match left - data.len() as u64 {
                    0 => ResponseBodyFraming::Ended,
                    left => ResponseBodyFraming::Length(left),
                };
                unsent.data = data;
                return;
            }
            ResponseBodyFraming::Connection => unsent.data = data,
            ResponseBodyFraming::Chunked if data.is_empty() => {
                unsent.tail = if is_end { LAST_CHUNK } else { b"" };
            }
            ResponseBodyFraming::Chunked => {
                // Writing to memory does not fail.
                let _ = write!(unsent.head.get_mut(), "{:X}\r\n", data.len());
                unsent.data = data;
                unsent.tail = match is_end {
                    true => CHUNK_END_AND_LAST_CHUNK,
                    false => b"\r\n",
                };
            }
        }
        if is_end {
            self.body = ResponseBodyFraming::Ended;
        }
    }
}

impl UnsentBytes {
    /// Like `write_all_buf`, which would make a list of 64 slices for each write.
    async fn write_to(&mut self, stream: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        let mut all = self.all();
        while all.has_remaining() {
            let mut slices = [IoSlice::new(&[]); 3];
            let count = all.chunks_vectored(&mut slices);
            match stream.write_vectored(&slices[..count]).await? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                written => all.advance(written),
            }
        }
        Ok(())
    }

    fn all(&mut self) -> impl Buf {
        let body = (&mut self.data).chain(&mut self.tail);
        (&mut self.head).chain(body)
    }
}
