//! A client's connection below TLS and HTTP, with buffers of our own size.

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
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufStream, ReadBuf};
use tokio::net::TcpStream;

/// How an HTTP/2 connection begins, RFC 9113, section 3.4.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// How often a begin that came in part is looked at again.
const PART_LOOK: Duration = Duration::from_millis(10);

/// Bytes that are held of a connection in each direction.
#[derive(Clone, Copy)]
pub(super) struct BufferSizes {
    pub read: usize,
    pub write: usize,
}

/// A TCP connection. Pingora takes other buffers than its own large ones only from its own listeners.
#[derive(Debug)]
pub(super) struct ClientStream {
    stream: BufStream<TcpStream>,
    /// Where the other end is.
    digest: Option<Arc<SocketDigest>>,
}

impl ClientStream {
    /// `peer` is the other end, or what the PROXY protocol says that it is.
    pub fn new(stream: TcpStream, peer: Option<SocketAddr>, buffers: BufferSizes) -> Self {
        Self {
            digest: peer.map(|peer| {
                let digest = SocketDigest::from_raw_fd(stream.as_raw_fd());
                // Asked now, while the descriptor is surely this connection's.
                let _ = digest.peer_addr.set(Some(peer.into()));
                Arc::new(digest)
            }),
            stream: BufStream::with_capacity(buffers.read, buffers.write, stream),
        }
    }
}

impl AsyncRead for ClientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for ClientStream {
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
impl Shutdown for ClientStream {
    async fn shutdown(&mut self) {
        // Whoever shuts it down is done with it, whether the other side notices or not.
        let _ = AsyncWriteExt::shutdown(&mut self.stream).await;
    }
}

impl UniqueID for ClientStream {
    fn id(&self) -> UniqueIDType {
        self.stream.get_ref().as_raw_fd()
    }
}

impl Ssl for ClientStream {}

impl GetTimingDigest for ClientStream {
    fn get_timing_digest(&self) -> Vec<Option<TimingDigest>> {
        Vec::new()
    }
}

impl GetProxyDigest for ClientStream {
    fn get_proxy_digest(&self) -> Option<Arc<ProxyDigest>> {
        None
    }
}

impl GetSocketDigest for ClientStream {
    fn get_socket_digest(&self) -> Option<Arc<SocketDigest>> {
        self.digest.clone()
    }
}

#[async_trait]
impl Peek for ClientStream {
    /// Looks at the begin of a connection, before anything was read of it, until it is known
    /// whether it is one of HTTP/2.
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
