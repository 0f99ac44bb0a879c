//! `headgate run`: the gateway and its admin pages.

use super::Failure;
use crate::admin::Admin;
use crate::channel::live::Channels;
use crate::config::routes::AccessLogConfig;
use crate::gateway::Gateway;
use crate::gateway::listen::{self, AppLimits, Process};
use crate::observe::access_log::AccessLog;
use crate::observe::line_writer::{LineWriter, Sink};
use crate::observe::metrics::Metrics;
use crate::reload::{self, Reloader};
use crate::snapshot::Lasting;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use tracing_subscriber::EnvFilter;

#[derive(clap::Args)]
pub struct Args {
    /// The configuration.
    #[arg(long, short, default_value = "routes.yaml")]
    pub config: PathBuf,
    /// Listens here instead of where `server.listen` says.
    #[arg(long)]
    pub listen: Option<String>,
    /// Serves the admin pages here instead of where `server.admin` says.
    #[arg(long)]
    pub admin: Option<String>,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let log = start_logging();
    gateway(args, Lasting::default(), log)?.process.run()
}

/// A gateway that is ready to run.
pub struct Ready {
    pub process: Process,
    pub listen: SocketAddr,
    pub admin: SocketAddr,
}

/// The gateway and its admin pages; says on standard error where they listen.
pub fn gateway(args: &Args, lasting: Lasting, log: LineWriter) -> Result<Ready, Failure> {
    let metrics = Arc::new(Metrics::new());
    let reloader = Arc::new(Reloader::start(&args.config, lasting, metrics.clone())?);
    let snapshot = reloader.current();
    let server = &snapshot.server;
    let sink = match server.access_log {
        AccessLogConfig::Stdout => Some(Sink::Stdout),
        AccessLogConfig::Stderr => Some(Sink::Stderr),
        AccessLogConfig::Off => None,
    };
    let access_log = Arc::new(AccessLog::new(sink));
    let ready = Arc::new(AtomicBool::new(true));
    let listen = args.listen.as_ref().unwrap_or(&server.listen);
    let listen = listen::reserve(listen).map_err(|error| cannot_listen(listen, &error))?;
    let admin = args.admin.as_ref().unwrap_or(&server.admin);
    let admin = listen::reserve(admin).map_err(|error| cannot_listen(admin, &error))?;
    let workers = server
        .workers
        .map(usize::from)
        .or_else(|| thread::available_parallelism().ok().map(usize::from))
        .unwrap_or(1);
    let mut process = Process::new(workers, server.limits.drain.duration());
    let channels = Arc::new(Channels::new(metrics.clone()));
    let gateway = Arc::new(Gateway::new(
        reloader.clone(),
        channels.clone(),
        metrics.clone(),
        access_log.clone(),
    ));
    let folder = args.config.parent().unwrap_or(Path::new(""));
    process
        .add_gateway(gateway, metrics.clone(), server, folder, &listen)
        .map_err(Failure::new)?;
    let pages = Admin {
        reloader: reloader.clone(),
        metrics: metrics.clone(),
        access_log: access_log.clone(),
        ready: ready.clone(),
    };
    process.add_app("admin", pages, &admin, AppLimits::ADMIN);
    if let Err(error) = reload::watch::start(reloader.clone()) {
        tracing::warn!(%error, "the configuration is not watched; SIGHUP and POST /reload still reload it");
    }
    super::signals::start(super::signals::Life {
        reloader: reloader.clone(),
        metrics,
        access_log,
        log,
        ready,
    })?;
    tracing::info!(
        listen = %listen.address,
        admin = %admin.address,
        revision = &*snapshot.revision,
        workers,
        "headgate is listening"
    );
    let ready = Ready {
        process,
        listen: listen.address,
        admin: admin.address,
    };
    // The sockets keep the addresses ours until the process ends.
    std::mem::forget((listen, admin));
    Ok(ready)
}

/// Logs go to standard error; `RUST_LOG` chooses them.
pub fn start_logging() -> LineWriter {
    let log = LineWriter::start(Sink::Stderr);
    let writer = log.clone();
    let filter = EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| EnvFilter::new("warn,pingora_core=error,headgate=info"));
    tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_env_filter(filter)
        .with_writer(move || writer.clone())
        .log_internal_errors(false)
        .init();
    log
}

fn cannot_listen(address: &str, error: &std::io::Error) -> Failure {
    Failure::new(format!("error: cannot listen on {address}: {error}"))
}
