//! A client's TCP connection below TLS and HTTP, with buffers that have memory only while they are in use.

use super::buffered_stream::BufferedStream;
use async_trait::async_trait;
use pingora_core::protocols::raw_connect::ProxyDigest;
use pingora_core::protocols::{
    GetProxyDigest, GetSocketDigest, GetTimingDigest, Peek, Shutdown, SocketDigest, Ssl,
    TimingDigest, UniqueID, UniqueIDType,
};
use pingora_timeout::fast_timeout::fast_sleep;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;

/// The connection preface of HTTP/2 (RFC 9113, section 3.4).
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Interval for checking an incomplete preface again.
const PART_LOOK: Duration = Duration::from_millis(10);

/// A TCP connection. The buffers of Pingora's own keep their memory.
#[derive(Debug)]
pub(super) struct ClientTcpStream {
    stream: BufferedStream<TcpStream>,
    /// The address of the peer.
    digest: Arc<SocketDigest>,
}

impl ClientTcpStream {
    /// `peer` is the address of the socket, or the one that the PROXY header gives.
    pub fn new(stream: TcpStream, peer: SocketAddr) -> Self {
        let digest = SocketDigest::from_raw_fd(stream.as_raw_fd());
        // Set now, while the descriptor certainly belongs to this connection.
        let _ = digest.peer_addr.set(Some(peer.into()));
        Self {
            digest: Arc::new(digest),
            stream: BufferedStream::new(stream),
        }
    }
}

impl AsyncRead for ClientTcpStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for ClientTcpStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
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
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
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
        self.stream.get_ref().as_raw_fd()
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
            let seen = self.stream.get_ref().peek(begin).await?;
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
