//! Calendar days and months in UTC, the periods of budgets.

use super::limit_kind::LimitKind;
use chrono::{DateTime, Datelike, Months, NaiveDate, NaiveTime};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub const DAY_MS: u64 = 24 * 60 * 60 * 1000;
/// The end of a period that does not end: the first millisecond of the year 10000.
const FOREVER_MS: u64 = 253_402_300_800_000;

/// The current time in Unix milliseconds.
pub fn unix_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    whole_ms(since)
}

/// A duration in whole milliseconds.
pub fn whole_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The first millisecond of the calendar day or month that contains `now_ms`, and of the next one; all time is one period of
/// a limit for ever.
pub fn period(measure: LimitKind, now_ms: u64) -> (u64, u64) {
    let midnight = now_ms / DAY_MS * DAY_MS;
    let day = (midnight, midnight + DAY_MS);
    match measure {
        LimitKind::TokensPerMonth | LimitKind::CostPerMonth => month(now_ms).unwrap_or(day),
        LimitKind::CostTotal => (0, FOREVER_MS),
        _ => day,
    }
}

/// `None` if the calendar cannot represent the time.
fn month(now_ms: u64) -> Option<(u64, u64)> {
    let now = DateTime::from_timestamp_millis(i64::try_from(now_ms).ok()?)?;
    let first = now.date_naive().with_day(1)?;
    let next = first.checked_add_months(Months::new(1))?;
    Some((day_start_unix_ms(first)?, day_start_unix_ms(next)?))
}

/// Midnight at the start of `day`, in Unix milliseconds.
fn day_start_unix_ms(day: NaiveDate) -> Option<u64> {
    let midnight = day.and_time(NaiveTime::MIN).and_utc();
    u64::try_from(midnight.timestamp_millis()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected values are from `date -u -d … +%s`.
    #[test]
    fn periods_are_those_of_the_calendar() {
        let cases = [
            (
                "a leap day",
                LimitKind::TokensPerDay,
                1_709_208_000,
                1_709_164_800,
                1_709_251_200,
            ),
            (
                "a leap month",
                LimitKind::TokensPerMonth,
                1_709_208_000,
                1_706_745_600,
                1_709_251_200,
            ),
            (
                "a December",
                LimitKind::TokensPerMonth,
                1_798_761_599,
                1_796_083_200,
                1_798_761_600,
            ),
            (
                "a month of money",
                LimitKind::CostPerMonth,
                1_709_208_000,
                1_706_745_600,
                1_709_251_200,
            ),
            (
                "all time",
                LimitKind::CostTotal,
                1_709_208_000,
                0,
                253_402_300_800,
            ),
            (
                "a new year",
                LimitKind::TokensPerMonth,
                1_798_761_600,
                1_798_761_600,
                1_801_440_000,
            ),
        ];
        for (what, measure, now, first, next) in cases {
            assert_eq!(
                period(measure, now * 1000),
                (first * 1000, next * 1000),
                "{what}"
            );
        }
    }
}
