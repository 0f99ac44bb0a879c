//! The clock and the random numbers of the system, as a simulation's thread sees them.
//!
//! The definitions below take the place of those of the C library in this program, so that `Instant::now`, `SystemTime::now` and
//! `RandomState::new` of all crates are determined by the seed. Threads without a simulation get those of the system.

#![allow(
    unsafe_code,
    reason = "the functions of the C library that the standard library calls have pointers as parameters"
)]

use super::random::Random;
use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

/// The monotonic time at the start of every simulation, in nanoseconds.
const MONOTONIC_START: u64 = 1_000_000_000_000;

thread_local! {
    static TIME: Cell<Option<VirtualTime>> = const { Cell::new(None) };
    static ENTROPY: RefCell<Option<Random>> = const { RefCell::new(None) };
}

#[derive(Clone, Copy)]
struct VirtualTime {
    /// Unix nanoseconds at the start.
    unix_start: u64,
    /// Nanoseconds since the start.
    elapsed: u64,
}

/// Starts the virtual time of this thread, at this Unix second, and its random numbers.
pub fn start(unix_seconds: u64, entropy: Random) {
    TIME.set(Some(VirtualTime {
        unix_start: unix_seconds * 1_000_000_000,
        elapsed: 0,
    }));
    ENTROPY.set(Some(entropy));
}

/// Milliseconds since the start.
pub fn elapsed_ms() -> u64 {
    TIME.get().map_or(0, |time| time.elapsed / 1_000_000)
}

/// Moves the virtual time on between two runtimes.
pub fn advance(by: Duration) {
    if let Some(time) = TIME.get() {
        let elapsed = time.elapsed + u64::try_from(by.as_nanos()).unwrap();
        TIME.set(Some(VirtualTime { elapsed, ..time }));
    }
}

/// A runtime whose clock is the virtual time of this thread.
pub fn runtime() -> tokio::runtime::Runtime {
    let (began, elapsed) = (Instant::now(), TIME.get().map_or(0, |time| time.elapsed));
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        // Tokio's clock moves only while its thread is parked.
        .on_thread_unpark(move || {
            let since = tokio::time::Instant::now().into_std() - began;
            let time = TIME.get().expect("the thread has a virtual time");
            let elapsed = elapsed + u64::try_from(since.as_nanos()).unwrap();
            TIME.set(Some(VirtualTime { elapsed, ..time }));
        })
        .build()
        .unwrap()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(
    clock: libc::clockid_t,
    time: *mut libc::timespec,
) -> libc::c_int {
    let start = |virtual_time: VirtualTime| match clock {
        libc::CLOCK_REALTIME => Some(virtual_time.unix_start),
        libc::CLOCK_MONOTONIC => Some(MONOTONIC_START),
        _ => None,
    };
    let virtual_time = TIME.get();
    match virtual_time.and_then(|it| Some(start(it)? + it.elapsed)) {
        Some(nanos) => {
            let value = libc::timespec {
                tv_sec: (nanos / 1_000_000_000) as libc::time_t,
                tv_nsec: (nanos % 1_000_000_000) as libc::c_long,
            };
            // SAFETY: the caller passes a pointer to a `timespec`, as for the function of the C library.
            unsafe { time.write(value) };
            0
        }
        // SAFETY: the parameters are those of the system call.
        None => unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) as libc::c_int },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(
    buffer: *mut libc::c_void,
    length: libc::size_t,
    flags: libc::c_uint,
) -> libc::ssize_t {
    let drawn = ENTROPY.try_with(|entropy| {
        let entropy = entropy.try_borrow().ok()?;
        let entropy = entropy.as_ref()?;
        for index in 0..length {
            // SAFETY: the caller passes a buffer of `length` bytes.
            unsafe { buffer.cast::<u8>().add(index).write(entropy.draw() as u8) };
        }
        Some(length as libc::ssize_t)
    });
    match drawn {
        Ok(Some(length)) => length,
        // SAFETY: the parameters are those of the system call.
        _ => unsafe { libc::syscall(libc::SYS_getrandom, buffer, length, flags) as libc::ssize_t },
    }
}
