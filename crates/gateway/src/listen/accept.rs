//! A listener: accepts connections up to a limit, and gives each to a worker, which runs its TLS handshake and serves it.

use super::client_stream::ClientTcpStream;
use super::drain_state::{DrainState, until_set};
use super::evictable_connections::EvictableConnections;
use super::proxy_header::read_client;
use crate::timers::{fast_sleep, fast_timeout};
use async_trait::async_trait;
use headgate_core::catalog::client_address::ClientAddressResolver;
use headgate_workers::WorkerPool;
use pingora_core::apps::ServerApp;
use pingora_core::listeners::tls::Acceptor;
use pingora_core::protocols::Stream;
use pingora_core::server::{ListenFds, ShutdownWatch};
use pingora_core::services::Service;
use std::future::pending;
use std::io;
use std::net::{self, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Pause of accepting when the system has no free file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);
/// Minimum interval of the warning about file descriptors.
const LOG_INTERVAL: Duration = Duration::from_secs(10);
/// Maximum wait for the end of a connection that was evicted.
const EVICTION_MAX: Duration = Duration::from_secs(1);
/// Maximum number of connections that are accepted from the backlog when the listener closes.
const WAITING_MAX: usize = 10_000;
/// File descriptors that the admin listener holds in reserve for its connections. As many must be free before the
/// callers' listener accepts again, so that the admin listener can refill its reserve.
const SPARE_FILES: usize = 4;

/// A listener for callers or for the admin pages, as a service of Pingora's server.
pub(super) struct ListenerService<A> {
    name: &'static str,
    /// Taken when the service starts.
    accepting: Option<(net::TcpListener, AcceptLoop<A>)>,
}

/// Accepts the connections of a listener until it closes.
pub(super) struct AcceptLoop<A> {
    /// The name of the listener.
    pub name: &'static str,
    pub workers: Arc<WorkerPool>,
    pub admission: Arc<AcceptContext<A>>,
    pub drain_state: Arc<DrainState>,
    pub closing: ShutdownWatch,
    /// Whether callers connect here. The admin listener accepts connections even if the system has no free file
    /// descriptors.
    pub for_callers: bool,
}

/// What each connection needs to be admitted.
pub(super) struct AcceptContext<A> {
    /// One for each worker thread.
    pub apps: Vec<Arc<A>>,
    /// One permit per connection, from accept to close.
    pub connection_permits: Arc<Semaphore>,
    /// The connections that make room for new ones at the limit, if any do.
    pub evictable: Option<Arc<EvictableConnections>>,
    pub open: prometheus::IntGauge,
    /// Checks the peer's PROXY header, if connections must begin with one.
    pub proxies: Option<Arc<ClientAddressResolver>>,
    pub tls: Option<Acceptor>,
    /// Time limit for the PROXY header and the TLS handshake together, counted from accept.
    pub handshake_deadline: Duration,
}

/// A connection, before its worker serves it.
enum AcceptedStream {
    /// Registered with the runtime of the accept loop, which is the worker's own.
    Registered(TcpStream),
    Unregistered(net::TcpStream),
}

#[async_trait]
impl<A: ServerApp + Send + Sync + 'static> Service for ListenerService<A> {
    async fn start_service(&mut self, _: Option<ListenFds>, _: ShutdownWatch, _: usize) {
        let Some((socket, accept_loop)) = self.accepting.take() else {
            return;
        };
        let workers = accept_loop.workers.clone();
        workers.run_accept_loop(accept_loop.run(socket)).await;
    }

    fn name(&self) -> &str {
        self.name
    }

    fn threads(&self) -> Option<usize> {
        // Accepts only.
        Some(1)
    }
}

impl<A> ListenerService<A> {
    pub fn new(socket: net::TcpListener, accept_loop: AcceptLoop<A>) -> Self {
        Self {
            name: accept_loop.name,
            accepting: Some((socket, accept_loop)),
        }
    }
}

