//! Calendar days and months, UTC: when a budget begins anew.

use super::measure::Measure;
use crate::protocol::date::{civil, days_before};
use std::time::{SystemTime, UNIX_EPOCH};

pub const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// Milliseconds since 1970-01-01, UTC.
pub fn unix_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// First millisecond of the calendar day or month that `now_ms` lies in, and of the next one.
pub fn period(measure: Measure, now_ms: u64) -> (u64, u64) {
    let day = now_ms / DAY_MS;
    let (first, next) = match measure {
        Measure::TokensPerMonth => {
            let (year, month, _) = civil(day);
            let following = if month == 12 {
                (year + 1, 1)
            } else {
                (year, month + 1)
            };
            (first_of(year, month), first_of(following.0, following.1))
        }
        _ => (day, day + 1),
    };
    (first * DAY_MS, next * DAY_MS)
}

/// Days from 1970-01-01 to the first of a month.
fn first_of(year: u64, month: u64) -> u64 {
    u64::try_from(days_before(year as i64, month as i64, 1)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds are those of `date -u -d … +%s`.
    #[test]
    fn periods_are_those_of_the_calendar() {
        let cases = [
            (
                "a leap day",
                Measure::TokensPerDay,
                1_709_208_000,
                1_709_164_800,
                1_709_251_200,
            ),
            (
                "a leap month",
                Measure::TokensPerMonth,
                1_709_208_000,
                1_706_745_600,
                1_709_251_200,
            ),
            (
                "a December",
                Measure::TokensPerMonth,
                1_798_761_599,
                1_796_083_200,
                1_798_761_600,
            ),
            (
                "a new year",
                Measure::TokensPerMonth,
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
