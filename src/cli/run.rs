//! `headgate run`: the gateway and its admin pages.

use super::config_file::PositionalConfigFileArgs;
use super::handover::{InheritedSockets, SocketOffer};
use super::lifecycle::{self, ProcessLifecycle, StartSignals};
use super::{CommandError, limits};
use crate::features::FEATURES;
use crate::memory::trim::MemoryTrim;
use headgate_admin::AdminApp;
use headgate_admin::access::AdminAuthenticator;
use headgate_admin::event_streams::EventStreamQuota;
use headgate_admin::findings::history::StatefulFindingSources;
use headgate_admin::findings::watch::FindingChangeLogger;
use headgate_admin::router::AdminPages;
use headgate_channel::live::ChannelStates;
use headgate_config::reload;
use headgate_config::reload::SnapshotReloader;
use headgate_config::reload::running::ListenerAddresses;
use headgate_config::snapshot::CrossSnapshotState;
use headgate_config::snapshot::admin::{AdminAccessRules, KEYS_REQUIRED, KEYS_REQUIRED_HINT};
use headgate_config::snapshot::server::{AccessLogTarget, ServerSettings};
use headgate_gateway::listen::{HttpAppServerLimits, ListenSocket, ServerProcess};
use headgate_gateway::{Gateway, listen};
use headgate_issuance::issuance::Issuance;
use headgate_observe::access_log::AccessLog;
use headgate_observe::line_writer::LogSink;
use headgate_observe::metrics::Metrics;
use headgate_observe::process_log;
use headgate_observe::process_log::ProcessLog;
use headgate_protocol::secret_shape;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

#[derive(clap::Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub config: PositionalConfigFileArgs,
    /// Address of the gateway; overrides `server.listen`.
    #[arg(long)]
    pub listen: Option<String>,
    /// Address of the admin pages; overrides `server.admin`.
    #[arg(long)]
    pub admin: Option<String>,
    /// Takes over from the process that serves this address without closing connections; starts normally if there is
    /// none.
    #[arg(long)]
    pub upgrade: bool,
}

/// What to do if the gateway's address is in use.
const LISTEN_MEND: &str = "with `--listen` or `server.listen`; `headgate run --upgrade` takes over from a running gateway";
/// What to do if the address of the admin pages is in use.
const ADMIN_MEND: &str = "with `--admin` or `server.admin`";

pub fn run(args: &RunArgs) -> Result<(), CommandError> {
    let log = process_log::start();
    gateway(args, CrossSnapshotState::new(FEATURES), log, Vec::new())?
        .process
        .run()
}

/// A gateway that is ready to run.
#[cfg_attr(
    not(feature = "simulator"),
    expect(dead_code, reason = "the demo alone prints the addresses")
)]
pub struct ReadyGateway {
    pub process: ServerProcess,
    pub listen: SocketAddr,
    pub admin: SocketAddr,
}

