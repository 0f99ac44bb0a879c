//! One HTTP/1.1 exchange on a connection to a provider: writes the request, reads the response.
//!
//! Reads keep what they have received: a read whose future was dropped continues with the next one.

mod response_body;
#[cfg(any(test, feature = "fuzzing"))]
#[path = "http1/tests/response_check.rs"]
pub mod response_check;
mod response_head;

use super::request_head::RequestHead;
use crate::deadline::in_time;
use crate::read_buffer;
use bytes::{Bytes, BytesMut};
use headgate_protocol::json::edit::BodySegments;
use http::Method;
use pingora_core::protocols::Stream;
use pingora_error::{Error, ErrorType};
use response_body::{BodyDecodeResult, ResponseBody};
pub(super) use response_head::ResponseHead;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Room for the first read of a response, in bytes: nearly all heads fit, and most events.
const READ_MIN: usize = 8 << 10;
/// Largest read of a body, in bytes.
const READ_MAX: usize = 64 << 10;
/// Maximum size of a response's head, in bytes.
const HEAD_MAX: usize = 1 << 20;
/// Pieces of a request that leave in one system call: a head and the segments of an edited body are fewer.
const SLICES_MAX: usize = 16;

const CLOSED_EARLY: &str = "the provider closed the connection before the end of its response";

/// An HTTP/1.1 connection during one request and its response.
pub struct Http1Session {
    stream: Stream,
    /// What was received and is not decoded yet.
    received: BytesMut,
    /// Room for the next read of a body, in bytes.
    read_size: usize,
    head: Option<Box<ResponseHead>>,
    body: ResponseBody,
    /// The body of the request is sent in chunks.
    is_request_chunked: bool,
    /// The response has no body, whatever its head declares.
    is_head_request: bool,
    /// Maximum time of a write in which the provider takes nothing.
    write_idle: Duration,
}

impl Http1Session {
    pub fn new(stream: Stream) -> Self {
        Self {
            stream,
            received: BytesMut::new(),
            read_size: READ_MIN,
            head: None,
            body: ResponseBody::Ended,
            is_request_chunked: false,
            is_head_request: false,
            write_idle: Duration::MAX,
        }
    }

    /// Writes the head of a request together with `body`, if that is known as a whole.
    ///
    /// # Errors
    /// The connection broke, or the provider took nothing for `idle`.
    pub async fn write_request(
        &mut self,
        head: &RequestHead<'_>,
        body: Option<&BodySegments>,
        idle: Duration,
    ) -> Result<(), Box<Error>> {
        self.write_idle = idle;
        self.is_head_request = head.method == Method::HEAD;
        self.is_request_chunked = head.has_unknown_length;
        let head = head.to_http1();
        let segments = body.map_or(&[][..], |body| body.iter().as_slice());
        let (first, rest) = segments.split_at(segments.len().min(SLICES_MAX - 1));
        let mut slices = [IoSlice::new(&[]); SLICES_MAX];
        slices[0] = IoSlice::new(&head);
        set_slices(&mut slices[1..], first);
        self.write_slices(&mut slices[..=first.len()]).await?;
        for next in rest.chunks(SLICES_MAX) {
            set_slices(&mut slices, next);
            self.write_slices(&mut slices[..next.len()]).await?;
        }
        self.flush().await
    }

    /// Writes a piece of a request's body that is still arriving.
    ///
    /// # Errors
    /// Like [`Self::write_request`].
    pub async fn write_piece(&mut self, piece: &Bytes) -> Result<(), Box<Error>> {
        if piece.is_empty() {
            return Ok(());
        }
        if self.is_request_chunked {
            let size = format!("{:X}\r\n", piece.len());
            let mut slices = [size.as_bytes(), piece, b"\r\n"].map(IoSlice::new);
            self.write_slices(&mut slices).await?;
        } else {
            self.write_slices(&mut [IoSlice::new(piece)]).await?;
        }
        self.flush().await
    }

    /// Writes the end of a request's body that was written in pieces.
    ///
    /// # Errors
    /// Like [`Self::write_request`].
    pub async fn finish_pieces(&mut self) -> Result<(), Box<Error>> {
        if self.is_request_chunked {
            self.write_slices(&mut [IoSlice::new(b"0\r\n\r\n")]).await?;
            self.flush().await?;
        }
        Ok(())
    }

    /// Reads the head of the next response, which may be an informational one.
    ///
    /// # Errors
    /// The connection broke, or what it sent is not the head of a response.
    pub async fn read_head(&mut self) -> Result<(), Box<Error>> {
        loop {
            if !self.received.is_empty()
                && let Some(mut head) = ResponseHead::take(&mut self.received)?
            {
                head.follow(self.head.as_deref());
                self.body = ResponseBody::for_head(&head, self.is_head_request);
                self.head = Some(Box::new(head));
                return Ok(());
            }
            let bytes = self.received.len();
            if bytes > HEAD_MAX {
                let reason = format!("the head of the response is larger than {HEAD_MAX} bytes");
                return Error::e_explain(ErrorType::InvalidHTTPHeader, reason);
            }
            if self.read_more(READ_MIN).await? == 0 {
                let reason = format!("{CLOSED_EARLY}: {bytes} bytes of a head");
                return Error::e_explain(ErrorType::ConnectionClosed, reason);
            }
        }
    }

