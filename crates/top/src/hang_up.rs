//! Ends the command with its terminal. A library that reads keys takes the end of the input of a terminal that is gone for
//! keys that are still to come, and reads on without a pause.

use std::io::{self, IsTerminal};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// How long the loop of the screen has to notice.
const GRACE: Duration = Duration::from_millis(500);
/// The exit status of a process that SIGHUP ends.
const HUNG_UP: i32 = 128 + libc::SIGHUP;
/// What `poll` reports of a terminal that is gone, whether or not it is asked for.
const GONE: libc::c_short = libc::POLLHUP | libc::POLLERR | libc::POLLNVAL;

/// Sets `is_ended` when the terminal is gone, and ends the process if it has not ended soon after.
///
/// # Errors
/// The system allows no further thread.
pub(super) fn watch(is_ended: &'static AtomicBool) -> io::Result<()> {
    let terminals: Vec<RawFd> = [
        (io::stdin().is_terminal(), io::stdin().as_raw_fd()),
        (io::stdout().is_terminal(), io::stdout().as_raw_fd()),
    ]
    .into_iter()
    .filter_map(|(is_terminal, descriptor)| is_terminal.then_some(descriptor))
    .collect();
    let watching = thread::Builder::new()
        .name("terminal".into())
        .spawn(move || {
            if wait_for_hang_up(&terminals) {
                is_ended.store(true, Ordering::Relaxed);
                thread::sleep(GRACE);
                std::process::exit(HUNG_UP);
            }
        });
    watching.map(drop)
}

/// Returns when one of the terminals is gone, with false if the system cannot report it.
fn wait_for_hang_up(terminals: &[RawFd]) -> bool {
    let mut polled: Vec<libc::pollfd> = terminals
        .iter()
        .map(|fd| libc::pollfd {
            fd: *fd,
            events: 0,
            revents: 0,
        })
        .collect();
    loop {
        let count = libc::nfds_t::try_from(polled.len()).expect("there are two terminals at most");
        // SAFETY: the pointer and the count are those of the vector, which outlives the call.
        let ready = unsafe { libc::poll(polled.as_mut_ptr(), count, -1) };
        let is_interrupted = io::Error::last_os_error().kind() == io::ErrorKind::Interrupted;
        match ready {
            1.. => return polled.iter().any(|one| one.revents & GONE != 0),
            _ if ready < 0 && is_interrupted => {}
            _ => return false,
        }
    }
}
