//! A client's connection above TLS: its bytes are inspected before Pingora parses them.

#[cfg(test)]
mod tests;

use super::http1_inspection::{Http1Inspection, Http1Inspector, InspectedPiece, ReadMode};
use super::http2::Http2Reader;
use async_trait::async_trait;
use bytes::{Buf, BytesMut};
use pingora_core::protocols::http::ServerSession;
use pingora_core::protocols::raw_connect::ProxyDigest;
use pingora_core::protocols::tls::{SslDigest, TlsRef};
use pingora_core::protocols::{
    ALPN, GetProxyDigest, GetSocketDigest, GetTimingDigest, Peek, Shutdown, SocketDigest, Ssl,
    Stream, TimingDigest, UniqueID, UniqueIDType,
};
use std::fmt;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What is read ahead of a connection whose current message has ended: enough to notice that the
/// client has sent its next request, or has left.
const EARLY_BYTES_MAX: usize = 8 << 10;
/// Room for one read whose bytes the session does not get.
const SCRATCH_BYTES: usize = 4 << 10;

/// A client's connection as HTTP sees it. An HTTP/1.1 session reads the bytes of one message and no
/// more: what follows the message stays here for the next session.
pub(in crate::gateway) struct InspectedStream {
    stream: Stream,
    inspector: Inspector,
}

enum Inspector {
    Http1(Http1Reader),
    Http2(Box<Http2Reader>),
}

struct Http1Reader {
    inspection: Http1Inspection,
    /// Received behind the current message.
    early: BytesMut,
}

impl InspectedStream {
    /// A connection of HTTP/1.1.
    pub fn new(stream: Stream) -> Self {
        let inspector = Inspector::Http1(Http1Reader {
            inspection: Http1Inspection::default(),
            early: BytesMut::new(),
        });
        Self { stream, inspector }
    }

    /// A connection of HTTP/2.
    pub fn http2(stream: Stream, reader: Http2Reader) -> Self {
        let inspector = Inspector::Http2(Box::new(reader));
        Self { stream, inspector }
    }

    /// The inspection of the connection that `session` reads, if it is one of HTTP/1.1.
    pub fn inspection_of(session: &ServerSession) -> Option<Http1Inspection> {
        let stream = session.stream()?.as_any().downcast_ref::<Self>()?;
        match &stream.inspector {
            Inspector::Http1(reader) => Some(reader.inspection.clone()),
            Inspector::Http2(_) => None,
        }
    }
}

impl Http1Reader {
    fn poll_read(
        &mut self,
        stream: &mut Stream,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { inspection, early } = self;
        let mut inspector = inspection.lock();
        loop {
            match inspector.read_mode()? {
                ReadMode::Message => {}
                ReadMode::EndOfFile => return poll_end_of_file(stream, early, context),
                ReadMode::Discard => {
                    early.clear();
                    return poll_discard(stream, &mut inspector, context);
                }
            }
            let passed = if early.is_empty() {
                let before = buffer.filled().len();
                ready!(Pin::new(&mut *stream).poll_read(context, buffer))?;
                let received = &mut buffer.filled_mut()[before..];
                if received.is_empty() {
                    return Poll::Ready(Ok(()));
                }
                let InspectedPiece { skipped, passed } = inspector.inspect(received)?;
                let end = skipped + passed;
                early.extend_from_slice(&received[end..]);
                if skipped > 0 {
                    received.copy_within(skipped..end, 0);
                }
                buffer.set_filled(before + passed);
                passed
            } else {
                let received = &early[..early.len().min(buffer.remaining())];
                let InspectedPiece { skipped, passed } = inspector.inspect(received)?;
                let end = skipped + passed;
                buffer.put_slice(&received[skipped..end]);
                early.advance(end);
                passed
            };
            if passed > 0 {
                if early.is_empty() {
                    // Gives its memory back.
                    *early = BytesMut::new();
                }
                return Poll::Ready(Ok(()));
            }
        }
    }
}

/// The message is over: the session learns that the client has left, and nothing else.
fn poll_end_of_file(
    stream: &mut Stream,
    early: &mut BytesMut,
    context: &mut Context<'_>,
) -> Poll<io::Result<()>> {
    while early.len() < EARLY_BYTES_MAX {
        let mut scratch = [MaybeUninit::uninit(); SCRATCH_BYTES];
        let mut read = ReadBuf::uninit(&mut scratch);
        ready!(Pin::new(&mut *stream).poll_read(context, &mut read))?;
        if read.filled().is_empty() {
            return Poll::Ready(Ok(()));
        }
        early.extend_from_slice(read.filled());
    }
    // The client waits for its response, and the session for something else.
    Poll::Pending
}

/// Throws away what the client still sends; ends like a connection that the client has closed.
fn poll_discard(
    stream: &mut Stream,
    inspector: &mut Http1Inspector,
    context: &mut Context<'_>,
) -> Poll<io::Result<()>> {
    loop {
        let mut scratch = [MaybeUninit::uninit(); SCRATCH_BYTES];
        let mut read = ReadBuf::uninit(&mut scratch);
        ready!(Pin::new(&mut *stream).poll_read(context, &mut read))?;
        let count = read.filled().len();
        if count == 0 || !inspector.discard(count) {
            return Poll::Ready(Ok(()));
        }
    }
}

impl AsyncRead for InspectedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        match &mut this.inspector {
            Inspector::Http1(reader) => reader.poll_read(&mut this.stream, context, buffer),
            Inspector::Http2(reader) => reader.poll_read(&mut this.stream, context, buffer),
        }
    }
}

impl AsyncWrite for InspectedStream {
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
impl Shutdown for InspectedStream {
    async fn shutdown(&mut self) {
        self.stream.shutdown().await;
    }
}

#[async_trait]
impl Peek for InspectedStream {
    async fn try_peek(&mut self, begin: &mut [u8]) -> io::Result<bool> {
        self.stream.try_peek(begin).await
    }
}

impl UniqueID for InspectedStream {
    fn id(&self) -> UniqueIDType {
        self.stream.id()
    }
}

impl Ssl for InspectedStream {
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

impl GetTimingDigest for InspectedStream {
    fn get_timing_digest(&self) -> Vec<Option<TimingDigest>> {
        self.stream.get_timing_digest()
    }
}

impl GetProxyDigest for InspectedStream {
    fn get_proxy_digest(&self) -> Option<Arc<ProxyDigest>> {
        self.stream.get_proxy_digest()
    }
}

impl GetSocketDigest for InspectedStream {
    fn get_socket_digest(&self) -> Option<Arc<SocketDigest>> {
        self.stream.get_socket_digest()
    }
}

/// Pingora prints streams in its log events: received bytes hold callers' keys.
impl fmt::Debug for InspectedStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InspectedStream")
            .field("id", &self.stream.id())
            .finish_non_exhaustive()
    }
}