    /// The head that was read last.
    pub fn head(&self) -> Option<&ResponseHead> {
        self.head.as_deref()
    }

    /// The next chunk of the body, as it arrives; `None` at its end.
    ///
    /// # Errors
    /// The connection broke, or the body violates the grammar of chunks.
    pub async fn read_body(&mut self) -> Result<Option<Bytes>, Box<Error>> {
        loop {
            match self.body.decode(&mut self.received)? {
                BodyDecodeResult::Chunk(chunk) => return Ok(Some(chunk)),
                BodyDecodeResult::End => return Ok(None),
                BodyDecodeResult::Incomplete => {}
            }
            let room = self.body.left().map_or(self.read_size, |left| {
                usize::try_from(left).map_or(READ_MAX, |left| left.min(READ_MAX))
            });
            match self.read_more(room).await? {
                0 if self.body.ends_with_connection() => return Ok(None),
                0 => return Error::e_explain(ErrorType::ConnectionClosed, CLOSED_EARLY),
                read if read >= self.read_size => self.read_size = READ_MAX.min(read * 2),
                read if read < self.read_size / 4 => self.read_size = READ_MIN,
                _ => {}
            }
        }
    }

    /// Whether the body is known to have ended.
    pub fn is_body_done(&self) -> bool {
        self.head.is_some() && self.body.has_ended()
    }

    /// Whether the connection may carry another request: the response was read to its end, and no other parser could
    /// see its end elsewhere.
    pub fn is_reusable(&self) -> bool {
        let head = self.head.as_ref();
        head.is_some_and(|head| head.keeps_connection())
            && self.body.ended_plainly()
            && self.received.is_empty()
    }

    /// The connection, for the next request.
    pub fn into_stream(self) -> Stream {
        self.stream
    }

    /// The connection and what was received after the last head, for the protocol that a 101 (Switching Protocols) has begun.
    pub fn into_tunnel(self) -> (Stream, BytesMut) {
        (self.stream, self.received)
    }

    /// Closes the connection.
    pub async fn shutdown(&mut self) {
        let _ = self.stream.shutdown().await;
    }

    async fn write_slices(&mut self, slices: &mut [IoSlice<'_>]) -> Result<(), Box<Error>> {
        let mut slices = slices;
        // Advancing removes empty slices at the front.
        IoSlice::advance_slices(&mut slices, 0);
        while !slices.is_empty() {
            let stream = &mut self.stream;
            let writing =
                poll_fn(|context| Pin::new(&mut *stream).poll_write_vectored(context, slices));
            let written = in_time(self.write_idle, pin!(writing)).await;
            let written = written.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
            match written.map_err(write_error)? {
                0 => return Err(write_error(io::ErrorKind::WriteZero.into())),
                written => IoSlice::advance_slices(&mut slices, written),
            }
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), Box<Error>> {
        let flushed = in_time(self.write_idle, pin!(self.stream.flush())).await;
        let flushed = flushed.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        flushed.map_err(write_error)
    }

    /// Reads what has arrived, up to `room` bytes; returns 0 if the provider closed the connection.
    async fn read_more(&mut self, room: usize) -> Result<usize, Box<Error>> {
        let read = poll_fn(|context| {
            read_buffer::take_room(&mut self.received, room);
            let read = pin!(self.stream.read_buf(&mut self.received)).poll(context);
            if read.is_pending() {
                read_buffer::give_room_back(&mut self.received);
            }
            read
        });
        read.await.map_err(|error| {
            Error::because(ErrorType::ReadError, "while reading a response", error)
        })
    }
}

fn set_slices<'p>(slices: &mut [IoSlice<'p>], pieces: &'p [Bytes]) {
    for (slice, piece) in slices.iter_mut().zip(pieces) {
        *slice = IoSlice::new(piece);
    }
}

