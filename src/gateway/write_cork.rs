//! Holds back what is written to a connection until more follows, as `TCP_CORK` does, but without system calls.

use bytes::{Buf, Bytes};
use pingora_core::protocols::Stream;
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::mem;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use tokio::io::AsyncWrite;

/// The maximum number of pieces that leave in one system call: a head and the segments of an edited body are fewer.
const SLICES_MAX: usize = 8;

/// The writing side of a connection. What is written while it is corked leaves in one system call with what is written
/// next.
#[derive(Default)]
pub(super) struct WriteCork {
    is_corked: AtomicBool,
    /// What the next write writes, if that can be held without a copy.
    lent: Mutex<Bytes>,
    held: VecDeque<Bytes>,
}

impl WriteCork {
    /// Corks or uncorks the connection. Nothing is sent before the next write or flush.
    pub fn set(&self, is_corked: bool) {
        self.is_corked.store(is_corked, Ordering::Relaxed);
    }

    /// Lends the bytes of the next write. If the connection is corked and exactly these bytes are written, they are held
    /// by reference.
    pub fn lend(&self, bytes: Bytes) {
        *self.lent.lock().unwrap_or_else(PoisonError::into_inner) = bytes;
    }

    /// Whether writes go to the connection as they come.
    pub fn is_open(&self) -> bool {
        !self.is_corked() && self.held.is_empty()
    }

    pub fn poll_write(
        &mut self,
        stream: &mut Stream,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.is_corked() {
            self.hold(bytes);
            return Poll::Ready(Ok(bytes.len()));
        }
        while !self.held.is_empty() {
            let written = ready!(self.poll_write_held(stream, context, bytes))?;
            if written > 0 {
                return Poll::Ready(Ok(written));
            }
        }
        Pin::new(stream).poll_write(context, bytes)
    }

    pub fn poll_flush(
        &mut self,
        stream: &mut Stream,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        if self.is_corked() {
            return Poll::Ready(Ok(()));
        }
        while !self.held.is_empty() {
            ready!(self.poll_write_held(stream, context, &[]))?;
        }
        Pin::new(stream).poll_flush(context)
    }

    fn is_corked(&self) -> bool {
        self.is_corked.load(Ordering::Relaxed)
    }

    fn hold(&mut self, bytes: &[u8]) {
        let lent = self.lent.get_mut().unwrap_or_else(PoisonError::into_inner);
        let lent = mem::take(lent);
        let is_same = lent.as_ptr() == bytes.as_ptr() && lent.len() == bytes.len();
        self.held.push_back(match is_same {
            true => lent,
            false => Bytes::copy_from_slice(bytes),
        });
    }

    /// Writes the held bytes and `bytes` as far as the connection takes them; returns how many of `bytes` were written.
    fn poll_write_held(
        &mut self,
        stream: &mut Stream,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut slices = [IoSlice::new(&[]); SLICES_MAX];
        // If not all fit, `bytes` leave later.
        let unheld = self.held.iter().map(|held| &held[..]).chain([bytes]);
        for (slice, bytes) in slices.iter_mut().zip(unheld) {
            *slice = IoSlice::new(bytes);
        }
        let count = SLICES_MAX.min(self.held.len() + 1);
        let written = Pin::new(stream).poll_write_vectored(context, &slices[..count]);
        match ready!(written)? {
            0 => Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
            written => Poll::Ready(Ok(self.release(written))),
        }
    }

    /// Drops the first `written` held bytes; returns how many of `written` are left over.
    fn release(&mut self, mut written: usize) -> usize {
        while let Some(first) = self.held.front_mut() {
            if written < first.len() {
                first.advance(written);
                return 0;
            }
            written -= first.len();
            self.held.pop_front();
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::intercepted_stream::InterceptedConnection;
    use crate::gateway::listen::http1_reader::Http1Reader;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

    /// A connection that takes `bytes_max` bytes before they are read, and its other end.
    fn connection(bytes_max: usize) -> (Stream, DuplexStream) {
        let (near, far) = tokio::io::duplex(bytes_max);
        (
            InterceptedConnection::boxed(Box::new(near), Http1Reader::default()),
            far,
        )
    }

    fn cork(stream: &Stream, is_corked: bool) {
        InterceptedConnection::<Http1Reader>::set_corked(stream, is_corked);
    }

    fn lend(stream: &Stream, bytes: &Bytes) {
        InterceptedConnection::<Http1Reader>::lend(stream, bytes.clone());
    }

    async fn received(far: &mut DuplexStream) -> Vec<u8> {
        let mut buffer = vec![0; 1024];
        let read = far.read(&mut buffer).await.unwrap();
        buffer.truncate(read);
        buffer
    }

    #[tokio::test]
    async fn what_is_written_while_corked_leaves_with_the_next_write() {
        let (mut stream, mut far) = connection(1024);
        cork(&stream, true);
        stream.write_all(b"head ").await.unwrap();
        stream.flush().await.unwrap();
        let early = tokio::time::timeout(std::time::Duration::from_millis(20), received(&mut far));
        assert!(early.await.is_err());
        cork(&stream, false);
        stream.write_all(b"body").await.unwrap();
        assert_eq!(received(&mut far).await, b"head body");
        stream.write_all(b"more").await.unwrap();
        assert_eq!(received(&mut far).await, b"more");
    }

    #[tokio::test]
    async fn a_flush_sends_what_was_held() {
        let (mut stream, mut far) = connection(1024);
        cork(&stream, true);
        stream.write_all(b"head").await.unwrap();
        cork(&stream, false);
        stream.flush().await.unwrap();
        assert_eq!(received(&mut far).await, b"head");
    }

    #[tokio::test]
    async fn lent_bytes_are_held_without_a_copy_and_only_if_they_are_written() {
        let (mut stream, mut far) = connection(1024);
        let piece = Bytes::from(vec![b'p'; 4]);
        cork(&stream, true);
        lend(&stream, &piece);
        stream.write_all(&piece).await.unwrap();
        assert!(!piece.is_unique());
        lend(&stream, &piece);
        stream.write_all(b"other").await.unwrap();
        cork(&stream, false);
        stream.write_all(b"!").await.unwrap();
        assert_eq!(received(&mut far).await, b"ppppother!");
        assert!(piece.is_unique());
    }

    #[tokio::test]
    async fn all_bytes_arrive_in_order_over_a_connection_that_takes_few_at_a_time() {
        for bytes_max in 1..12 {
            let (mut stream, mut far) = connection(bytes_max);
            let writing = tokio::spawn(async move {
                for _ in 0..3 {
                    cork(&stream, true);
                    stream.write_all(b"head ").await.unwrap();
                    stream.flush().await.unwrap();
                    for piece in [&b"1 "[..], b"2 ", b"3 ", b"4 ", b"5 ", b"6 ", b"7 ", b"8 "] {
                        lend(&stream, &Bytes::from_static(piece));
                        stream.write_all(piece).await.unwrap();
                    }
                    cork(&stream, false);
                    stream.write_all(b"body ").await.unwrap();
                    stream.flush().await.unwrap();
                }
            });
            let mut all = Vec::new();
            far.read_to_end(&mut all).await.unwrap();
            writing.await.unwrap();
            assert_eq!(all, b"head 1 2 3 4 5 6 7 8 body ".repeat(3), "{bytes_max}");
        }
    }
}
