//! The lifecycle of a gateway process: signals, reload, handover to a successor, and drain.

use super::handover::{InheritedSockets, SocketOffer};
use super::supervisor;
use crate::memory::trim::MemoryTrim;
use headgate_admin::findings::watch::FindingChangeLogger;
use headgate_config::reload::SnapshotReloader;
use headgate_config::snapshot::server::ServerLimits;
use headgate_gateway::listen::drain_state::DrainState;
use headgate_gateway::listen::drain_state::LAST_REQUEST;
use headgate_observe::access_log::AccessLog;
use headgate_observe::line_writer::BackgroundLineWriter;
use headgate_observe::metrics::Metrics;
use std::future::pending;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{io, thread};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

/// Time between two looks at the findings and at the memory of the process.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);
/// How often a draining process checks whether it is idle.
const DRAIN_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How long the process waits for its work in the background to end.
const BACKGROUND_MAX: Duration = Duration::from_secs(6);
/// The time for aborted requests to send their errors to callers.
const ABORT_GRACE: Duration = Duration::from_secs(2);

/// How long the process waits at its end for queued writes of the state store.
const STATE_FLUSH: Duration = Duration::from_secs(2);

/// What the lifecycle of a process needs.
pub struct ProcessLifecycle {
    pub reloader: Arc<SnapshotReloader>,
    pub metrics: Arc<Metrics>,
    pub access_log: Arc<AccessLog>,
    pub log: BackgroundLineWriter,
    pub ready: Arc<AtomicBool>,
    pub findings: FindingChangeLogger,
    pub memory: MemoryTrim,
    pub drain_state: Arc<DrainState>,
    pub limits: ServerLimits,
    /// The predecessor that this process takes over from.
    pub inheritance: Option<InheritedSockets>,
    /// The sockets that a successor can take over.
    pub offer: Option<SocketOffer>,
    /// Files and folders of this process alone, which it removes at its end.
    pub temporary_files: Vec<PathBuf>,
}

/// Why a process drains.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DrainCause {
    Terminated,
    /// A successor has taken over the listening sockets.
    Replaced,
}

/// The signals that a process handles from its first moment on, and the runtime of its lifecycle. They take effect once it
/// serves: a SIGHUP to all processes of the program, for a reload, must not end the one that is about to take over.
pub struct StartSignals {
    runtime: Runtime,
    hangup: Signal,
    successor: Signal,
    /// Not read, only handled: a write above the file size limit must fail instead of ending the process.
    file_too_large: Signal,
}

impl StartSignals {
    /// Handles these signals from here on.
    ///
    /// # Errors
    /// The runtime or a signal handler cannot be created.
    pub fn new() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let within = runtime.enter();
        let hangup = signal(SignalKind::hangup())?;
        let successor = signal(SignalKind::user_defined2())?;
        let file_too_large = signal(SignalKind::from_raw(libc::SIGXFSZ))?;
        drop(within);
        Ok(Self {
            runtime,
            hangup,
            successor,
            file_too_large,
        })
    }
}

/// Starts the lifecycle on its own thread. All signals are handled from here on.
///
/// # Errors
/// The thread or a signal handler cannot be created.
pub fn start(life: ProcessLifecycle, signals: StartSignals) -> io::Result<()> {
    let within = signals.runtime.enter();
    let terminate = signal(SignalKind::terminate())?;
    let interrupt = signal(SignalKind::interrupt())?;
    let quit = signal(SignalKind::quit())?;
    drop(within);
    let runtime = signals.runtime;
    let signals = ProcessSignals {
        hangup: signals.hangup,
        terminate,
        interrupt,
        quit,
        successor: signals.successor,
        _file_too_large: signals.file_too_large,
    };
    thread::Builder::new()
        .name("life".into())
        .spawn(move || runtime.block_on(life.run(signals)))?;
    Ok(())
}

impl ProcessLifecycle {
    async fn run(mut self, mut signals: ProcessSignals) {
        self.drain_state.until_accepting().await;
        if let Some(inheritance) = self.inheritance.take()
            && let Err(error) = inheritance.serving()
        {
            tracing::warn!(%error, "could not tell the previous process to drain; stop it with SIGTERM");
        }
        supervisor::serving();
        let cause = self.serve(&mut signals).await;
        tokio::select! {
            () = self.drain_and_finish(cause) => {}
            // A second signal to a draining process ends it at once.
            () = signals.forced_exit(cause) => {}
        }
        self.end()
    }

    async fn drain_and_finish(&mut self, cause: DrainCause) {
        self.drain(cause).await;
        self.drain_state.end_background(BACKGROUND_MAX).await;
        // What tasks and batches have settled since the last look, the background's last work included.
        self.metrics.update_features();
        self.reloader.until_stored().await;
    }

