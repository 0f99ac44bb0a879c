//! Tests of the buffers of client connections: no byte is lost or moved, and no memory stays.

use super::{BUFFERED_BYTES_MAX, BufferedStream, READ_BYTES_MIN};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt, duplex};

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
async fn every_byte_is_written_once_and_in_order() {
    let sizes = [0, 1, 900, 3_000, 4_096, 4_097, 7, 20_000, 1_196, 2_900, 1];
    for most in [1, 7, 1_000, 5_000, usize::MAX] {
        let mut writer = BufferedStream::new(SlowSink::taking(most));
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
        let mut writer = BufferedStream::new(SlowSink::taking(usize::MAX));
        writer.write_all(&pattern(700)).await.unwrap();
        assert_eq!(writer.inner.writes, 0);
        writer.write_all(&pattern(body)).await.unwrap();
        writer.flush().await.unwrap();
        assert_eq!(writer.inner.writes, 1, "a body of {body} bytes");
    }
}

#[tokio::test]
async fn a_flushed_writer_has_no_memory() {
    let mut writer = BufferedStream::new(SlowSink::taking(10));
    writer
        .write_all(b"data: a piece of a stream\n\n")
        .await
        .unwrap();
    assert!(writer.unsent.capacity() > 0);
    writer.flush().await.unwrap();
    assert_eq!(writer.unsent.capacity(), 0);
}

#[tokio::test]
async fn a_connection_that_takes_nothing_is_an_error() {
    let mut writer = BufferedStream::new(SlowSink::taking(0));
    writer.write_all(b"data: x\n\n").await.unwrap();
    let error = writer.flush().await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::WriteZero);
    let error = writer.write_all(&pattern(5_000)).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::WriteZero);
}

#[tokio::test]
async fn every_byte_is_read_once_and_in_order() {
    let sent = pattern(100_000);
    for pieces in [[1, 7, 4_096], [4_096, 8_191, 8_192], [8_193, 65_536, 3]] {
        let (mut client, server) = duplex(60_000);
        let mut reader = BufferedStream::new(server);
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
    let mut reader = BufferedStream::new(server);
    client.write_all(&pattern(6_000)).await.unwrap();
    reader.read_exact(&mut [0; 4_096]).await.unwrap();
    assert_eq!(reader.received.len(), 6_000 - 4_096);
    reader.read_exact(&mut [0; 1_904]).await.unwrap();
    assert_eq!(reader.received.capacity(), 0);
}

#[tokio::test]
async fn a_large_read_goes_straight_into_its_buffer() {
    let (mut client, server) = duplex(60_000);
    let mut reader = BufferedStream::new(server);
    client.write_all(&pattern(60_000)).await.unwrap();
    let mut large = [0; 2 * READ_BYTES_MIN];
    assert_eq!(reader.read(&mut large).await.unwrap(), large.len());
    assert_eq!(reader.received.capacity(), 0);
}
