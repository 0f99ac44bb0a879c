//! The clocks of the simulated provider: the machine's monotonic clock, and the time of day.

use chrono::{DateTime, FixedOffset, SecondsFormat};
use std::time::{SystemTime, UNIX_EPOCH};

/// Nanoseconds of `CLOCK_MONOTONIC`, which all processes of this machine share.
pub fn monotonic_nanos() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is a valid timespec for the whole call, and the clock exists on every Unix.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Milliseconds of `CLOCK_MONOTONIC`.
pub fn monotonic_millis() -> u64 {
    monotonic_nanos() / 1_000_000
}

/// Unix seconds.
pub fn unix_seconds() -> u64 {
    unix_millis() / 1_000
}

/// Unix milliseconds.
pub fn unix_millis() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH);
    elapsed.map_or(0, |elapsed| {
        u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
    })
}

/// Unix milliseconds as a date and time at +08:00, without the zone: `2026-09-25 11:07:28.590`.
pub fn china_time(millis: u64) -> String {
    let china = FixedOffset::east_opt(8 * 3_600).expect("less than a day");
    let time = i64::try_from(millis).ok();
    let time = time.and_then(DateTime::from_timestamp_millis);
    let time = time.unwrap_or_default().with_timezone(&china);
    time.format("%Y-%m-%d %H:%M:%S%.3f").to_string()
}

/// Unix milliseconds as a date and time in UTC: `2026-09-25T03:07:28.590Z`.
pub fn utc_time(millis: u64) -> String {
    let time = i64::try_from(millis).ok();
    let time = time.and_then(DateTime::from_timestamp_millis);
    time.unwrap_or_default()
        .to_rfc3339_opts(SecondsFormat::Millis, true)
}

#[cfg(test)]
mod tests {
    use super::china_time;

    #[test]
    fn china_is_eight_hours_ahead() {
        for (millis, time) in [
            (0, "1970-01-01 08:00:00.000"),
            (1_790_305_648_590, "2026-09-25 11:07:28.590"),
            (1_798_732_800_007, "2027-01-01 00:00:00.007"),
        ] {
            assert_eq!(china_time(millis), time);
        }
    }
}
