//! Reads ahead of small reads from a connection, and has memory only while bytes that were read ahead wait.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Number of bytes that a read asks for at least. Most heads arrive with the whole body.
const READ_BYTES_MIN: usize = 8 << 10;

/// A connection with a read buffer. tokio's `BufReader` keeps its memory for as long as the connection lives.
#[derive(Debug)]
pub(super) struct ReadBuffer<R> {
    inner: R,
    ahead: Vec<u8>,
    /// Number of bytes at the start of `ahead` that were read.
    read: usize,
}

impl<R> ReadBuffer<R> {
    pub fn new(inner: R) -> Self {
        Self {
            inner,
            ahead: Vec::new(),
            read: 0,
        }
    }

    pub fn get_ref(&self) -> &R {
        &self.inner
    }

    /// Moves bytes that were read ahead, and frees the memory after the last of them.
    fn take_ahead(&mut self, buffer: &mut ReadBuf<'_>) {
        let waiting = &self.ahead[self.read..];
        let taken = waiting.len().min(buffer.remaining());
        buffer.put_slice(&waiting[..taken]);
        self.read += taken;
        if self.read == self.ahead.len() {
            self.ahead = Vec::new();
            self.read = 0;
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for ReadBuffer<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.ahead.is_empty() {
            self.take_ahead(buffer);
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
        self.ahead.extend_from_slice(later);
        Poll::Ready(Ok(()))
    }
}

impl<R: AsyncWrite + Unpin> AsyncWrite for ReadBuffer<R> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::{READ_BYTES_MIN, ReadBuffer};
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    fn pattern(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|at| (at % 251) as u8).collect()
    }

    #[tokio::test]
    async fn every_byte_arrives_once_and_in_order() {
        let sent = pattern(100_000);
        for pieces in [[1, 7, 4_096], [4_096, 8_191, 8_192], [8_193, 65_536, 3]] {
            let (mut client, server) = duplex(60_000);
            let mut reader = ReadBuffer::new(server);
            let sending = sent.clone();
            let sender = tokio::spawn(async move { client.write_all(&sending).await });
            let mut received = Vec::new();
            for size in pieces.into_iter().cycle() {
                let mut piece = vec![0; size];
                let count = reader.read(&mut piece).await.unwrap();
                if count == 0 {
                    break;
                }
                received.extend_from_slice(&piece[..count]);
            }
            sender.await.unwrap().unwrap();
            assert!(received == sent, "pieces of {pieces:?}");
        }
    }

    #[tokio::test]
    async fn a_reader_has_memory_only_while_bytes_wait() {
        let (mut client, server) = duplex(20_000);
        let mut reader = ReadBuffer::new(server);
        client.write_all(&pattern(6_000)).await.unwrap();
        reader.read_exact(&mut [0; 4_096]).await.unwrap();
        assert_eq!(reader.ahead.len(), 6_000 - 4_096);
        reader.read_exact(&mut [0; 1_904]).await.unwrap();
        assert_eq!(reader.ahead.capacity(), 0);
    }

    #[tokio::test]
    async fn a_large_read_goes_straight_into_its_buffer() {
        let (mut client, server) = duplex(60_000);
        let mut reader = ReadBuffer::new(server);
        client.write_all(&pattern(60_000)).await.unwrap();
        let mut large = [0; 2 * READ_BYTES_MIN];
        assert_eq!(reader.read(&mut large).await.unwrap(), large.len());
        assert_eq!(reader.ahead.capacity(), 0);
    }
}
