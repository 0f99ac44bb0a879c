//! The loop between the terminal and the gateway. The terminal is as it was when it ends, also after a panic.

use super::feed::TopFeed;
use super::frame::draw;
use super::hang_up;
use super::state::{TopEndReason, TopState};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How late an update of the gateway, or a signal, is seen.
const KEY_WAIT: Duration = Duration::from_millis(200);

/// Set by signals that end the process, and when the terminal is gone.
static IS_ENDED: AtomicBool = AtomicBool::new(false);

/// Shows the gateway on the whole screen until the user quits.
///
/// # Errors
/// The gateway refuses to be read, or the terminal fails.
pub(super) fn run(state: &mut TopState, feed: TopFeed) -> Result<(), String> {
    end_at_signals();
    hang_up::watch(&IS_ENDED).map_err(|error| error.to_string())?;
    // Its panic hook restores the terminal before the process aborts.
    let shown = match ratatui::try_init() {
        Ok(mut terminal) => show(&mut terminal, state, feed),
        Err(error) => Err(error),
    };
    ratatui::restore();
    shown.map_err(|error| error.to_string())?;
    match state.end.take() {
        Some(TopEndReason::Refused(message)) => Err(message),
        Some(TopEndReason::Quit) | None => Ok(()),
    }
}

fn show(terminal: &mut DefaultTerminal, state: &mut TopState, feed: TopFeed) -> io::Result<()> {
    let updates = feed.start();
    while state.end.is_none() && !IS_ENDED.load(Ordering::Relaxed) {
        terminal.draw(|frame| draw(frame.buffer_mut(), state))?;
        if event::poll(KEY_WAIT)?
            && let Event::Key(key) = event::read()?
            && key.kind != KeyEventKind::Release
        {
            state.press(key);
        }
        let wants_recent = state.wants_recent();
        updates.wants_recent.store(wants_recent, Ordering::Relaxed);
        while let Ok(update) = updates.received.try_recv() {
            state.apply(update);
        }
    }
    Ok(())
}

fn end_at_signals() {
    extern "C" fn end(_signal: libc::c_int) {
        IS_ENDED.store(true, Ordering::Relaxed);
    }
    let end: extern "C" fn(libc::c_int) = end;
    for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT, libc::SIGQUIT] {
        // SAFETY: the handler only stores to an atomic.
        unsafe {
            libc::signal(signal, end as libc::sighandler_t);
        }
    }
}
