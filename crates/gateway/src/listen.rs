//! The listening process: sockets, TLS, and the services that accept connections.

mod accept;
pub(super) mod caller_connections;
pub(super) mod client_departure;
mod client_stream;
mod client_tls;
mod connections;
pub mod drain_state;
mod evictable_connections;
pub(super) mod http2;
mod http_app_adapter;
mod http_app_limits;
mod proxy_header;
pub(super) mod worker_gateways;

use super::Gateway;
use super::background_service::BackgroundWorkService;
use super::probe::ChannelHealthProber;
#[cfg(feature = "otlp")]
use super::trace_export_service::TraceExportService;
use accept::{AcceptContext, AcceptLoop, ListenerService};
use async_trait::async_trait;
use connections::ClientConnectionServer;
use drain_state::DrainState;
use evictable_connections::EvictableConnections;
use headgate_channel::address_cache::AddressCache;
use headgate_channel::live::ChannelStates;
use headgate_config::reload::SnapshotReloader;
use headgate_config::snapshot::server;
use headgate_config::snapshot::server::{ListenerTlsMaterial, ListenerTlsPaths, read_tls};
use headgate_core::feature::background::BackgroundWork;
use headgate_core::serve::HttpApp;
use headgate_workers::WorkerPool;
use http_app_adapter::HttpAppAdapter;
pub use http_app_limits::HttpAppServerLimits;
use pingora_core::listeners::tls::TlsSettings;
use pingora_core::server::configuration::ServerConf;
use pingora_core::server::{RunArgs, Server, ShutdownSignal, ShutdownSignalWatch};
use pingora_core::services::background::background_service;
use prometheus::IntGauge;
use rustls::sign::SingleCertAndKey;
use std::future::pending;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::Semaphore;
use worker_gateways::{ConnectionWorker, WorkerGateways};

/// Backlog of a listening socket; the system may limit it further.
const WAITING_CONNECTIONS_MAX: i32 = 65_535;
/// How much of a response the system keeps for a client that does not read, apart from what is on its way. Its own limit is
/// megabytes for each connection, and a thousand of them take all memory that the system has for TCP.
#[cfg(target_os = "linux")]
const UNSENT_BYTES_MAX: u32 = 256 << 10;

/// A listening process: add services, then run it until a signal ends it.
pub struct ServerProcess {
    server: Server,
    workers: usize,
    drain_state: Arc<DrainState>,
}

/// A socket that listens; connections wait in its backlog until a service accepts them.
pub struct ListenSocket {
    pub address: SocketAddr,
    listener: TcpListener,
}

impl ServerProcess {
    /// Serves callers with `workers` threads.
    pub fn new(workers: usize) -> Self {
        let conf = ServerConf {
            grace_period_seconds: Some(0),
            graceful_shutdown_timeout_seconds: Some(0),
            ..ServerConf::default()
        };
        let mut server = Server::new_with_opt_and_conf(None, conf);
        server.bootstrap();
        Self {
            server,
            workers,
            drain_state: Arc::default(),
        }
    }

    /// The drain state that the parts of the process share.
    pub fn drain_state(&self) -> Arc<DrainState> {
        self.drain_state.clone()
    }

    /// Serves the gateway, with `connections` client connections at most.
    ///
    /// # Errors
    /// The certificate files cannot be used, or the system allows no further threads.
    pub fn add_gateway(
        &mut self,
        gateway: &Gateway,
        settings: &server::ServerSettings,
        folder: &Path,
        socket: ListenSocket,
        connections: usize,
    ) -> Result<(), String> {
        let tls = settings.tls.as_ref().map(|tls| tls_settings(tls, folder));
        let open = gateway.metrics.connections().clone();
        let proxied = gateway.client_addresses.takes_proxy_protocol();
        let proxies = proxied.then(|| gateway.client_addresses.clone());
        let workers = started_workers("gateway", self.workers)?;
        let gateways = Arc::new(WorkerGateways::new(gateway, workers.clone()));
        let services = (0..self.workers).map(|index| {
            let all = gateways.clone();
            let worker = ConnectionWorker { all, index };
            Arc::new(ClientConnectionServer::new(worker, &settings.limits))
        });
        let admission = AcceptContext {
            apps: services.collect(),
            connection_permits: Arc::new(Semaphore::new(connections)),
            evictable: None,
            open,
            proxies,
            tls: tls.transpose()?.map(TlsSettings::build),
            handshake_deadline: settings.limits.header_timeout,
        };
        let accept_loop = AcceptLoop {
            name: "gateway",
            workers,
            admission: Arc::new(admission),
            drain_state: self.drain_state.clone(),
            closing: self.drain_state.callers(),
            for_callers: true,
        };
        let service = ListenerService::new(socket.listener, accept_loop);
        self.server.add_service(service);
        Ok(())
    }

