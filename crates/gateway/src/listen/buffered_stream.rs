//! A connection with a read and a write buffer that have memory only while bytes wait in them.
//!
//! tokio's `BufStream` keeps its buffers for as long as the connection lives, and writes the buffered bytes by themselves
//! before a large write.

#[cfg(test)]
mod tests;

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Number of bytes that a read asks for at least. Most heads arrive with the whole body.
const READ_BYTES_MIN: usize = 8 << 10;
/// Maximum number of bytes that wait for a flush.
const BUFFERED_BYTES_MAX: usize = 4 << 10;
/// Up to this many bytes, a write is more likely an event of a stream, which is flushed by itself, than a response head,
/// which is not.
const EVENT_BYTES: usize = 512;
/// Maximum number of slices that are written with the buffered bytes in one system call. HTTP writes three at most: the
/// size of a chunk, its data, and the line break.
const SLICES_MAX: usize = 4;

/// Reads ahead of small reads, and buffers small writes, so that a response head leaves with its first bytes.
#[derive(Debug)]
pub(super) struct BufferedStream<S> {
    inner: S,
    /// Bytes that were received and not read yet.
    received: Vec<u8>,
    /// Bytes that wait for a flush.
    unsent: Vec<u8>,
}

impl<S> BufferedStream<S> {
    pub fn new(inner: S) -> Self {
        Self {
            inner,
            received: Vec::new(),
            unsent: Vec::new(),
        }
    }

    pub fn get_ref(&self) -> &S {
        &self.inner
    }

    /// Moves received bytes to `buffer`, and frees the memory after the last of them.
    fn take_received(&mut self, buffer: &mut ReadBuf<'_>) {
        let taken = self.received.len().min(buffer.remaining());
        buffer.put_slice(&self.received[..taken]);
        advance_or_free(&mut self.received, taken);
    }

    /// Records that a write took `count` bytes. Returns how many of them were not buffered.
    ///
    /// # Errors
    /// [`io::ErrorKind::WriteZero`]: the connection takes no more bytes.
    fn record_write(&mut self, count: usize) -> io::Result<usize> {
        if count == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        let buffered = count.min(self.unsent.len());
        advance_or_free(&mut self.unsent, buffered);
        Ok(count - buffered)
    }
}

impl<S: AsyncWrite + Unpin> BufferedStream<S> {
    fn poll_write_unsent(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.unsent.is_empty() {
            let count = ready!(Pin::new(&mut self.inner).poll_write(context, &self.unsent))?;
            self.record_write(count)?;
        }
        Poll::Ready(Ok(()))
    }

    /// Writes the buffered bytes and `slices` together. Returns how many bytes of `slices` were written.
    fn poll_write_through(
        &mut self,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        while !self.unsent.is_empty() {
            let mut together = [IoSlice::new(&[]); SLICES_MAX + 1];
            together[0] = IoSlice::new(&self.unsent);
            let with = slices.len().min(SLICES_MAX);
            together[1..=with].copy_from_slice(&slices[..with]);
            let inner = Pin::new(&mut self.inner);
            let count = ready!(inner.poll_write_vectored(context, &together[..=with]))?;
            match self.record_write(count)? {
                0 => {}
                written => return Poll::Ready(Ok(written)),
            }
        }
        Pin::new(&mut self.inner).poll_write_vectored(context, slices)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for BufferedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.received.is_empty() {
            self.take_received(buffer);
            return Poll::Ready(Ok(()));
        }
        if buffer.remaining() >= READ_BYTES_MIN {
            return Pin::new(&mut self.inner).poll_read(context, buffer);
        }
        let mut scratch = [MaybeUninit::uninit(); READ_BYTES_MIN];
        let mut received = ReadBuf::uninit(&mut scratch);
        ready!(Pin::new(&mut self.inner).poll_read(context, &mut received))?;
        let received = received.filled();
        let (now, later) = received.split_at(received.len().min(buffer.remaining()));
        buffer.put_slice(now);
        self.received.extend_from_slice(later);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for BufferedStream<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let bytes: usize = slices.iter().map(|slice| slice.len()).sum();
        if self.unsent.len() + bytes > BUFFERED_BYTES_MAX {
            return self.poll_write_through(context, slices);
        }
        if self.unsent.is_empty() {
            let is_event = bytes <= EVENT_BYTES;
            self.unsent
                .reserve_exact(if is_event { bytes } else { BUFFERED_BYTES_MAX });
        }
        for slice in slices {
            self.unsent.extend_from_slice(slice);
        }
        Poll::Ready(Ok(bytes))
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_write_unsent(context))?;
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_write_unsent(context))?;
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

/// Takes `count` bytes off the start of `buffer`, and frees its memory if none is left.
fn advance_or_free(buffer: &mut Vec<u8>, count: usize) {
    match count == buffer.len() {
        true => *buffer = Vec::new(),
        false => drop(buffer.drain(..count)),
    }
}
