//! A client's TCP connection below TLS and HTTP.

use crate::timers::fast_sleep;
use async_trait::async_trait;
use pingora_core::protocols::raw_connect::ProxyDigest;
use pingora_core::protocols::{
    GetProxyDigest, GetSocketDigest, GetTimingDigest, Peek, Shutdown, SocketDigest, Ssl,
    TimingDigest, UniqueID, UniqueIDType,
};
use std::io;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;

/// The connection preface of HTTP/2 (RFC 9113, section 3.4).
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Interval for checking an incomplete preface again.
const PART_LOOK: Duration = Duration::from_millis(10);

/// Number of bytes that a read for TLS asks for; rustls itself asks for 4 KiB.
const READ_AHEAD_BYTES: usize = 8 << 10;

/// A TCP connection, in place of Pingora's own, whose buffers keep their memory.
#[derive(Debug)]
pub(super) struct ClientTcpStream {
    stream: TcpStream,
    /// Bytes that were received and not read yet; `None` if nothing is read ahead. It has memory only while bytes wait.
    received: Option<Vec<u8>>,
    /// The address of the peer.
    digest: Arc<SocketDigest>,
    /// Whether a write waits for the client to read.
    awaits_reader: bool,
}

impl ClientTcpStream {
    /// `peer` is the address of the socket, or the one that the PROXY header gives.
    /// `reads_ahead` saves system calls where the reader asks for little at a time.
    pub fn new(stream: TcpStream, peer: SocketAddr, reads_ahead: bool) -> Self {
        let digest = SocketDigest::from_raw_fd(stream.as_raw_fd());
        // Set now, while the descriptor certainly belongs to this connection.
        let _ = digest.peer_addr.set(Some(peer.into()));
        Self {
            digest: Arc::new(digest),
            stream,
            received: reads_ahead.then(Vec::new),
            awaits_reader: false,
        }
    }
}

impl Drop for ClientTcpStream {
    /// Resets the connection if its client has stopped reading: otherwise, the system would keep what it has not sent, up to
    /// megabytes, for as long as the client leaves the connection open.
    fn drop(&mut self) {
        if self.awaits_reader {
            // An error is that of a connection that the client has reset.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for ClientTcpStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self {
            stream, received, ..
        } = &mut *self;
        let stream = Pin::new(stream);
        match received {
            Some(received) => poll_read_ahead(stream, received, context, buffer),
            None => stream.poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for ClientTcpStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.awaits_reader = polled.is_pending();
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.awaits_reader = polled.is_pending();
        polled
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

/// Reads what was received, or else from `stream`, into `buffer`, and what that has no room for into `received`.
fn poll_read_ahead(
    stream: Pin<&mut impl AsyncRead>,
    received: &mut Vec<u8>,
    context: &mut Context<'_>,
    buffer: &mut ReadBuf<'_>,
) -> Poll<io::Result<()>> {
    if received.is_empty() && buffer.remaining() >= READ_AHEAD_BYTES {
        return stream.poll_read(context, buffer);
    }
    let mut scratch = [MaybeUninit::uninit(); READ_AHEAD_BYTES];
    let mut read = ReadBuf::uninit(&mut scratch);
    let waiting = match received.is_empty() {
        true => {
            ready!(stream.poll_read(context, &mut read))?;
            read.filled()
        }
        false => &received[..],
    };
    let (now, later) = waiting.split_at(waiting.len().min(buffer.remaining()));
    buffer.put_slice(now);
    *received = later.to_vec();
    Poll::Ready(Ok(()))
}

#[async_trait]
impl Shutdown for ClientTcpStream {
    async fn shutdown(&mut self) {
        // The connection is no longer used, so an error does not matter.
        let _ = AsyncWriteExt::shutdown(&mut self.stream).await;
    }
}

impl UniqueID for ClientTcpStream {
    fn id(&self) -> UniqueIDType {
        self.stream.as_raw_fd()
    }
}

impl Ssl for ClientTcpStream {}

impl GetTimingDigest for ClientTcpStream {
    fn get_timing_digest(&self) -> Vec<Option<TimingDigest>> {
        Vec::new()
    }
}

impl GetProxyDigest for ClientTcpStream {
    fn get_proxy_digest(&self) -> Option<Arc<ProxyDigest>> {
        None
    }
}

impl GetSocketDigest for ClientTcpStream {
    fn get_socket_digest(&self) -> Option<Arc<SocketDigest>> {
        Some(self.digest.clone())
    }
}

#[async_trait]
impl Peek for ClientTcpStream {
    /// Peeks at the start of a connection until it either equals or differs from the HTTP/2 preface.
    async fn try_peek(&mut self, begin: &mut [u8]) -> io::Result<bool> {
        loop {
            let seen = self.stream.peek(begin).await?;
            if seen == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if seen == begin.len() || !PREFACE.starts_with(&begin[..seen]) {
                return Ok(true);
            }
            fast_sleep(PART_LOOK).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::net::Ipv4Addr;
    use tokio::io::{AsyncReadExt, duplex};
    use tokio::net::TcpListener;
    use tokio::time::timeout;

    /// Two ends of a connection over loopback: the client's, and that of the gateway.
    async fn connected() -> (TcpStream, ClientTcpStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap());
        let (client, accepted) = tokio::join!(client, listener.accept());
        let (stream, peer) = accepted.unwrap();
        (client.unwrap(), ClientTcpStream::new(stream, peer, false))
    }

    #[tokio::test]
    async fn a_connection_that_is_given_up_while_its_client_does_not_read_is_reset() {
        let (mut client, mut server) = connected().await;
        let piece = [b'x'; 64 << 10];
        while let Ok(written) = timeout(Duration::from_millis(200), server.write(&piece)).await {
            written.unwrap();
        }
        Shutdown::shutdown(&mut server).await;
        drop(server);
        let read = client.read_to_end(&mut Vec::new()).await;
        assert_eq!(read.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
    }

    #[tokio::test]
    async fn what_was_written_arrives_after_the_connection_is_closed() {
        let (mut client, mut server) = connected().await;
        let sent = vec![b'x'; 256 << 10];
        let writing = async {
            server.write_all(&sent).await.unwrap();
            drop(server);
        };
        let mut received = Vec::new();
        let ((), read) = tokio::join!(writing, client.read_to_end(&mut received));
        read.unwrap();
        assert!(received == sent);
    }

    #[tokio::test]
    async fn what_is_read_ahead_is_read_once_in_order_and_has_memory_only_while_it_waits() {
        let sent: Vec<u8> = (0..100_000).map(|at: u32| (at % 251) as u8).collect();
        for sizes in [[1, 7, 4_096], [4_096, 8_191, 5_000], [3, 8_000, 20_000]] {
            let (mut client, mut server) = duplex(60_000);
            let sending = sent.clone();
            let sender = tokio::spawn(async move { client.write_all(&sending).await });
            let (mut received, mut ahead) = (Vec::new(), Vec::new());
            for size in sizes.into_iter().cycle() {
                let mut piece = vec![0; size];
                let mut buffer = ReadBuf::new(&mut piece);
                let read = poll_fn(|context| {
                    poll_read_ahead(Pin::new(&mut server), &mut ahead, context, &mut buffer)
                });
                read.await.unwrap();
                if buffer.filled().is_empty() {
                    break;
                }
                received.extend_from_slice(buffer.filled());
                assert!(
                    ahead.capacity() <= READ_AHEAD_BYTES
                        && (!ahead.is_empty() || ahead.capacity() == 0)
                );
            }
            sender.await.unwrap().unwrap();
            assert!(received == sent, "pieces of {sizes:?}");
        }
    }
}