    /// Serves an application, with TLS if there are files for it.
    ///
    /// # Errors
    /// The certificate files cannot be used, or the system allows no further threads.
    pub fn add_app(
        &mut self,
        name: &'static str,
        app: impl HttpApp,
        socket: ListenSocket,
        tls: Option<(&ListenerTlsPaths, &Path)>,
        limits: HttpAppServerLimits,
    ) -> Result<(), String> {
        let tls = tls
            .map(|(files, folder)| tls_settings(files, folder))
            .transpose()?;
        let drain_state = self.drain_state.clone();
        let evictable = Arc::new(EvictableConnections::default());
        let connections = evictable.clone();
        let app = HttpAppAdapter::new(app, limits, tls.is_some(), drain_state, connections);
        let admission = AcceptContext {
            apps: vec![Arc::new(app)],
            connection_permits: Arc::new(Semaphore::new(limits.connections)),
            evictable: Some(evictable),
            open: uncounted(),
            proxies: None,
            tls: tls.map(TlsSettings::build),
            handshake_deadline: limits.header_timeout,
        };
        let accept_loop = AcceptLoop {
            name,
            workers: started_workers(name, 1)?,
            admission: Arc::new(admission),
            drain_state: self.drain_state.clone(),
            closing: self.drain_state.admin(),
            for_callers: false,
        };
        let service = ListenerService::new(socket.listener, accept_loop);
        self.server.add_service(service);
        Ok(())
    }

    /// Probes the channels that have a probe, on a separate thread.
    pub fn add_prober(
        &mut self,
        reloader: Arc<SnapshotReloader>,
        channels: Arc<ChannelStates>,
        addresses: AddressCache,
    ) {
        let prober =
            ChannelHealthProber::new(reloader, channels, addresses, self.drain_state.clone());
        self.server
            .add_service(background_service("prober", prober));
    }

    /// Runs the work of features in the background, on a separate thread.
    pub fn add_background_work(&mut self, gateway: &Arc<Gateway>, works: Vec<BackgroundWork>) {
        for _ in works.iter().filter(|work| work.is_awaited) {
            self.drain_state.add_background();
        }
        let service = BackgroundWorkService::new(gateway.clone(), works);
        self.server
            .add_service(background_service("features", service));
    }

    /// Exports traces, on a separate thread.
    #[cfg(feature = "otlp")]
    pub fn add_trace_exporter(&mut self, reloader: Arc<SnapshotReloader>, addresses: AddressCache) {
        self.drain_state.add_background();
        let service = TraceExportService::new(reloader, addresses, self.drain_state.clone());
        self.server
            .add_service(background_service("trace exporter", service));
    }

    /// Runs until the process ends.
    pub fn run(self) -> ! {
        self.server.run(RunArgs {
            shutdown_signal: Box::new(NeverShutdownSignal),
        });
        unreachable!("the signal that the server waits for never comes")
    }
}

/// Never fires: the program handles signals itself.
struct NeverShutdownSignal;

#[async_trait]
impl ShutdownSignalWatch for NeverShutdownSignal {
    async fn recv(&self) -> ShutdownSignal {
        pending().await
    }
}

