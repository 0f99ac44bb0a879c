//! Parses times in the formats of families, to Unix milliseconds.

use chrono::{DateTime, FixedOffset};
use headgate_protocol::date::read_rfc3339;

/// A family's format of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeFormat {
    /// A number in units of this many milliseconds.
    Number { unit_ms: u32 },
    /// A date and time; the offset from UTC applies if the text has no time zone.
    Text { offset: FixedOffset },
}

impl TimeFormat {
    /// The time in Unix milliseconds; `None` for 0, for a time before 1970, and for an invalid text.
    pub fn read(self, text: &str) -> Option<u64> {
        let ms = match self {
            Self::Number { unit_ms } => whole(text.parse::<f64>().ok()? * f64::from(unit_ms))?,
            Self::Text { offset } => read_rfc3339(text.trim(), offset)?.timestamp_millis(),
        };
        u64::try_from(ms).ok().filter(|ms| *ms > 0)
    }
}

/// Parses an offset from UTC such as `+08:00`.
pub fn offset(text: &str) -> Option<FixedOffset> {
    let time = DateTime::parse_from_rfc3339(&format!("1970-01-01T00:00:00{text}"));
    time.ok().map(|time| *time.offset())
}

fn whole(ms: f64) -> Option<i64> {
    // The end of the year 9999, the last time that is accepted.
    (0.0..253_402_300_800_000.0)
        .contains(&ms)
        .then_some(ms as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_become_milliseconds_in_utc() {
        let seconds = TimeFormat::Number { unit_ms: 1_000 };
        let milliseconds = TimeFormat::Number { unit_ms: 1 };
        let [east, west, utc] = ["+08:00", "-03:30", "+00:00"].map(text_at);
        let table = [
            (seconds, "1780732857", Some(1_780_732_857_000)),
            (seconds, "1780732857.25", Some(1_780_732_857_250)),
            (milliseconds, "1780732857123", Some(1_780_732_857_123)),
            (east, "1970-01-01 08:00:01", Some(1_000)),
            (east, "2026-09-25 11:07:28.590", Some(1_790_305_648_590)),
            (east, "2026-09-25T11:07:28.59", Some(1_790_305_648_590)),
            (east, "2026-09-25T03:07:28.590Z", Some(1_790_305_648_590)),
            (
                east,
                "2026-09-25T04:07:28.5901+01:00",
                Some(1_790_305_648_590),
            ),
            (west, "2026-09-24 23:37:28.590", Some(1_790_305_648_590)),
            (utc, "2000-02-29 00:00:00", Some(951_782_400_000)),
            (utc, "2000-03-01 00:00:00", Some(951_868_800_000)),
            (utc, "2100-03-01 00:00:00", Some(4_107_542_400_000)),
            (utc, "1999-12-31 23:59:60", Some(946_684_800_000)),
        ];
        for (format, text, expected) in table {
            assert_eq!(format.read(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_none() {
        let seconds = TimeFormat::Number { unit_ms: 1_000 };
        let text = text_at("+08:00");
        for written in ["", "0", "-5", "now", "1e300", "NaN", "inf"] {
            assert_eq!(seconds.read(written), None, "{written}");
        }
        for written in [
            "",
            "2026-09-25",
            "2026-13-25 11:07:28",
            "2026-02-29 11:07:28",
            "2026-09-25 24:07:28",
            "2026-09-25 11:07",
            "2026-09-25 11:07:28:01",
            "2026-09-25-01 11:07:28",
            "2026-09-25 11:07:28.",
            "2026-09-25 11:07:28+8",
            "1970-01-01 08:00:00",
            "1969-12-31 00:00:00",
            "26-09-25 11:07:28",
        ] {
            assert_eq!(text.read(written), None, "{written}");
        }
    }

    #[test]
    fn offsets_are_east_of_utc() {
        let table = [
            ("+08:00", Some(480)),
            ("-03:30", Some(-210)),
            ("+00:00", Some(0)),
            ("08:00", None),
            ("+8:00", None),
            ("+24:00", None),
            ("+08:60", None),
            ("+08:00 ", None),
            ("", None),
        ];
        for (text, minutes) in table {
            let found = offset(text).map(|offset| offset.local_minus_utc() / 60);
            assert_eq!(found, minutes, "{text}");
        }
    }

    fn text_at(zone: &str) -> TimeFormat {
        let offset = offset(zone).unwrap();
        TimeFormat::Text { offset }
    }
}