fn write_error(error: io::Error) -> Box<Error> {
    let kind = match error.kind() {
        io::ErrorKind::TimedOut => ErrorType::WriteTimedout,
        _ => ErrorType::WriteError,
    };
    Error::because(kind, "while writing a request", error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderMap, HeaderValue, Uri, uri::Scheme};
    use tokio::io::duplex;
    use tokio::time::timeout;

    const LONG: Duration = Duration::from_secs(3600);

    /// Sends `body` over a connection that takes `bytes_max` bytes at a time; returns what the provider received.
    async fn sent(body: BodySegments, bytes_max: usize) -> String {
        let (near, mut far) = duplex(bytes_max);
        let sending = tokio::spawn(async move {
            let mut session = Http1Session::new(Box::new(near));
            let authority = HeaderValue::from_static("a.example");
            let head = RequestHead {
                method: &Method::POST,
                target: &Uri::from_static("/x"),
                headers: &HeaderMap::new(),
                scheme: Scheme::HTTP,
                authority: &authority,
                has_unknown_length: false,
            };
            session.write_request(&head, Some(&body), LONG).await
        });
        let mut received = String::new();
        far.read_to_string(&mut received).await.unwrap();
        sending.await.unwrap().unwrap();
        received
    }

    #[tokio::test]
    async fn all_segments_arrive_in_order_over_a_connection_that_takes_few_bytes_at_a_time() {
        let parts = |count: usize| (0..count).map(|part| format!("part {part}, "));
        for count in [0, 1, SLICES_MAX - 1, SLICES_MAX, SLICES_MAX * 3] {
            for bytes_max in [1, 7, 1 << 16] {
                let body = BodySegments::from_iter(parts(count).map(Bytes::from));
                let text: String = parts(count).collect();
                let wanted = format!("POST /x HTTP/1.1\r\n\r\n{text}");
                assert_eq!(sent(body, bytes_max).await, wanted, "{count} {bytes_max}");
            }
        }
    }

    #[tokio::test]
    async fn a_response_is_read_in_whatever_pieces_it_arrives() {
        let body = "x".repeat(100);
        let chunks = format!("64\r\n{body}\r\n0\r\n\r\n");
        for (response, is_reusable) in [
            (format!("Content-Length: 100\r\n\r\n{body}"), true),
            (format!("Transfer-Encoding: chunked\r\n\r\n{chunks}"), true),
            (format!("\r\n{body}"), false),
            (format!("Content-Length: 100\r\n\r\n{body}HTTP"), false),
        ] {
            for bytes_max in [1, 7, 1 << 16] {
                let (near, mut far) = duplex(bytes_max);
                let informational = "HTTP/1.1 103 Early Hints\r\n\r\n";
                let response = format!("{informational}HTTP/1.1 200 OK\r\n{response}");
                tokio::spawn(async move { far.write_all(response.as_bytes()).await });
                let mut session = Http1Session::new(Box::new(near));
                for status in [103, 200] {
                    session.read_head().await.unwrap();
                    assert_eq!(session.head().unwrap().status, status);
                }
                let mut read = Vec::new();
                while let Some(chunk) = session.read_body().await.unwrap() {
                    read.extend_from_slice(&chunk);
                }
                assert_eq!(read, body.as_bytes());
                // Bytes after the end are seen here if they came with it, otherwise by the pool.
                if bytes_max > 7 {
                    assert_eq!(session.is_reusable(), is_reusable);
                }
            }
        }
    }

    #[test]
    fn a_response_is_read_in_pieces_as_it_is_read_whole() {
        for response in [
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
            "HTTP/1.1 100 Continue\n\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a\r\n{}\r\n0\r\n\r\n",
            "HTTP/1.1 204 No Content\r\n\r\n",
            "HTTP/1.1 200 OK\n\n{}",
            "HTTP/1.1 200",
        ] {
            for sizes in [&[1][..], &[2, 5], &[64]] {
                assert_eq!(response_check::check(response.as_bytes(), sizes), Ok(()));
            }
        }
    }

    #[tokio::test]
    async fn a_connection_has_no_read_buffer_while_it_waits_for_the_next_chunk() {
        let (near, mut far) = duplex(1 << 10);
        let mut session = Http1Session::new(Box::new(near));
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        far.write_all(head.as_bytes()).await.unwrap();
        session.read_head().await.unwrap();
        for _ in 0..3 {
            far.write_all(b"5\r\nevent\r\n").await.unwrap();
            assert_eq!(session.read_body().await.unwrap().unwrap(), "event");
            let waiting = timeout(Duration::from_millis(1), session.read_body()).await;
            assert!(waiting.is_err());
            assert_eq!(session.received.capacity(), 0);
        }
    }

    #[tokio::test]
    async fn a_response_that_breaks_off_is_an_error() {
        for response in [
            "",
            "HTTP/1.1 200 OK\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
        ] {
            let (near, mut far) = duplex(1 << 10);
            far.write_all(response.as_bytes()).await.unwrap();
            drop(far);
            let mut session = Http1Session::new(Box::new(near));
            let read = async {
                session.read_head().await?;
                while session.read_body().await?.is_some() {}
                Ok::<_, Box<Error>>(())
            };
            let error = read.await.unwrap_err();
            assert_eq!(*error.etype(), ErrorType::ConnectionClosed, "{response:?}");
        }
    }
}
