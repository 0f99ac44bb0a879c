//! Listeners and the life of the process: binding, TLS, connection caps, signals, draining.

use super::Gateway;
use super::app_service::AppService;
use super::connections::Connections;
use super::probe::Prober;
use crate::config::routes::{ServerConfig, ServerTlsConfig};
use crate::observe::metrics::Metrics;
use crate::serve::App;
use crate::snapshot::server::{ServerTls, read_tls};
use pingora_core::listeners::tls::TlsSettings;
use pingora_core::listeners::{L4BufferSettings, ListenerConfig, TcpSocketOptions};
use pingora_core::server::Server;
use pingora_core::server::configuration::ServerConf;
use pingora_core::services::background::background_service;
use pingora_core::services::listening::Service;
use rustls::sign::SingleCertAndKey;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Read and write buffers of a client connection: small ones, since there are many.
const CLIENT_READ_BUFFER: usize = 8 << 10;
const CLIENT_WRITE_BUFFER: usize = 4 << 10;

/// A process that listens: services are added, then it runs until it is told to stop.
pub struct Process {
    server: Server,
}

/// What an application of ours may take.
pub struct AppLimits {
    pub threads: usize,
    /// Larger request bodies get a 413.
    pub body_bytes_max: u64,
}

impl AppLimits {
    /// Of the admin pages, which take no bodies worth the name.
    pub const ADMIN: Self = Self {
        threads: 1,
        body_bytes_max: 64 << 10,
    };

    /// Of a simulated provider, which takes whatever a gateway forwards.
    pub fn simulator(threads: usize) -> Self {
        Self {
            threads,
            body_bytes_max: 1 << 30,
        }
    }
}

/// An address that was reserved, and the socket that keeps it from being given away.
pub struct Reserved {
    pub address: SocketAddr,
    keeper: Option<socket2::Socket>,
}

impl Process {
    /// `workers` threads serve each listener; on SIGTERM open requests have `drain` to end.
    pub fn new(workers: usize, drain: Duration) -> Self {
        let conf = ServerConf {
            threads: workers,
            grace_period_seconds: Some(drain.as_secs()),
            graceful_shutdown_timeout_seconds: Some(1),
            ..ServerConf::default()
        };
        let mut server = Server::new_with_opt_and_conf(None, conf);
        server.bootstrap();
        Self { server }
    }

    /// Serves the gateway at `address`.
    ///
    /// # Errors
    /// The certificate files cannot be used.
    pub fn add_gateway(
        &mut self,
        gateway: Arc<Gateway>,
        metrics: Arc<Metrics>,
        config: &ServerConfig,
        folder: &Path,
        address: &Reserved,
    ) -> Result<(), String> {
        let connections = Connections::new(gateway, metrics, &config.limits);
        let mut service = Service::new("gateway".into(), connections);
        let mut listener = listener(address).l4_buffer(L4BufferSettings::new(
            CLIENT_READ_BUFFER,
            CLIENT_WRITE_BUFFER,
        ));
        if let Some(tls) = &config.tls {
            listener = listener.tls(tls_settings(tls, folder)?);
        }
        service.add_listener(listener);
        self.server.add_service(service);
        Ok(())
    }

    /// Serves an application of ours at `address`, in plain HTTP.
    pub fn add_app(&mut self, name: &str, app: impl App, address: &Reserved, limits: AppLimits) {
        let AppLimits {
            threads,
            body_bytes_max,
        } = limits;
        let mut service = Service::new(name.into(), AppService::new(app, body_bytes_max));
        service.threads = Some(threads);
        service.add_listener(listener(address));
        self.server.add_service(service);
    }

    /// Probes the channels that want it, from a thread of its own.
    pub fn add_prober(&mut self, prober: Prober) {
        self.server
            .add_service(background_service("prober", prober));
    }

    /// Runs until SIGTERM (drains), SIGQUIT or SIGINT.
    pub fn run(self) -> ! {
        self.server.run_forever()
    }
}

/// Reserves an address; port 0 picks a free port, which nobody else gets before the listener has it.
///
/// # Errors
/// The address cannot be resolved, or is taken.
pub fn reserve(address: &str) -> io::Result<Reserved> {
    let wanted = address.to_socket_addrs()?.next().ok_or_else(|| {
        io::Error::new(io::ErrorKind::AddrNotAvailable, "the name has no address")
    })?;
    if wanted.port() != 0 {
        // Pingora retries a taken port for a minute before it says so; whoever waits wants to know now.
        drop(std::net::TcpListener::bind(wanted)?);
        return Ok(Reserved {
            address: wanted,
            keeper: None,
        });
    }
    let domain = socket2::Domain::for_address(wanted);
    let keeper = socket2::Socket::new(domain, socket2::Type::STREAM, None)?;
    keeper.set_reuse_port(true)?;
    keeper.bind(&wanted.into())?;
    let address = keeper
        .local_addr()?
        .as_socket()
        .ok_or_else(|| io::Error::other("the bound address is not an IP address"))?;
    Ok(Reserved {
        address,
        keeper: Some(keeper),
    })
}

/// A port that is shared with the socket that keeps it, and with nobody else: a second gateway on the
/// same port is told that it is taken.
fn listener(reserved: &Reserved) -> ListenerConfig {
    let mut options = TcpSocketOptions::default();
    options.so_reuseport = Some(reserved.keeper.is_some());
    ListenerConfig::tcp(reserved.address.to_string()).tcp_socket_options(options)
}

/// Pingora would read the files itself, and panic where it cannot.
fn tls_settings(config: &ServerTlsConfig, folder: &Path) -> Result<TlsSettings, String> {
    let ServerTls {
        identity,
        client_authorities,
    } = read_tls(config, folder).map_err(|unusable| {
        let reasons: Vec<String> = unusable.into_iter().map(|file| file.reason).collect();
        reasons.join("; ")
    })?;
    let mut settings = TlsSettings::intermediate("", "").map_err(|error| error.to_string())?;
    settings.set_cert_resolver(Arc::new(SingleCertAndKey::from(identity)));
    settings.enable_h2();
    if let Some(authorities) = client_authorities {
        settings.set_client_cert_verifier(super::client_tls::verifier(authorities)?);
    }
    Ok(settings)
}
