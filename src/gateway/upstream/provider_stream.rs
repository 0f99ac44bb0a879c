//! A provider's HTTP/1.1 connection above TLS: the bytes of its response are followed before Pingora parses them.

use super::response_bytes::ResponseBytes;
use async_trait::async_trait;
use pingora_core::protocols::http::v1::client::HttpSession;
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
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A connection for the time of one request.
pub struct ProviderStream {
    stream: Stream,
    response: ResponseBytes,
}

impl ProviderStream {
    pub fn new(stream: Stream) -> Self {
        Self {
            stream,
            response: ResponseBytes::new(),
        }
    }

    /// The connection itself, for the pool.
    pub fn into_pooled(stream: Stream) -> Option<Stream> {
        let stream = stream.into_any().downcast::<Self>().ok()?;
        Some(stream.stream)
    }

    /// Whether the chunked body that `session` has read ended as every reader ends it.
    pub fn ended_in_chunks(session: &HttpSession) -> bool {
        let stream = session.stream().as_any().downcast_ref::<Self>();
        stream.is_some_and(|stream| stream.response == ResponseBytes::End)
    }
}

impl AsyncRead for ProviderStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        self.response.take(&buffer.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ProviderStream {
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
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[async_trait]
impl Shutdown for ProviderStream {
    async fn shutdown(&mut self) {
        self.stream.shutdown().await;
    }
}

#[async_trait]
impl Peek for ProviderStream {
    async fn try_peek(&mut self, begin: &mut [u8]) -> io::Result<bool> {
        self.stream.try_peek(begin).await
    }
}

impl UniqueID for ProviderStream {
    fn id(&self) -> UniqueIDType {
        self.stream.id()
    }
}

impl Ssl for ProviderStream {
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

impl GetTimingDigest for ProviderStream {
    fn get_timing_digest(&self) -> Vec<Option<TimingDigest>> {
        self.stream.get_timing_digest()
    }
}

impl GetProxyDigest for ProviderStream {
    fn get_proxy_digest(&self) -> Option<Arc<ProxyDigest>> {
        self.stream.get_proxy_digest()
    }
}

impl GetSocketDigest for ProviderStream {
    fn get_socket_digest(&self) -> Option<Arc<SocketDigest>> {
        self.stream.get_socket_digest()
    }
}

/// Pingora prints streams in its log events.
impl fmt::Debug for ProviderStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderStream")
            .field("id", &self.stream.id())
            .finish_non_exhaustive()
    }
}
