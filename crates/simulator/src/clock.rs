//! The two clocks of the simulated provider: the machine's monotonic one, and the time of day.

use headgate_protocol::date::rfc3339;
use std::time::{SystemTime, UNIX_EPOCH};

/// Nanoseconds of `CLOCK_MONOTONIC`, comparable between all processes of this machine.
pub fn monotonic_nanos() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is a valid timespec for the whole call, and the clock exists on every Unix.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Milliseconds of the same clock.
pub fn monotonic_millis() -> u64 {
    monotonic_nanos() / 1_000_000
}

/// Seconds since the Unix epoch.
pub fn unix_seconds() -> u64 {
    unix_millis() / 1_000
}

/// Milliseconds since the Unix epoch.
pub fn unix_millis() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH);
    elapsed.map_or(0, |elapsed| {
        u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
    })
}

/// Milliseconds since the Unix epoch as the date and time at +08:00, without the zone:
/// `2026-09-25 11:07:28.590`.
pub fn china_time(millis: u64) -> String {
    const AHEAD: u64 = 8 * 3_600;
    let second = rfc3339(millis / 1_000 + AHEAD);
    let second = second.replace('T', " ");
    format!("{}.{:03}", second.trim_end_matches('Z'), millis % 1_000)
}
