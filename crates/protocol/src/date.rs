//! Dates and times in the format of RFC 3339.

use chrono::{DateTime, FixedOffset, SecondsFormat, Utc};

/// Unix seconds as a date and time in UTC; times after the year 9999 are written as the end of that year.
pub fn rfc3339(seconds: u64) -> String {
    const LAST_SECOND: i64 = 253_402_300_799;
    let seconds = i64::try_from(seconds).map_or(LAST_SECOND, |seconds| seconds.min(LAST_SECOND));
    let time = DateTime::<Utc>::from_timestamp(seconds, 0).unwrap_or_default();
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// Parses a date and time, which may have a space in place of the `T`; `offset` applies to a text without a time zone.
pub fn read_rfc3339(text: &str, offset: FixedOffset) -> Option<DateTime<FixedOffset>> {
    DateTime::parse_from_rfc3339(text)
        .or_else(|_| DateTime::parse_from_rfc3339(&format!("{text}{offset}")))
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::Offset;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let table = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
        ];
        for (seconds, date) in table {
            assert_eq!(rfc3339(seconds), date);
            let read = read_rfc3339(date, Utc.fix()).map(|time| time.timestamp());
            assert_eq!(read, Some(seconds as i64), "{date}");
        }
        assert_eq!(rfc3339(u64::MAX), "9999-12-31T23:59:59Z");
    }

    #[test]
    fn a_time_without_a_zone_is_at_the_offset_that_is_given() {
        let east = FixedOffset::east_opt(8 * 3_600).unwrap();
        for (text, seconds) in [
            ("1970-01-01T08:00:07", Some(7)),
            ("1970-01-01 08:00:07.25", Some(7)),
            ("1970-01-01T00:00:07Z", Some(7)),
            ("1970-01-01t01:00:07.9+01:00", Some(7)),
            ("1970-01-01T08:00", None),
            ("1970-01-01T08:00:07+08:00Z", None),
        ] {
            let read = read_rfc3339(text, east).map(|time| time.timestamp());
            assert_eq!(read, seconds, "{text}");
        }
    }
}
