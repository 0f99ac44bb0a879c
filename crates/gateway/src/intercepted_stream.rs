//! A connection whose bytes pass an interceptor, between TLS and the HTTP/2 of Pingora.

use async_trait::async_trait;
use pingora_core::protocols::raw_connect::ProxyDigest;
use pingora_core::protocols::tls::{SslDigest, TlsRef};
use pingora_core::protocols::{
    ALPN, GetProxyDigest, GetSocketDigest, GetTimingDigest, Peek, Shutdown, SocketDigest, Ssl,
    Stream, TimingDigest, UniqueID, UniqueIDType,
};
use std::fmt;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Intercepts what an HTTP session reads from its connection, and what it writes.
pub(super) trait ConnectionInterceptor: Send + Sync + Unpin + 'static {
    /// Reads from `stream` when the session reads. The session gets the bytes that are put into `buffer`.
    ///
    /// # Errors
    /// An I/O error of the connection, or a rejection by the interceptor; the session then reads no further.
    fn poll_read(
        &mut self,
        stream: &mut Stream,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>>;

    /// Writes to `stream` when the session writes. Returns how many bytes of `slices` were written.
    ///
    /// # Errors
    /// An I/O error of the connection.
    fn poll_write(
        &mut self,
        stream: &mut Stream,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(stream).poll_write_vectored(context, slices)
    }
}

/// A connection that is read and written through an interceptor.
pub(super) struct InterceptedConnection<R> {
    stream: Stream,
    interceptor: R,
}

impl<R: ConnectionInterceptor> InterceptedConnection<R> {
    pub fn boxed(stream: Stream, interceptor: R) -> Stream {
        Box::new(Self {
            stream,
            interceptor,
        })
    }
}

impl<R: ConnectionInterceptor> AsyncRead for InterceptedConnection<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self {
            stream,
            interceptor,
            ..
        } = &mut *self;
        interceptor.poll_read(stream, context, buffer)
    }
}

impl<R: ConnectionInterceptor> AsyncWrite for InterceptedConnection<R> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
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
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let Self {
            stream,
            interceptor,
        } = &mut *self;
        interceptor.poll_write(stream, context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[async_trait]
impl<R: ConnectionInterceptor> Shutdown for InterceptedConnection<R> {
    async fn shutdown(&mut self) {
        self.stream.shutdown().await;
    }
}

#[async_trait]
impl<R: ConnectionInterceptor> Peek for InterceptedConnection<R> {
    async fn try_peek(&mut self, begin: &mut [u8]) -> io::Result<bool> {
        self.stream.try_peek(begin).await
    }
}

impl<R> UniqueID for InterceptedConnection<R> {
    fn id(&self) -> UniqueIDType {
        self.stream.id()
    }
}

impl<R> Ssl for InterceptedConnection<R> {
    fn get_ssl(&self) -> Option<&TlsRef> {
        self.stream.get_ssl()
    }

    fn get_ssl_digest(&self) -> Option<Arc<SslDigest>> {
        self.stream.get_ssl_digest()
    }

    fn selected_alpn_proto(&self) -> Option<ALPN> {
        self.stream.selected_alpn_proto()
    }
}

impl<R> GetTimingDigest for InterceptedConnection<R> {
    fn get_timing_digest(&self) -> Vec<Option<TimingDigest>> {
        self.stream.get_timing_digest()
    }
}

impl<R> GetProxyDigest for InterceptedConnection<R> {
    fn get_proxy_digest(&self) -> Option<Arc<ProxyDigest>> {
        self.stream.get_proxy_digest()
    }
}

impl<R> GetSocketDigest for InterceptedConnection<R> {
    fn get_socket_digest(&self) -> Option<Arc<SocketDigest>> {
        self.stream.get_socket_digest()
    }
}

/// Pingora logs streams with `Debug`, and received bytes contain keys and prompts.
impl<R> fmt::Debug for InterceptedConnection<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InterceptedStream")
            .field("id", &self.stream.id())
            .finish_non_exhaustive()
    }
}
