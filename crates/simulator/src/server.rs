//! The server of the simulated provider: HTTP/1.1 and HTTP/2 without TLS, with hyper instead of Pingora.

use crate::Simulator;
use crate::http_response::{BodyChunk, SimulatedBody, SimulatedResponse};
use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body::{Frame, SizeHint};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// The maximum size of a request body (413 above it), large enough for everything that a gateway forwards.
const BODY_BYTES_MAX: usize = 1 << 30;
/// The buffer of an HTTP/1.1 connection: the maximum size of a head, and how much of a response waits for a slow
/// client.
const BUFFER_BYTES_MAX: usize = 256 << 10;
const HEADERS_MAX: usize = 1000;
/// The pause after a connection could not be accepted, mostly because too many files are open.
const PAUSE: Duration = Duration::from_millis(10);

/// The threads that serve a [`Simulator`], until it is dropped.
pub struct SimulatorServer {
    runtime: Runtime,
}

impl SimulatorServer {
    /// Starts serving on a listening socket.
    ///
    /// # Errors
    /// The threads cannot be started, or the socket cannot be used.
    pub fn start(
        simulator: Simulator,
        listener: std::net::TcpListener,
        threads: usize,
    ) -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads.max(1))
            .thread_name("simulator")
            .enable_all()
            .build()?;
        listener.set_nonblocking(true)?;
        let listener = {
            let _inside = runtime.enter();
            TcpListener::from_std(listener)?
        };
        runtime.spawn(accept(Arc::new(simulator), listener));
        Ok(Self { runtime })
    }

    /// Serves until SIGTERM, SIGINT or SIGQUIT, then stops at once.
    ///
    /// # Errors
    /// The signal handlers cannot be installed.
    pub fn run_until_signal(self) -> io::Result<()> {
        let signalled = self.runtime.block_on(signalled());
        self.runtime.shutdown_background();
        signalled
    }
}

async fn signalled() -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut quit = signal(SignalKind::quit())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        _ = quit.recv() => {}
    }
    Ok(())
}

async fn accept(simulator: Arc<Simulator>, listener: TcpListener) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(serve(simulator.clone(), stream));
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// Serves one connection to its end. Errors are ignored: clients leave, and directives cut responses.
async fn serve(simulator: Arc<Simulator>, stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| respond(simulator.clone(), request));
    let mut server = auto::Builder::new(TokioExecutor::new());
    server
        .http1()
        .max_buf_size(BUFFER_BYTES_MAX)
        .max_headers(HEADERS_MAX);
    server.http2().max_header_list_size(BUFFER_BYTES_MAX as u32);
    let serving = server.serve_connection_with_upgrades(TokioIo::new(stream), service);
    let _ = serving.await;
}

async fn respond(
    simulator: Arc<Simulator>,
    mut request: Request<Incoming>,
) -> Result<Response<HyperBody>, Box<dyn Error + Send + Sync>> {
    let upgrade = request.headers().contains_key(header::UPGRADE);
    let upgrade = upgrade.then(|| hyper::upgrade::on(&mut request));
    let (head, body) = request.into_parts();
    let handshake = upgrade.as_ref().map(|_| head.clone());
    let simulated = match Limited::new(body, BODY_BYTES_MAX).collect().await {
        Ok(body) => {
            let request = Request::from_parts(head, body.to_bytes());
            simulator.respond(request).await
        }
        Err(error) if error.is::<http_body_util::LengthLimitError>() => SimulatedResponse::full(
            StatusCode::PAYLOAD_TOO_LARGE,
            "text/plain",
            "request body exceeds 1 GiB\n",
        ),
        Err(left) => return Err(left),
    };
    if simulated.status == StatusCode::SWITCHING_PROTOCOLS
        && let Some((upgrade, head)) = upgrade.zip(handshake)
    {
        tokio::spawn(async move {
            // A client may leave before it has read the response.
            if let Ok(upgraded) = upgrade.await {
                let stream = TokioIo::new(upgraded);
                simulator.serve_session(stream, &head).await;
            }
        });
    }
    let mut response = Response::new(simulated.body.into());
    *response.status_mut() = simulated.status;
    *response.headers_mut() = simulated.headers;
    Ok(response)
}

/// The body of a response for hyper.
enum HyperBody {
    Full(Bytes),
    Stream(mpsc::Receiver<BodyChunk>),
    /// The data before the cut is still to be flushed.
    BeforeCut,
    Cut,
}

/// The connection is closed on purpose.
#[derive(Debug, thiserror::Error)]
#[error("response cut off by a directive")]
struct DeliberateCutError;

impl From<SimulatedBody> for HyperBody {
    fn from(body: SimulatedBody) -> Self {
        match body {
            SimulatedBody::Full(bytes) => Self::Full(bytes),
            SimulatedBody::Stream(chunks) => Self::Stream(chunks),
        }
    }
}

impl http_body::Body for HyperBody {
    type Data = Bytes;
    type Error = DeliberateCutError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, DeliberateCutError>>> {
        loop {
            match &mut *self {
                Self::Full(bytes) if bytes.is_empty() => return Poll::Ready(None),
                Self::Full(bytes) => {
                    let bytes = std::mem::take(bytes);
                    return Poll::Ready(Some(Ok(Frame::data(bytes))));
                }
                Self::Stream(chunks) => match ready!(chunks.poll_recv(context)) {
                    Some(BodyChunk::Data(data)) => return Poll::Ready(Some(Ok(Frame::data(data)))),
                    Some(BodyChunk::Cut) => *self = Self::BeforeCut,
                    None => return Poll::Ready(None),
                },
                // hyper flushes when a body is pending, and drops buffered data on an error.
                Self::BeforeCut => {
                    *self = Self::Cut;
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Self::Cut => return Poll::Ready(Some(Err(DeliberateCutError))),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Full(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Stream(_) | Self::BeforeCut | Self::Cut => SizeHint::default(),
        }
    }
}
