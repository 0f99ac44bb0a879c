//! Buffers small writes to a connection, so that a response head leaves with its first bytes, and has no memory between
//! two flushes.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Maximum number of bytes that wait for a flush.
const BUFFERED_BYTES_MAX: usize = 4 << 10;
/// Up to this many bytes, a write is more likely an event of a stream, which is flushed by itself, than a head, which is
/// not.
const EVENT_BYTES: usize = 512;
/// Maximum number of slices that are written with the buffered bytes in one system call. HTTP writes three at most: the
/// size of a chunk, its data, and the line break.
const SLICES_MAX: usize = 4;

/// A connection with a write buffer. tokio's `BufWriter` keeps its memory for as long as the connection lives, and writes
/// the buffered bytes by themselves before a large write.
#[derive(Debug)]
pub(super) struct WriteBuffer<W> {
    inner: W,
    buffered: Vec<u8>,
    /// Number of bytes at the start of `buffered` that were written.
    written: usize,
}

impl<W: AsyncWrite + Unpin> WriteBuffer<W> {
    pub fn new(inner: W) -> Self {
        Self {
            inner,
            buffered: Vec::new(),
            written: 0,
        }
    }

    pub fn get_ref(&self) -> &W {
        &self.inner
    }

    /// Number of bytes that wait for a flush.
    fn waiting(&self) -> usize {
        self.buffered.len() - self.written
    }

    /// Counts `bytes` of the buffered ones as written, and frees the memory after the last of them.
    fn advance(&mut self, bytes: usize) {
        self.written += bytes;
        if self.waiting() == 0 {
            self.buffered = Vec::new();
            self.written = 0;
        }
    }

    fn poll_write_buffered(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.waiting() > 0 {
            let waiting = &self.buffered[self.written..];
            let count = ready!(Pin::new(&mut self.inner).poll_write(context, waiting))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.advance(count);
        }
        Poll::Ready(Ok(()))
    }

    /// Writes the buffered bytes and `slices` together. Returns how many bytes of `slices` were written.
    fn poll_write_through(
        &mut self,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        loop {
            let waiting = self.waiting();
            if waiting == 0 {
                return Pin::new(&mut self.inner).poll_write_vectored(context, slices);
            }
            let mut together = [IoSlice::new(&[]); SLICES_MAX + 1];
            together[0] = IoSlice::new(&self.buffered[self.written..]);
            let with = slices.len().min(SLICES_MAX);
            together[1..=with].copy_from_slice(&slices[..with]);
            let inner = Pin::new(&mut self.inner);
            let count = ready!(inner.poll_write_vectored(context, &together[..=with]))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.advance(count.min(waiting));
            if count > waiting {
                return Poll::Ready(Ok(count - waiting));
            }
        }
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for WriteBuffer<W> {
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
        if self.waiting() + bytes > BUFFERED_BYTES_MAX {
            return self.poll_write_through(context, slices);
        }
        let Self {
            buffered, written, ..
        } = &mut *self;
        if *written > 0 {
            buffered.drain(..*written);
            *written = 0;
        }
        if buffered.capacity() == 0 {
            let is_event = bytes <= EVENT_BYTES;
            buffered.reserve_exact(if is_event { bytes } else { BUFFERED_BYTES_MAX });
        }
        for slice in slices {
            buffered.extend_from_slice(slice);
        }
        Poll::Ready(Ok(bytes))
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_write_buffered(context))?;
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_write_buffered(context))?;
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

impl<W: AsyncRead + Unpin> AsyncRead for WriteBuffer<W> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::{BUFFERED_BYTES_MAX, WriteBuffer};
    use std::io::{self, IoSlice};
    use std::pin::Pin;
    use std::task::{Context, Poll};
    use tokio::io::{AsyncWrite, AsyncWriteExt};

    /// Takes `most` bytes at a time, and makes its writer wait before every second time.
    struct SlowSink {
        most: usize,
        is_ready: bool,
        received: Vec<u8>,
        writes: usize,
    }

    impl SlowSink {
        fn taking(most: usize) -> Self {
            Self {
                most,
                is_ready: false,
                received: Vec::new(),
                writes: 0,
            }
        }
    }

    impl AsyncWrite for SlowSink {
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
            self.is_ready = !self.is_ready;
            if !self.is_ready {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            let offered = slices.iter().flat_map(|slice| slice.iter());
            let taken: Vec<u8> = offered.take(self.most).copied().collect();
            self.received.extend_from_slice(&taken);
            self.writes += 1;
            Poll::Ready(Ok(taken.len()))
        }

        fn is_write_vectored(&self) -> bool {
            true
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    fn pattern(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|at| (at % 251) as u8).collect()
    }

    #[tokio::test]
    async fn every_byte_arrives_once_and_in_order() {
        let sizes = [0, 1, 900, 3_000, 4_096, 4_097, 7, 20_000, 1_196, 2_900, 1];
        for most in [1, 7, 1_000, 5_000, usize::MAX] {
            let mut writer = WriteBuffer::new(SlowSink::taking(most));
            let mut sent = Vec::new();
            for (at, size) in sizes.into_iter().enumerate() {
                let bytes = pattern(size);
                match at % 2 {
                    0 => writer.write_all(&bytes).await.unwrap(),
                    _ => {
                        let (first, second) = bytes.split_at(size / 3);
                        let mut pieces = bytes::Buf::chain(first, second);
                        writer.write_all_buf(&mut pieces).await.unwrap();
                    }
                }
                sent.extend_from_slice(&bytes);
                if at % 3 == 2 {
                    writer.flush().await.unwrap();
                    assert!(writer.inner.received == sent, "{most} bytes at a time");
                }
            }
            writer.shutdown().await.unwrap();
            assert!(writer.inner.received == sent, "{most} bytes at a time");
        }
    }

    #[tokio::test]
    async fn a_head_leaves_with_the_body_after_it_in_one_write() {
        for body in [900, BUFFERED_BYTES_MAX, 16_000] {
            let mut writer = WriteBuffer::new(SlowSink::taking(usize::MAX));
            writer.write_all(&pattern(700)).await.unwrap();
            assert_eq!(writer.inner.writes, 0);
            writer.write_all(&pattern(body)).await.unwrap();
            writer.flush().await.unwrap();
            assert_eq!(writer.inner.writes, 1, "a body of {body} bytes");
        }
    }

    #[tokio::test]
    async fn a_flushed_writer_has_no_memory() {
        let mut writer = WriteBuffer::new(SlowSink::taking(10));
        writer
            .write_all(b"data: a piece of a stream\n\n")
            .await
            .unwrap();
        assert!(writer.buffered.capacity() > 0);
        writer.flush().await.unwrap();
        assert_eq!(writer.buffered.capacity(), 0);
    }

    #[tokio::test]
    async fn a_connection_that_takes_nothing_is_an_error() {
        let mut writer = WriteBuffer::new(SlowSink::taking(0));
        writer.write_all(b"data: x\n\n").await.unwrap();
        let error = writer.flush().await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WriteZero);
        let error = writer.write_all(&pattern(5_000)).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WriteZero);
    }
}
