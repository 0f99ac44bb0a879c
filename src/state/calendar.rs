//! Calendar days and months, UTC: when a budget begins anew.

use super::demand::Measure;
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
            let (year, month) = month_of(day);
            let following = if month == 12 {
                (year + 1, 1)
            } else {
                (year, month + 1)
            };
            (
                days_before(year, month),
                days_before(following.0, following.1),
            )
        }
        _ => (day, day + 1),
    };
    (first * DAY_MS, next * DAY_MS)
}

/// The year and month of a day counted from 1970-01-01, by the civil calendar.
fn month_of(day: u64) -> (u64, u64) {
    let shifted = day + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month)
}

/// Days from 1970-01-01 to the first of a month.
fn days_before(year: u64, month: u64) -> u64 {
    let year = year - u64::from(month <= 2);
    let (era, year_of_era) = (year / 400, year % 400);
    let shifted_month = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * shifted_month + 2) / 5;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
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