/// Builds the gateway and its admin pages, and logs where they listen. The process removes `temporary_files` when it
/// ends.
pub fn gateway(
    args: &RunArgs,
    shared: CrossSnapshotState,
    log: ProcessLog,
    temporary_files: Vec<PathBuf>,
) -> Result<ReadyGateway, CommandError> {
    let signals = StartSignals::new()?;
    MemoryTrim::before_start();
    let features = shared.list;
    let metrics = Arc::new(Metrics::new(shared.list, &shared.features));
    let shared_values = shared.features.clone();
    let reloader = Arc::new(SnapshotReloader::start(
        &args.config.path(),
        shared,
        metrics.clone(),
    )?);
    let snapshot = reloader.current();
    let server = &snapshot.server;
    let access_log = Arc::new(AccessLog::new(sink(server.access_log)));
    limits::require_resources(server.worker_threads())?;
    let sockets = GatewaySockets::open(args, server)?;
    let (listen, admin) = (sockets.gateway.address, sockets.admin.address);
    require_admin_keys(admin, &snapshot.admin)?;
    reloader.set_listeners(ListenerAddresses {
        listen: listen.to_string(),
        admin: admin.to_string(),
        is_listen_overridden: args.listen.is_some(),
        is_admin_overridden: args.admin.is_some(),
    });
    let predecessor = sockets.inheritance.as_ref().map(|from| from.pid);
    let workers = server.worker_threads();
    let mut process = ServerProcess::new(workers);
    let ready = Arc::new(AtomicBool::new(true));
    let channels = Arc::new(ChannelStates::new(metrics.clone()));
    channels.retain(&snapshot.catalog);
    let issuance = Arc::new(Issuance::new(reloader.clone()));
    let pages = AdminApp {
        features,
        pages: Arc::new(AdminPages::new(features)),
        reloader: reloader.clone(),
        channels: channels.clone(),
        issuance: issuance.clone(),
        metrics: metrics.clone(),
        access_log: access_log.clone(),
        ready: ready.clone(),
        access: Arc::new(AdminAuthenticator::new(admin)),
        event_streams: EventStreamQuota::default(),
        log_filter: log.filter,
        findings: Arc::new(StatefulFindingSources::new(features)),
    };
    let life = ProcessLifecycle {
        reloader: reloader.clone(),
        metrics: metrics.clone(),
        access_log: access_log.clone(),
        log: log.lines,
        ready,
        findings: FindingChangeLogger::new(pages.clone(), &shared_values),
        memory: MemoryTrim::start(),
        drain_state: process.drain_state(),
        limits: server.limits.clone(),
        offer: sockets.offer,
        inheritance: sockets.inheritance,
        temporary_files,
    };
    let gateway = Gateway::new(
        reloader.clone(),
        channels.clone(),
        metrics,
        access_log,
        process.drain_state(),
    );
    process.add_prober(reloader.clone(), channels.clone(), gateway.addresses());
    let works = FEATURES.iter().filter_map(|feature| feature.background());
    process.add_background_work(&Arc::new(gateway.with_own_connections()), works.collect());
    #[cfg(feature = "otlp")]
    process.add_trace_exporter(reloader.clone(), gateway.addresses());
    let config = args.config.path();
    let folder = config.parent().unwrap_or(Path::new(""));
    process
        .add_gateway(
            &gateway,
            server,
            folder,
            sockets.gateway,
            limits::connections(server.limits.connections),
        )
        .map_err(CommandError::new)?;
    let tls = server.admin_tls.as_ref().map(|tls| (tls, folder));
    process
        .add_app(
            "admin",
            pages,
            sockets.admin,
            tls,
            HttpAppServerLimits::admin(&server.limits),
        )
        .map_err(CommandError::new)?;
    if let Err(error) = reload::watch::start(reloader) {
        tracing::warn!(%error, "cannot watch the configuration for changes; use SIGHUP or POST /reload");
    }
    issuance.start()?;
    lifecycle::start(life, signals)?;
    tracing::info!(
        %listen,
        %admin,
        revision = &*snapshot.revision,
        workers,
        predecessor,
        "headgate is listening"
    );
    Ok(ReadyGateway {
        process,
        listen,
        admin,
    })
}

/// The sockets of a gateway, inherited or bound, and the offer to a successor.
struct GatewaySockets {
    gateway: ListenSocket,
    admin: ListenSocket,
    inheritance: Option<InheritedSockets>,
    offer: Option<SocketOffer>,
}

