//! Timers of waits on sockets: those of Pingora, or in a simulation those of tokio, whose clock the simulation drives.

#[cfg(feature = "simulation")]
pub(crate) use crate::simulated_timers::{fast_sleep, fast_timeout};
#[cfg(not(feature = "simulation"))]
pub(crate) use pingora_timeout::fast_timeout::{fast_sleep, fast_timeout};

/// Whether a timer may serve a later wait of its thread: not in a simulation, where a thread has several runtimes.
pub(crate) fn are_reusable() -> bool {
    #[cfg(feature = "simulation")]
    if crate::simulated_network::is_active() {
        return false;
    }
    true
}