    async fn serve(&mut self, signals: &mut ProcessSignals) -> DrainCause {
        // A listening socket is closed only when its last copy is dropped, and the offer has one until this returns.
        let mut offer = self.offer.take();
        let has_offer = offer.is_some();
        // One future for all turns of the loop: a handover in progress must outlive signals and looks at the findings.
        let mut successor = pin!(successor_accepting(offer.as_mut()));
        let mut looks = interval(LOOK_INTERVAL);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                Some(()) = signals.hangup.recv() => {
                    let reloader = self.reloader.clone();
                    // A load may take seconds, and other signals do not wait for it.
                    tokio::task::spawn_blocking(move || reloader.reload());
                }
                Some(()) = signals.terminate.recv() => return DrainCause::Terminated,
                Some(()) = signals.interrupt.recv() => self.end(),
                Some(()) = signals.quit.recv() => tracing::warn!(
                    "SIGQUIT ignored; run `headgate run --upgrade` to upgrade, or send SIGTERM to stop"
                ),
                Some(()) = signals.successor.recv() => match has_offer {
                    true => start_successor(),
                    false => tracing::warn!("in-place upgrade is not available"),
                },
                _ = looks.tick() => {
                    self.findings.look();
                    self.memory.look(&self.reloader.current().revision);
                }
                pid = &mut successor => {
                    tracing::info!(pid, "the new process has taken over");
                    return DrainCause::Replaced;
                }
            }
        }
    }

    async fn drain(&mut self, cause: DrainCause) {
        let in_flight = self.metrics.in_flight();
        self.ready.store(false, Ordering::Relaxed);
        tracing::info!(in_flight = in_flight.sum(), "draining");
        match cause {
            DrainCause::Terminated => {
                supervisor::stopping();
                if let Some(notice) = self.limits.drain_notice {
                    sleep(notice).await;
                }
                self.drain_state.close_to_callers();
            }
            DrainCause::Replaced => {
                self.drain_state.close_to_callers();
                self.drain_state.close_admin();
            }
        }
        tokio::select! {
            () = self.until_idle() => return,
            () = sleep(self.limits.drain) => {}
        }
        tracing::warn!(
            in_flight = in_flight.sum(),
            "drain deadline reached; closing the remaining requests"
        );
        self.drain_state.abort_requests();
        tokio::select! {
            () = self.until_idle() => {}
            () = sleep(ABORT_GRACE) => {}
        }
    }

    /// Returns when no request is in flight and the connections are closed, or have been idle for long enough.
    async fn until_idle(&self) {
        let mut idle_since = None;
        let mut looks = interval(LOOK_INTERVAL);
        loop {
            tokio::select! {
                () = sleep(DRAIN_POLL_INTERVAL) => {}
                _ = looks.tick() => self.metrics.update_features(),
            }
            if self.metrics.in_flight().sum() > 0 {
                idle_since = None;
                continue;
            }
            let idle = idle_since.get_or_insert_with(Instant::now).elapsed();
            // The last frames of an HTTP/2 connection are sent shortly after their exchange has ended.
            let connected = self.metrics.connections().get() > 0;
            if idle >= LAST_REQUEST + DRAIN_POLL_INTERVAL
                || (!connected && idle >= DRAIN_POLL_INTERVAL)
            {
                return;
            }
        }
    }

    fn end(&self) -> ! {
        self.reloader.state().flush(STATE_FLUSH);
        self.access_log.flush();
        self.log.flush();
        for file in &self.temporary_files {
            // A file that was never made needs no removal.
            let _ = match file.is_dir() {
                true => std::fs::remove_dir_all(file),
                false => std::fs::remove_file(file),
            };
        }
        std::process::exit(0)
    }
}

/// The signals that a gateway handles.
struct ProcessSignals {
    hangup: Signal,
    terminate: Signal,
    interrupt: Signal,
    quit: Signal,
    successor: Signal,
    _file_too_large: Signal,
}

impl ProcessSignals {
    /// Returns when a draining process is told to end at once.
    ///
    /// A process that was replaced by a successor is already draining without SIGTERM: the first SIGTERM changes
    /// nothing, the second ends it.
    async fn forced_exit(&mut self, cause: DrainCause) {
        let mut is_terminated = cause == DrainCause::Terminated;
        loop {
            tokio::select! {
                Some(()) = self.interrupt.recv() => return,
                Some(()) = self.terminate.recv() => match is_terminated {
                    true => return,
                    false => is_terminated = true,
                },
            }
        }
    }
}

/// Returns the process id of a successor that has taken over; waits forever without an offer.
async fn successor_accepting(offer: Option<&mut SocketOffer>) -> i32 {
    match offer {
        Some(offer) => offer.until_taken().await,
        None => pending().await,
    }
}

/// Starts the binary at the path from which this process was started.
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
            tracing::info!(pid = successor.id(), "started the new process");
            // The successor outlives this process; it exits before only if it fails.
            thread::spawn(move || {
                if let Ok(status) = successor.wait() {
                    tracing::error!(%status, "the new process exited; this process keeps serving");
                }
            });
        }
        Err(error) => {
            tracing::error!(program = %program.to_string_lossy(), %error, "cannot start the new process");
        }
    }
}
