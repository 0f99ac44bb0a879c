//! Signals: SIGHUP reloads; behind SIGTERM the process ends as soon as nothing is under way.

use crate::observe::access_log::AccessLog;
use crate::observe::line_writer::LineWriter;
use crate::observe::metrics::Metrics;
use crate::reload::Reloader;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};

/// What signals act on.
pub struct Life {
    pub reloader: Arc<Reloader>,
    pub metrics: Arc<Metrics>,
    pub access_log: Arc<AccessLog>,
    pub log: LineWriter,
    pub ready: Arc<AtomicBool>,
}

/// How often a draining process looks whether it is done.
const DRAIN_LOOK: Duration = Duration::from_millis(50);

/// How long the process stays for what the state store has not written yet.
const STATE_FLUSH: Duration = Duration::from_secs(2);

/// Listens for signals from a thread of its own.
///
/// # Errors
/// The thread or its signal handlers cannot be had.
pub fn start(life: Life) -> io::Result<()> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            if let Err(error) = runtime.block_on(listen(life)) {
                tracing::error!(%error, "signals are not heard");
            }
        })?;
    Ok(())
}

async fn listen(life: Life) -> io::Result<()> {
    let mut hangup = signal(SignalKind::hangup())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    loop {
        tokio::select! {
            Some(()) = hangup.recv() => {
                life.reloader.reload();
            }
            Some(()) = terminate.recv() => break,
            Some(()) = interrupt.recv() => end(&life),
        }
    }
    tokio::select! {
        () = drain(&life) => {}
        // Whoever interrupts a draining process does not want to wait for it.
        Some(()) = interrupt.recv() => {}
    }
    end(&life)
}

/// Pingora closes its listeners on SIGTERM and then waits the whole drain time, whether anything is
/// under way or not: the process ends itself when nothing is.
async fn drain(life: &Life) {
    life.ready.store(false, Ordering::Relaxed);
    tracing::info!(in_flight = life.metrics.in_flight().get(), "draining");
    let mut idle_looks = 0;
    // The last frames of an HTTP/2 connection leave a moment after their exchange has ended.
    while idle_looks < 2 {
        tokio::time::sleep(DRAIN_LOOK).await;
        idle_looks = match life.metrics.in_flight().get() {
            0 => idle_looks + 1,
            _ => 0,
        };
    }
}

fn end(life: &Life) -> ! {
    life.reloader.state().flush(STATE_FLUSH);
    life.access_log.flush();
    life.log.flush();
    std::process::exit(0)
}
