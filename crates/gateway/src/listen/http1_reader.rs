//! Reads a client's HTTP/1.1 connection: each session gets the inspected bytes of exactly one message.

#[cfg(test)]
mod tests;

use super::client_departure::ClientDepartureWatch;
use super::http1_inspection::{
    Http1Inspector, InspectedByteCounts, ReadPurpose, SharedHttp1Inspector,
};
use crate::intercepted_stream::{ConnectionInterceptor, InterceptedConnection};
use bytes::{Buf, BufMut, BytesMut};
use pingora_core::protocols::Stream;
use pingora_core::protocols::http::ServerSession;
use std::future::Future;
use std::io;
use std::mem::MaybeUninit;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};

/// Maximum number of bytes that are read ahead after the end of a message: enough to notice the next request, or that
/// the client has disconnected.
const EARLY_BYTES_MAX: usize = 8 << 10;
/// Size of the buffer for bytes that the session does not get.
const SCRATCH_BYTES: usize = 4 << 10;

/// Gives an HTTP/1.1 session the bytes of its message, except for a body that the exchange receives by itself, and keeps
/// the bytes after the message for the next session.
#[derive(Default)]
pub(crate) struct Http1Reader {
    inspection: SharedHttp1Inspector,
    /// Bytes received after the current message.
    early: BytesMut,
    slow_head: SlowHead,
    departure: ClientDepartureWatch,
}

/// The bytes of a head that arrives in many pieces. The session parses a head from its start with each piece that it gets, so
/// it gets the next piece when that is as large as all before it, or ends the head.
#[derive(Default)]
struct SlowHead {
    /// Number of bytes that the session has.
    passed: usize,
    held: BytesMut,
    /// Whether the head is incomplete.
    is_open: bool,
    /// Whether the session gets the held bytes now.
    is_due: bool,
}

impl Http1Reader {
    /// The inspection of the connection that `session` reads; `None` for HTTP/2.
    pub fn inspection(session: &ServerSession) -> Option<SharedHttp1Inspector> {
        let reader = InterceptedConnection::<Self>::interceptor(session.stream()?)?;
        Some(reader.inspection.clone())
    }
}

impl ConnectionInterceptor for Http1Reader {
    fn poll_read(
        &mut self,
        stream: &mut Stream,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self {
            inspection,
            early,
            slow_head,
            departure,
        } = self;
        let mut inspector = inspection.lock();
        loop {
            if slow_head.is_due {
                slow_head.take(buffer);
                return Poll::Ready(Ok(()));
            }
            match inspector.read_mode()? {
                ReadPurpose::Message if inspector.receive_buffer().is_some() => {
                    return poll_receive(stream, early, &mut inspector, context);
                }
                ReadPurpose::Message => {}
                ReadPurpose::EndOfFile => {
                    return poll_end_of_file(stream, early, departure, context);
                }
                ReadPurpose::Discard => {
                    early.clear();
                    return poll_discard(stream, &mut inspector, context);
                }
            }
            let before = buffer.filled().len();
            let passed = if early.is_empty() {
                ready!(Pin::new(&mut *stream).poll_read(context, buffer))?;
                let received = &mut buffer.filled_mut()[before..];
                if received.is_empty() {
                    return Poll::Ready(Ok(()));
                }
                let InspectedByteCounts { skipped, passed } = inspector.inspect(received)?;
                let end = skipped + passed;
                early.extend_from_slice(&received[end..]);
                if skipped > 0 {
                    received.copy_within(skipped..end, 0);
                }
                buffer.set_filled(before + passed);
                passed
            } else {
                let received = &early[..early.len().min(buffer.remaining())];
                let InspectedByteCounts { skipped, passed } = inspector.inspect(received)?;
                let end = skipped + passed;
                buffer.put_slice(&received[skipped..end]);
                early.advance(end);
                passed
            };
            if passed > 0 {
                if early.is_empty() {
                    // Frees the buffer's memory.
                    *early = BytesMut::new();
                }
                let is_held = match inspector.is_head_open() {
                    Some(is_open) => slow_head.holds(buffer, before, is_open),
                    None => false,
                };
                if !is_held {
                    return Poll::Ready(Ok(()));
                }
            }
        }
    }
}

impl SlowHead {
    /// Decides about the bytes of a head that were put into `buffer` after `before`. If they are held, they are removed from
    /// it.
    fn holds(&mut self, buffer: &mut ReadBuf<'_>, before: usize, is_open: bool) -> bool {
        let piece = &buffer.filled()[before..];
        self.is_open = is_open;
        let waits = is_open && self.held.len() + piece.len() < self.passed;
        if !waits && self.held.is_empty() {
            self.passed = if is_open {
                self.passed + piece.len()
            } else {
                0
            };
            return false;
        }
        self.held.extend_from_slice(piece);
        self.is_due = !waits;
        buffer.set_filled(before);
        true
    }

    /// Moves held bytes to `buffer`.
    fn take(&mut self, buffer: &mut ReadBuf<'_>) {
        let taken = self.held.split_to(self.held.len().min(buffer.remaining()));
        buffer.put_slice(&taken);
        self.passed = match self.is_open {
            true => self.passed + taken.len(),
            false => 0,
        };
        self.is_due = !self.held.is_empty();
    }
}

/// Receives bytes of the body into the exchange's buffer; the session learns only of a disconnect.
fn poll_receive(
    stream: &mut Stream,
    early: &mut BytesMut,
    inspector: &mut Http1Inspector,
    context: &mut Context<'_>,
) -> Poll<io::Result<()>> {
    while let Some(buffer) = inspector.receive_buffer()
        && buffer.has_remaining_mut()
    {
        let count = match early.is_empty() {
            true => ready!(pin!(stream.read_buf(buffer)).poll(context))?,
            false => {
                let count = early.len().min(buffer.remaining_mut());
                buffer.put_slice(&early[..count]);
                early.advance(count);
                if early.is_empty() {
                    // Frees the buffer's memory.
                    *early = BytesMut::new();
                }
                count
            }
        };
        if count == 0 {
            return Poll::Ready(Ok(()));
        }
        inspector.count_body_bytes(count);
    }
    Poll::Pending
}

/// After the end of the message, the session learns only of a disconnect.
fn poll_end_of_file(
    stream: &mut Stream,
    early: &mut BytesMut,
    departure: &mut ClientDepartureWatch,
    context: &mut Context<'_>,
) -> Poll<io::Result<()>> {
    while early.len() < EARLY_BYTES_MAX {
        let mut scratch = [MaybeUninit::uninit(); SCRATCH_BYTES];
        let mut read = ReadBuf::uninit(&mut scratch);
        ready!(Pin::new(&mut *stream).poll_read(context, &mut read))?;
        if read.filled().is_empty() {
            return Poll::Ready(Ok(()));
        }
        early.extend_from_slice(read.filled());
    }
    // The client waits for its response; there is nothing to read.
    departure.poll(stream, context).map(Ok)
}

/// Discards the client's input, and reports end of file when the client closes or the limit is reached.
fn poll_discard(
    stream: &mut Stream,
    inspector: &mut Http1Inspector,
    context: &mut Context<'_>,
) -> Poll<io::Result<()>> {
    loop {
        let mut scratch = [MaybeUninit::uninit(); SCRATCH_BYTES];
        let mut read = ReadBuf::uninit(&mut scratch);
        ready!(Pin::new(&mut *stream).poll_read(context, &mut read))?;
        let count = read.filled().len();
        if count == 0 || !inspector.discard(count) {
            return Poll::Ready(Ok(()));
        }
    }
}
