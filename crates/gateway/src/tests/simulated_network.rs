//! Simulated sockets in place of those of the system.

use async_trait::async_trait;
use pingora_core::protocols::raw_connect::ProxyDigest;
use pingora_core::protocols::{
    GetProxyDigest, GetSocketDigest, GetTimingDigest, Peek, Shutdown, SocketDigest, Ssl, Stream,
    TimingDigest, UniqueID, UniqueIDType,
};
use pingora_error::{Error, ErrorType};
use std::cell::RefCell;
use std::fmt::Debug;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};

/// One end of a simulated connection.
pub trait SimulatedSocket: AsyncRead + AsyncWrite + Debug + Send + Sync + Unpin + 'static {}

impl<S: AsyncRead + AsyncWrite + Debug + Send + Sync + Unpin + 'static> SimulatedSocket for S {}

/// Makes the connections of a gateway to providers and to receivers of callbacks.
pub trait SimulatedNetwork {
    /// Connects to an address; the kind of an error is that of `connect(2)`.
    fn connect(&self, address: SocketAddr) -> ConnectFuture;
}

pub type ConnectFuture = Pin<Box<dyn Future<Output = io::Result<Box<dyn SimulatedSocket>>> + Send>>;

thread_local! {
    static NETWORK: RefCell<Option<Arc<dyn SimulatedNetwork>>> = const { RefCell::new(None) };
}

/// The network of the gateways on this thread, until it is dropped.
pub struct SimulationGuard(());

/// Replaces the sockets and the timers of all gateways on this thread.
pub fn simulate(network: Arc<dyn SimulatedNetwork>) -> SimulationGuard {
    NETWORK.set(Some(network));
    SimulationGuard(())
}

impl Drop for SimulationGuard {
    fn drop(&mut self) {
        NETWORK.set(None);
    }
}

/// Whether this thread runs a simulation.
pub(crate) fn is_active() -> bool {
    NETWORK.with_borrow(Option::is_some)
}

/// A connection over the simulated network; `None` without a simulation.
pub(crate) async fn connect(address: SocketAddr) -> Option<Result<Stream, Box<Error>>> {
    let connecting =
        NETWORK.with_borrow(|network| network.as_ref().map(|it| it.connect(address)))?;
    Some(match connecting.await {
        Ok(socket) => Ok(stream(socket)),
        Err(error) => {
            let kind = match error.kind() {
                io::ErrorKind::ConnectionRefused => ErrorType::ConnectRefused,
                io::ErrorKind::TimedOut => ErrorType::ConnectTimedout,
                _ => ErrorType::ConnectError,
            };
            Err(Error::because(kind, "simulated connection", error))
        }
    })
}

/// A simulated socket as Pingora takes it.
pub(crate) fn stream(socket: Box<dyn SimulatedSocket>) -> Stream {
    Box::new(SimulatedStream(socket))
}

/// A simulated socket as a stream of Pingora.
#[derive(Debug)]
struct SimulatedStream(Box<dyn SimulatedSocket>);

impl AsyncRead for SimulatedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for SimulatedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

#[async_trait]
impl Shutdown for SimulatedStream {
    async fn shutdown(&mut self) {
        // The connection is no longer used, so an error does not matter.
        let _ = AsyncWriteExt::shutdown(&mut self.0).await;
    }
}

impl UniqueID for SimulatedStream {
    fn id(&self) -> UniqueIDType {
        0
    }
}

impl Ssl for SimulatedStream {}

impl GetTimingDigest for SimulatedStream {
    fn get_timing_digest(&self) -> Vec<Option<TimingDigest>> {
        Vec::new()
    }
}

impl GetProxyDigest for SimulatedStream {
    fn get_proxy_digest(&self) -> Option<Arc<ProxyDigest>> {
        None
    }
}

impl GetSocketDigest for SimulatedStream {
    fn get_socket_digest(&self) -> Option<Arc<SocketDigest>> {
        None
    }
}

#[async_trait]
impl Peek for SimulatedStream {}
