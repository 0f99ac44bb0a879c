//! The life of a gateway process: signals, successors, and an end that breaks nothing off.

use super::handover::{Inheritance, Offer};
use super::supervisor;
use crate::gateway::listen::stages::Stages;
use crate::gateway::service::LAST_REQUEST;
use crate::observe::access_log::AccessLog;
use crate::observe::line_writer::LineWriter;
use crate::observe::metrics::Metrics;
use crate::reload::Reloader;
use crate::snapshot::server::ServerLimits;
use std::future::pending;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use tokio::runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, sleep};

/// How often a draining process looks whether it is done.
const DRAIN_LOOK: Duration = Duration::from_millis(50);
/// Exchanges that are broken off get so long to tell their callers.
const BREAKING_OFF: Duration = Duration::from_secs(2);

/// How long the process stays for what the state store has not written yet.
const STATE_FLUSH: Duration = Duration::from_secs(2);

/// What the life of a process acts on.
pub struct Life {
    pub reloader: Arc<Reloader>,
    pub metrics: Arc<Metrics>,
    pub access_log: Arc<AccessLog>,
    pub log: LineWriter,
    pub ready: Arc<AtomicBool>,
    pub stages: Arc<Stages>,
    pub limits: ServerLimits,
    /// Whom this process takes over from.
    pub inheritance: Option<Inheritance>,
    /// What a successor can take over from this one.
    pub offer: Option<Offer>,
}

/// Why a process drains.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cause {
    Terminated,
    /// A successor accepts the connections now.
    Replaced,
}

/// Starts a life in a thread of its own; signals are heard from here on.
///
/// # Errors
/// The thread or its signal handlers cannot be had.
pub fn start(life: Life) -> io::Result<()> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let signals = {
        let _within = runtime.enter();
        Signals::new()?
    };
    thread::Builder::new()
        .name("life".into())
        .spawn(move || runtime.block_on(life.live(signals)))?;
    Ok(())
}

impl Life {
    async fn live(mut self, mut signals: Signals) {
        self.stages.until_accepting().await;
        if let Some(inheritance) = self.inheritance.take()
            && let Err(error) = inheritance.serving()
        {
            tracing::warn!(%error, "the former process could not be told to drain; end it with SIGTERM");
        }
        supervisor::serving();
        let cause = self.serve(&mut signals).await;
        tokio::select! {
            () = self.drain(cause) => {}
            // Whoever tells a draining process again does not want to wait for it.
            () = signals.impatience(cause) => {}
        }
        self.end()
    }

    async fn serve(&mut self, signals: &mut Signals) -> Cause {
        loop {
            tokio::select! {
                Some(()) = signals.hangup.recv() => {
                    self.reloader.reload();
                }
                Some(()) = signals.terminate.recv() => return Cause::Terminated,
                Some(()) = signals.interrupt.recv() => self.end(),
                Some(()) = signals.quit.recv() => tracing::warn!(
                    "SIGQUIT changes nothing: `headgate run --upgrade` takes over by itself, SIGTERM ends the process"
                ),
                Some(()) = signals.successor.recv() => match &self.offer {
                    Some(_) => start_successor(),
                    None => tracing::warn!("this process cannot be upgraded in place"),
                },
                pid = taken(self.offer.as_mut()) => {
                    tracing::info!(pid, "a successor has taken over");
                    return Cause::Replaced;
                }
            }
        }
    }

    async fn drain(&mut self, cause: Cause) {
        let in_flight = self.metrics.in_flight();
        self.ready.store(false, Ordering::Relaxed);
        // The listeners are closed only when nobody holds their sockets any more.
        self.offer = None;
        tracing::info!(in_flight = in_flight.get(), "draining");
        match cause {
            Cause::Terminated => {
                supervisor::stopping();
                if let Some(notice) = self.limits.drain_notice {
                    sleep(notice).await;
                }
                self.stages.close_to_callers();
            }
            Cause::Replaced => {
                self.stages.close_to_callers();
                self.stages.close_pages();
            }
        }
        tokio::select! {
            () = self.until_idle() => return,
            () = sleep(self.limits.drain) => {}
        }
        tracing::warn!(in_flight = in_flight.get(), "the time to drain is over");
        self.stages.break_off();
        tokio::select! {
            () = self.until_idle() => {}
            () = sleep(BREAKING_OFF) => {}
        }
    }

    /// Ends when nothing is under way and the connections are closed, or idle for long enough.
    async fn until_idle(&self) {
        let mut idle_since = None;
        loop {
            sleep(DRAIN_LOOK).await;
            if self.metrics.in_flight().get() > 0 {
                idle_since = None;
                continue;
            }
            let idle = idle_since.get_or_insert_with(Instant::now).elapsed();
            // The last frames of an HTTP/2 connection leave a moment after their exchange has ended.
            let connected = self.metrics.connections().get() > 0;
            if idle >= LAST_REQUEST + DRAIN_LOOK || (!connected && idle >= DRAIN_LOOK) {
                return;
            }
        }
    }

    fn end(&self) -> ! {
        self.reloader.state().flush(STATE_FLUSH);
        self.access_log.flush();
        self.log.flush();
        std::process::exit(0)
    }
}

/// The signals a gateway hears.
struct Signals {
    hangup: Signal,
    terminate: Signal,
    interrupt: Signal,
    quit: Signal,
    successor: Signal,
    /// Heard by nobody: a write beyond the largest file allowed shall fail, and not end the process.
    _file_too_large: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            hangup: signal(SignalKind::hangup())?,
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
            successor: signal(SignalKind::user_defined2())?,
            _file_too_large: signal(SignalKind::from_raw(libc::SIGXFSZ))?,
        })
    }

    /// Ends when a draining process is told to end at once.
    ///
    /// One that a successor replaced was not told to end before: its first SIGTERM lets it drain.
    async fn impatience(&mut self, cause: Cause) {
        let mut told = cause == Cause::Terminated;
        loop {
            tokio::select! {
                Some(()) = self.interrupt.recv() => return,
                Some(()) = self.terminate.recv() => match told {
                    true => return,
                    false => told = true,
                },
            }
        }
    }
}

/// Ends when a successor has taken over; without an offer none can.
async fn taken(offer: Option<&mut Offer>) -> i32 {
    match offer {
        Some(offer) => offer.until_taken().await,
        None => pending().await,
    }
}

/// Starts the binary that now stands where this one was started from.
fn start_successor() {
    let mut words = std::env::args_os();
    let program = words.next().unwrap_or_else(|| "headgate".into());
    let mut arguments: Vec<_> = words.collect();
    if !arguments.iter().any(|argument| argument == "--upgrade") {
        arguments.push("--upgrade".into());
    }
    let started = std::process::Command::new(&program).args(arguments).spawn();
    match started {
        Ok(mut successor) => {
            tracing::info!(pid = successor.id(), "a successor was started");
            // It outlives this process, unless it fails.
            thread::spawn(move || {
                if let Ok(status) = successor.wait() {
                    tracing::error!(%status, "the successor ended; this process goes on");
                }
            });
        }
        Err(error) => {
            tracing::error!(program = %program.to_string_lossy(), %error, "no successor can be started");
        }
    }
}
