//! A connection whose bytes pass the inspection, between TLS and the HTTP/2 of Pingora.

use super::Http2Reader;
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

/// A connection that is read and written through an [`Http2Reader`].
pub(crate) struct InspectedConnection {
    stream: Stream,
    reader: Http2Reader,
}

impl InspectedConnection {
    pub fn boxed(stream: Stream, reader: Http2Reader) -> Stream {
        Box::new(Self { stream, reader })
    }
}

impl AsyncRead for InspectedConnection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { stream, reader } = &mut *self;
        reader.poll_read(stream, context, buffer)
    }
}

impl AsyncWrite for InspectedConnection {
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
        let Self { stream, reader } = &mut *self;
        reader.poll_write(stream, context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[async_trait]
impl Shutdown for InspectedConnection {
    async fn shutdown(&mut self) {
        self.stream.shutdown().await;
    }
}

#[async_trait]
impl Peek for InspectedConnection {
    async fn try_peek(&mut self, begin: &mut [u8]) -> io::Result<bool> {
        self.stream.try_peek(begin).await
    }
}

impl UniqueID for InspectedConnection {
    fn id(&self) -> UniqueIDType {
        self.stream.id()
    }
}

impl Ssl for InspectedConnection {
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

impl GetTimingDigest for InspectedConnection {
    fn get_timing_digest(&self) -> Vec<Option<TimingDigest>> {
        self.stream.get_timing_digest()
    }
}

impl GetProxyDigest for InspectedConnection {
    fn get_proxy_digest(&self) -> Option<Arc<ProxyDigest>> {
        self.stream.get_proxy_digest()
    }
}

impl GetSocketDigest for InspectedConnection {
    fn get_socket_digest(&self) -> Option<Arc<SocketDigest>> {
        self.stream.get_socket_digest()
    }
}

/// Pingora logs streams with `Debug`, and received bytes contain keys and prompts.
impl fmt::Debug for InspectedConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InspectedConnection")
            .field("id", &self.stream.id())
            .finish_non_exhaustive()
    }
}
