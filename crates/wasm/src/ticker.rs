//! The clock of the time limits: a thread that counts milliseconds while plugins run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use wasmtime::{Engine, EngineWeak};

/// How long a plugin runs before it yields.
pub(crate) const TICK: Duration = Duration::from_millis(1);
/// After so many ticks without a call the thread sleeps, so that an idle process does not wake up.
const IDLE_TICKS_MAX: u32 = 200;

/// Counts the milliseconds of an engine while calls run.
pub(crate) struct EpochTicker {
    state: Arc<TickerState>,
    thread: Thread,
}

/// A call that runs.
pub(crate) struct RunningCallGuard(Arc<TickerState>);

#[derive(Default)]
struct TickerState {
    running: AtomicUsize,
    is_asleep: AtomicBool,
    is_stopped: AtomicBool,
}

impl EpochTicker {
    pub fn start(engine: &Engine) -> std::io::Result<Self> {
        let state = Arc::new(TickerState::default());
        let weak = engine.weak();
        let shared = Arc::clone(&state);
        let builder = thread::Builder::new().name("plugin-epochs".to_owned());
        let spawned = builder.spawn(move || count(&shared, &weak))?;
        let thread = spawned.thread().clone();
        Ok(Self { state, thread })
    }

    /// Keeps the clock running until the value is dropped.
    pub fn enter(&self) -> RunningCallGuard {
        self.state.running.fetch_add(1, Ordering::SeqCst);
        if self.state.is_asleep.load(Ordering::SeqCst) {
            self.thread.unpark();
        }
        RunningCallGuard(Arc::clone(&self.state))
    }
}

impl Drop for EpochTicker {
    fn drop(&mut self) {
        self.state.is_stopped.store(true, Ordering::SeqCst);
        self.thread.unpark();
    }
}

impl Drop for RunningCallGuard {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

fn count(state: &TickerState, engine: &EngineWeak) {
    let mut idle = 0;
    while !state.is_stopped.load(Ordering::SeqCst) {
        if state.running.load(Ordering::SeqCst) > 0 {
            idle = 0;
        } else {
            idle += 1;
        }
        if idle > IDLE_TICKS_MAX {
            sleep_until_called(state);
            idle = 0;
        }
        thread::sleep(TICK);
        let Some(engine) = engine.upgrade() else {
            return;
        };
        engine.increment_epoch();
    }
}

fn sleep_until_called(state: &TickerState) {
    state.is_asleep.store(true, Ordering::SeqCst);
    // A call that began before the line above did not wake the thread, but is counted by now.
    while state.running.load(Ordering::SeqCst) == 0 && !state.is_stopped.load(Ordering::SeqCst) {
        thread::park();
    }
    state.is_asleep.store(false, Ordering::SeqCst);
}