impl GatewaySockets {
    /// Binds the sockets, or takes them over from the running process.
    fn open(args: &RunArgs, server: &ServerSettings) -> Result<Self, CommandError> {
        let listen = args.listen.as_ref().unwrap_or(&server.listen);
        let admin = args.admin.as_ref().unwrap_or(&server.admin);
        let mut inheritance = match args.upgrade {
            true => predecessor_at(listen)?,
            false => None,
        };
        let from = inheritance.as_mut();
        let (gateway, pages, name) = match from {
            Some(from) => (from.gateway.take(), from.admin.take(), from.name.take()),
            None => (None, None, None),
        };
        let gateway = inherit_or_bind(gateway, listen, LISTEN_MEND)?;
        let admin = inherit_or_bind(pages, admin, ADMIN_MEND)?;
        let offer = match SocketOffer::new(
            gateway.address,
            gateway.try_clone()?,
            admin.try_clone()?,
            name,
        ) {
            Ok(offer) => Some(offer),
            Err(error) => {
                tracing::warn!(%error, "in-place upgrade is not available");
                None
            }
        };
        Ok(Self {
            gateway,
            admin,
            inheritance,
            offer,
        })
    }
}

/// Checks the address that the admin pages have: that of the command line, or the one that a name resolved to.
fn require_admin_keys(admin: SocketAddr, rules: &AdminAccessRules) -> Result<(), CommandError> {
    let is_loopback = admin.ip().to_canonical().is_loopback();
    match is_loopback || rules.has_keys() || rules.without_keys {
        true => Ok(()),
        false => Err(CommandError::new(format!(
            "error: {admin}: {KEYS_REQUIRED}\n  {KEYS_REQUIRED_HINT}"
        ))),
    }
}

fn predecessor_at(address: &str) -> Result<Option<InheritedSockets>, CommandError> {
    let resolved =
        listen::resolve(address).map_err(|error| cannot_listen(address, LISTEN_MEND, &error))?;
    let predecessor = InheritedSockets::take(resolved).map_err(|error| {
        CommandError::new(format!(
            "error: cannot take over from the process at {address}: {error}"
        ))
    })?;
    if predecessor.is_none() {
        tracing::info!(address, "no running process found; starting as usual");
    }
    Ok(predecessor)
}

/// The inherited socket, unless the configuration names another address now.
fn inherit_or_bind(
    inherited: Option<TcpListener>,
    address: &str,
    mend: &str,
) -> Result<ListenSocket, CommandError> {
    let failed = |error| cannot_listen(address, mend, &error);
    let wanted = listen::resolve(address).map_err(failed)?;
    if let Some(listener) = inherited {
        let socket = ListenSocket::inherited(listener).map_err(failed)?;
        if socket.address == wanted {
            return Ok(socket);
        }
    }
    bind(address, mend)
}

fn sink(target: AccessLogTarget) -> Option<LogSink> {
    match target {
        AccessLogTarget::Stdout => Some(LogSink::Stdout),
        AccessLogTarget::Stderr => Some(LogSink::Stderr),
        AccessLogTarget::Off => None,
    }
}

/// Binds a socket of a server; `mend` is how to give another address if this one is in use.
///
/// # Errors
/// The address cannot be used; the message has the address and what to do.
pub fn bind(address: &str, mend: &str) -> Result<ListenSocket, CommandError> {
    ListenSocket::bind(address).map_err(|error| cannot_listen(address, mend, &error))
}

fn cannot_listen(address: &str, mend: &str, error: &std::io::Error) -> CommandError {
    let address = secret_shape::masked(address);
    let hint = match error.kind() {
        ErrorKind::AddrInUse => {
            &*format!("another process listens there; stop it, or give another address {mend}")
        }
        ErrorKind::PermissionDenied => {
            "give a port from 1024 on, or grant the program CAP_NET_BIND_SERVICE"
        }
        ErrorKind::AddrNotAvailable => {
            "this machine does not have the address; 0.0.0.0 is all of its IPv4 addresses, [::] those of IPv6 too"
        }
        ErrorKind::InvalidInput => "write HOST:PORT, such as 127.0.0.1:8080",
        _ => "check the name of the host",
    };
    CommandError::new(format!(
        "error: cannot listen on {address}: {error}\n  {hint}"
    ))
}