impl ListenSocket {
    /// Listens on an address; port 0 selects a free port.
    ///
    /// # Errors
    /// The address cannot be resolved, or is in use.
    pub fn bind(address: &str) -> io::Result<Self> {
        let wanted = resolve(address)?;
        let domain = socket2::Domain::for_address(wanted);
        let socket = socket2::Socket::new(domain, socket2::Type::STREAM, None)?;
        // Connections of a previous process in TIME_WAIT would block the address for a minute.
        socket.set_reuse_address(true)?;
        socket.bind(&wanted.into())?;
        socket.listen(WAITING_CONNECTIONS_MAX)?;
        Self::inherited(socket.into())
    }

    /// Wraps a socket that already listens.
    ///
    /// # Errors
    /// The descriptor is not a listening socket.
    pub fn inherited(listener: TcpListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        limit_unsent_bytes(&listener);
        Ok(Self {
            address: listener.local_addr()?,
            listener,
        })
    }

    /// The socket, for a server outside the gateway.
    pub fn into_listener(self) -> TcpListener {
        self.listener
    }

    /// A duplicate of the socket's descriptor, for another process.
    ///
    /// # Errors
    /// The process has reached its limit of open files.
    pub fn try_clone(&self) -> io::Result<OwnedFd> {
        Ok(self.listener.try_clone()?.into())
    }
}

/// Sets `UNSENT_BYTES_MAX` of the connections that are accepted, which have the options of the listening socket.
#[cfg(target_os = "linux")]
fn limit_unsent_bytes(listener: &TcpListener) {
    // Without this option the system keeps more.
    let _ = socket2::SockRef::from(listener).set_tcp_notsent_lowat(UNSENT_BYTES_MAX);
}

#[cfg(not(target_os = "linux"))]
fn limit_unsent_bytes(_listener: &TcpListener) {}

/// The first address of `host:port`.
///
/// # Errors
/// The name does not resolve, or has no address.
pub fn resolve(address: &str) -> io::Result<SocketAddr> {
    address
        .to_socket_addrs()?
        .next()
        .ok_or_else(|| io::Error::new(io::ErrorKind::AddrNotAvailable, "the name has no address"))
}

/// Before the process listens, so that it does not begin without them.
fn started_workers(name: &str, count: usize) -> Result<Arc<WorkerPool>, String> {
    let workers = WorkerPool::start(name, count);
    let workers = workers.map_err(|error| format!("cannot start the threads of {name}: {error}"));
    Ok(Arc::new(workers?))
}

/// Metrics count only the connections of callers.
fn uncounted() -> IntGauge {
    IntGauge::new("connections", "of an application").expect("the name is a constant")
}

/// Reads the files before Pingora, which would panic if it could not read them.
fn tls_settings(files: &ListenerTlsPaths, folder: &Path) -> Result<TlsSettings, String> {
    let ListenerTlsMaterial {
        identity,
        client_authorities,
    } = read_tls(files, folder).map_err(|unusable| {
        let reasons: Vec<String> = unusable.into_iter().map(|file| file.reason).collect();
        reasons.join("; ")
    })?;
    let settings = match &client_authorities {
        None => TlsSettings::intermediate("", ""),
        Some(_) => TlsSettings::with_callbacks(Box::new(client_tls::ClientCertificateReader)),
    };
    let mut settings = settings.map_err(|error| error.to_string())?;
    settings.set_cert_resolver(Arc::new(SingleCertAndKey::from(identity)));
    settings.enable_h2();
    if let Some(authorities) = client_authorities {
        settings.set_client_cert_verifier(client_tls::verifier(authorities)?);
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    #[cfg(target_os = "linux")]
    #[test]
    fn accepted_connections_keep_few_unsent_bytes() {
        let socket = super::ListenSocket::bind("127.0.0.1:0").unwrap();
        let _client = std::net::TcpStream::connect(socket.address).unwrap();
        let listener = socket.into_listener();
        listener.set_nonblocking(false).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        let unsent = socket2::SockRef::from(&accepted).tcp_notsent_lowat();
        assert_eq!(unsent.unwrap(), super::UNSENT_BYTES_MAX);
    }
}
