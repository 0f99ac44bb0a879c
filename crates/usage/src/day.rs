//! Days in UTC, as usage is counted by.

use chrono::{DateTime, NaiveDate};
use headgate_core::state::calendar::DAY_MS;
use std::fmt;
use std::str::FromStr;

/// A day in UTC: days since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct UsageDay(u32);

/// A text is no day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InvalidDay;

impl UsageDay {
    pub fn at(unix_ms: u64) -> Self {
        Self(u32::try_from(unix_ms / DAY_MS).unwrap_or(u32::MAX))
    }

    /// So many days before this one.
    pub fn before(self, days: u32) -> Self {
        Self(self.0.saturating_sub(days))
    }

    /// The first millisecond of the next day.
    pub fn end_ms(self) -> u64 {
        (u64::from(self.0) + 1) * DAY_MS
    }
}

/// Such as `2026-11-28`, in whose order days are those of the calendar.
impl fmt::Display for UsageDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let midnight = DateTime::from_timestamp_millis((u64::from(self.0) * DAY_MS) as i64);
        match midnight {
            Some(midnight) => write!(f, "{}", midnight.format("%Y-%m-%d")),
            None => write!(f, "9999-12-31"),
        }
    }
}

impl FromStr for UsageDay {
    type Err = InvalidDay;

    fn from_str(text: &str) -> Result<Self, InvalidDay> {
        let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").map_err(|_| InvalidDay)?;
        let days = date.signed_duration_since(NaiveDate::default()).num_days();
        let day = Self(u32::try_from(days).map_err(|_| InvalidDay)?);
        // A text of another length names the same day in another way.
        (day.to_string() == text).then_some(day).ok_or(InvalidDay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_written_and_read_as_iso_8601() {
        for (unix_ms, text) in [
            (0, "1970-01-01"),
            (DAY_MS - 1, "1970-01-01"),
            (1_709_164_800_000, "2024-02-29"),
            (1_798_761_599_999, "2026-12-31"),
        ] {
            let day = UsageDay::at(unix_ms);
            assert_eq!(day.to_string(), text);
            assert_eq!(text.parse(), Ok(day));
        }
        for wrong in [
            "",
            "2026-11-31",
            "2026-1-2",
            "1969-12-31",
            "28.11.2026",
            "2026-11-28T00:00",
        ] {
            assert_eq!(wrong.parse::<UsageDay>(), Err(InvalidDay), "{wrong}");
        }
    }

    #[test]
    fn a_day_ends_where_the_next_one_begins() {
        let day: UsageDay = "2026-11-28".parse().unwrap();
        assert_eq!(UsageDay::at(day.end_ms() - 1), day);
        assert_eq!(UsageDay::at(day.end_ms()).before(1), day);
    }
}
