//! Reads a client's HTTP/2 connection, and rejects what is malformed, too large or too slow before it is stored.

mod connection;

pub(crate) use connection::InspectedConnection;

use crate::timers::fast_sleep;
use headgate_http2_inspection::{Http2Inspector, OutputFrameTracker};
use pingora_core::protocols::Stream;
use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Capacity that is kept of the buffer for inspected bytes.
const READY_BYTES: usize = 1 << 10;

/// Passes a connection's inspected bytes to the HTTP/2 library, and sends the inspection's own frames between those of the
/// library.
pub(crate) struct Http2Reader {
    inspector: Http2Inspector,
    /// Inspected bytes that the library has not read yet.
    ready: Vec<u8>,
    taken: usize,
    output: OutputFrameTracker,
    /// Whether frames of the inspection were written and not flushed.
    unflushed: bool,
    header_timeout: Duration,
    /// Runs while a header block is incomplete.
    late: Option<Pin<Box<dyn Future<Output = ()> + Send + Sync>>>,
    on_refused_list: Box<dyn Fn() + Send + Sync>,
}

impl Http2Reader {
    /// Calls `on_refused_list` for each request that the library rejects for the size of its header list.
    pub fn new(
        header_size: usize,
        header_timeout: Duration,
        on_refused_list: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        Self {
            inspector: Http2Inspector::new(header_size),
            ready: Vec::new(),
            taken: 0,
            output: OutputFrameTracker::default(),
            unflushed: false,
            header_timeout,
            late: None,
            on_refused_list: Box::new(on_refused_list),
        }
    }

    /// Copies inspected bytes to `buffer`; `false` if there are none.
    fn take_ready(&mut self, buffer: &mut ReadBuf<'_>) -> bool {
        let rest = &self.ready[self.taken..];
        if rest.is_empty() {
            return false;
        }
        let given = rest.len().min(buffer.remaining());
        buffer.put_slice(&rest[..given]);
        self.taken += given;
        if self.taken == self.ready.len() {
            self.taken = 0;
            self.ready.clear();
            self.ready.shrink_to(READY_BYTES);
        }
        true
    }

    /// Writes the inspection's own frames, unless the library has written a part of one. Ready when none is left.
    fn poll_replies(
        &mut self,
        stream: &mut Stream,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let (_, replies) = self.inspector.output();
        if replies.is_empty() || !self.output.is_between_frames() {
            return Poll::Ready(Ok(()));
        }
        while !replies.is_empty() {
            let written = ready!(Pin::new(&mut *stream).poll_write(context, replies))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            replies.drain(..written);
            self.unflushed = true;
        }
        *replies = Vec::new();
        Poll::Ready(Ok(()))
    }

    /// Sends the inspection's own frames, as far as the connection takes them now. An error is that of the next read or
    /// write, too.
    fn send_replies(&mut self, stream: &mut Stream, context: &mut Context<'_>) {
        let is_written = matches!(self.poll_replies(stream, context), Poll::Ready(Ok(())));
        if is_written && self.unflushed {
            self.unflushed = Pin::new(&mut *stream).poll_flush(context).is_pending();
        }
    }

    /// Ready when a header block has exceeded its deadline.
    fn poll_late(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if !self.inspector.is_in_head() {
            return Poll::Pending;
        }
        let deadline = self.header_timeout;
        let late = self
            .late
            .get_or_insert_with(|| Box::pin(fast_sleep(deadline)));
        late.as_mut().poll(context)
    }

    /// Reads from `stream` what the library gets: inspected bytes.
    ///
    /// # Errors
    /// An error of the connection, or a head that is late; the library then reads no further.
    fn poll_read(
        &mut self,
        stream: &mut Stream,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            if self.take_ready(buffer) {
                return Poll::Ready(Ok(()));
            }
            self.send_replies(stream, context);
            if self.inspector.is_over() {
                return Poll::Ready(Ok(()));
            }
            let before = buffer.filled().len();
            let read = Pin::new(&mut *stream).poll_read(context, buffer);
            if read.is_pending() {
                ready!(self.poll_late(context));
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            ready!(read)?;
            let received = &buffer.filled()[before..];
            if received.is_empty() {
                return Poll::Ready(Ok(()));
            }
            let in_place = self.inspector.inspect(received, &mut self.ready);
            buffer.set_filled(before + in_place);
            for _ in 0..self.inspector.take_refused_lists() {
                (self.on_refused_list)();
            }
            if !self.inspector.is_in_head() {
                self.late = None;
            }
            if in_place > 0 {
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// Writes frames of the library to `stream`. Returns how many bytes of `slices` were written.
    ///
    /// # Errors
    /// An error of the connection.
    fn poll_write(
        &mut self,
        stream: &mut Stream,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_replies(stream, context))?;
        let count = ready!(Pin::new(&mut *stream).poll_write_vectored(context, slices))?;
        let (streams, _) = self.inspector.output();
        self.output.follow(slices, count, streams);
        Poll::Ready(Ok(count))
    }
}