impl<A: ServerApp + Send + Sync + 'static> AcceptLoop<A> {
    async fn run(self, socket: net::TcpListener) {
        let listener = match TcpListener::from_std(socket) {
            Ok(listener) => listener,
            Err(error) => return tracing::error!(listener = self.name, %error, "cannot listen"),
        };
        if self.for_callers {
            self.drain_state.accept();
        }
        let mut spare = Vec::new();
        let mut starved = false;
        let mut last_logged: Option<Instant> = None;
        let mut closed = pin!(until_set(self.closing.clone()));
        loop {
            if !self.for_callers && !starved {
                fill_spare_files(&mut spare, &listener);
            }
            let accepted = tokio::select! {
                biased;
                () = &mut closed => break,
                () = self.wait_for_file_descriptors(&listener), if starved => {
                    starved = false;
                    continue;
                }
                accepted = listener.accept(), if !starved => accepted,
            };
            match accepted {
                Ok((stream, peer)) => {
                    let stream = match self.workers.runs_accept_loop() {
                        true => Ok(AcceptedStream::Registered(stream)),
                        false => stream.into_std().map(AcceptedStream::Unregistered),
                    };
                    if let Ok(stream) = stream {
                        self.admit(stream, peer);
                    }
                }
                // A spare descriptor was closed; the next accept succeeds.
                Err(error) if is_out_of_file_descriptors(&error) && spare.pop().is_some() => {}
                Err(error) if is_out_of_file_descriptors(&error) => {
                    if last_logged.is_none_or(|at| at.elapsed() > LOG_INTERVAL) {
                        tracing::warn!(listener = self.name, %error, "out of file descriptors; connections wait to be accepted");
                        last_logged = Some(Instant::now());
                    }
                    starved = true;
                }
                // The client closed the connection before it was accepted.
                Err(error) => tracing::debug!(listener = self.name, %error, "accept failed"),
            }
        }
        self.accept_backlog(listener);
    }

    /// Waits a while; for the callers' listener, until enough file descriptors are free.
    async fn wait_for_file_descriptors(&self, listener: &TcpListener) {
        let mut room = Vec::new();
        while room.len() < SPARE_FILES {
            room.clear();
            fast_sleep(ACCEPT_PAUSE).await;
            if !self.for_callers {
                return;
            }
            fill_spare_files(&mut room, listener);
        }
    }

    /// Accepts the connections in the backlog, which closing the listener would reset.
    fn accept_backlog(&self, listener: TcpListener) {
        let Ok(listener) = listener.into_std() else {
            return;
        };
        for _ in 0..WAITING_MAX {
            let Ok((stream, peer)) = listener.accept() else {
                return;
            };
            if stream.set_nonblocking(true).is_ok() {
                self.admit(AcceptedStream::Unregistered(stream), peer);
            }
        }
    }

    /// Serves a connection, or closes it at once if there is no permit and no connection makes room for it.
    fn admit(&self, stream: AcceptedStream, peer: SocketAddr) {
        let permits = &self.admission.connection_permits;
        let permit = permits.clone().try_acquire_owned().ok();
        let evictable = self.admission.evictable.as_ref();
        if permit.is_none() && !evictable.is_some_and(|connections| connections.evict_one()) {
            return;
        }
        let (admission, closing) = (self.admission.clone(), self.closing.clone());
        self.workers.spawn(|worker| async move {
            let permit = match permit {
                Some(permit) => Some(permit),
                None => admission.permit_of_evicted().await,
            };
            if let (Some(permit), Ok(stream)) = (permit, stream.register()) {
                admission.serve(worker, stream, peer, closing, permit).await;
            }
        });
    }
}

impl<A: ServerApp + Send + Sync + 'static> AcceptContext<A> {
    /// The permit of a connection that was evicted and ends now.
    async fn permit_of_evicted(&self) -> Option<OwnedSemaphorePermit> {
        let permit = self.connection_permits.clone().acquire_owned();
        fast_timeout(EVICTION_MAX, permit).await.ok()?.ok()
    }

    async fn serve(
        &self,
        worker: usize,
        stream: TcpStream,
        peer: SocketAddr,
        closing: ShutdownWatch,
        permit: OwnedSemaphorePermit,
    ) {
        self.open.inc();
        let _open = GaugeGuard(&self.open);
        // Dropped first: a connection that is no longer counted must not take a place.
        let _permit = permit;
        if stream.set_nodelay(true).is_err() {
            return;
        }
        let Some(mut stream) = self.handshake(stream, peer).await else {
            return;
        };
        while let Some(again) = self.apps[worker].process_new(stream, &closing).await {
            stream = again;
        }
    }

    /// Reads the PROXY header and runs the TLS handshake, as far as they are configured.
    async fn handshake(&self, stream: TcpStream, peer: SocketAddr) -> Option<Stream> {
        if self.proxies.is_none() && self.tls.is_none() {
            return Some(Box::new(ClientTcpStream::new(stream, peer, false)));
        }
        // Boxed: this future is large, and needed only at the start of a connection.
        let secured = Box::pin(self.accept_tls(stream, peer));
        let waiting = self.evictable.as_ref().map(EvictableConnections::add);
        let evicted = async {
            match &waiting {
                Some(waiting) => waiting.evicted().await,
                None => pending().await,
            }
        };
        tokio::select! {
            biased;
            secured = fast_timeout(self.handshake_deadline, secured) => match secured {
                Ok(stream) => stream,
                Err(_) => {
                    tracing::debug!("PROXY header or TLS handshake of a client timed out");
                    None
                }
            },
            () = evicted => None,
        }
    }

    async fn accept_tls(&self, mut stream: TcpStream, peer: SocketAddr) -> Option<Stream> {
        let client = match &self.proxies {
            None => peer,
            Some(proxies) => match read_client(&mut stream, proxies).await {
                Ok(client) => client,
                Err(reason) => {
                    tracing::debug!(%peer, %reason, "connection refused");
                    return None;
                }
            },
        };
        let stream = ClientTcpStream::new(stream, client, self.tls.is_some());
        let Some(tls) = &self.tls else {
            return Some(Box::new(stream));
        };
        match tls.tls_handshake(stream).await {
            Ok(stream) => Some(Box::new(stream)),
            Err(error) => {
                tracing::debug!(%error, "TLS handshake with a client failed");
                None
            }
        }
    }
}

impl AcceptedStream {
    /// Registers the connection with the runtime of the calling task.
    fn register(self) -> io::Result<TcpStream> {
        match self {
            Self::Registered(stream) => Ok(stream),
            Self::Unregistered(stream) => TcpStream::from_std(stream),
        }
    }
}

/// Takes one off a gauge at the end of a scope.
struct GaugeGuard<'a>(&'a prometheus::IntGauge);

impl Drop for GaugeGuard<'_> {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Whether the system is out of a resource that only time frees: an immediate retry would loop.
fn is_out_of_file_descriptors(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM)
    )
}

fn fill_spare_files(spare: &mut Vec<OwnedFd>, listener: &TcpListener) {
    while spare.len() < SPARE_FILES {
        match listener.as_fd().try_clone_to_owned() {
            Ok(file) => spare.push(file),
            Err(_) => return,
        }
    }
}
