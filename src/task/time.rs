//! Times as families write them, to milliseconds since 1970.

use crate::protocol::date::days_before;

/// How a family writes times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeFormat {
    /// A number of this many milliseconds.
    Number { unit_ms: u32 },
    /// A date and time; `offset_minutes` east of UTC where it names no zone itself.
    Text { offset_minutes: i32 },
}

impl TimeFormat {
    /// Milliseconds since 1970 of a time that was written so; none for 0, for what lies before 1970, and
    /// for what is no time.
    pub fn read(self, text: &str) -> Option<u64> {
        let ms = match self {
            Self::Number { unit_ms } => whole(text.parse::<f64>().ok()? * f64::from(unit_ms))?,
            Self::Text { offset_minutes } => date_time(text.trim(), offset_minutes)?,
        };
        u64::try_from(ms).ok().filter(|ms| *ms > 0)
    }
}

/// Minutes east of UTC of an offset such as `+08:00`.
pub fn offset_minutes(text: &str) -> Option<i32> {
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = digits.split_once(':')?;
    let hours = number(hours, 2).filter(|hours| *hours <= 23)?;
    let minutes = number(minutes, 2).filter(|minutes| *minutes <= 59)?;
    Some(sign * (hours * 60 + minutes) as i32)
}

fn whole(ms: f64) -> Option<i64> {
    // The year 9999, beyond which no time is meant.
    (0.0..253_402_300_800_000.0)
        .contains(&ms)
        .then_some(ms as i64)
}

/// `YYYY-MM-DD HH:MM:SS`, with `T` or a space, with or without fraction and zone.
fn date_time(text: &str, offset_minutes: i32) -> Option<i64> {
    let (date, time) = text.split_once(['T', 't', ' '])?;
    let mut date = date.split('-');
    let (year, month, day) = (date.next()?, date.next()?, date.next()?);
    let year = number(year, 4)?;
    let month = number(month, 2).filter(|month| (1..=12).contains(month))?;
    let day = number(day, 2).filter(|day| (1..=days_of(year, month)).contains(day))?;
    let (time, offset) = split_zone(time, offset_minutes)?;
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut clock = clock.split(':');
    let hour = number(clock.next()?, 2).filter(|hour| *hour <= 23)?;
    let minute = number(clock.next()?, 2).filter(|minute| *minute <= 59)?;
    // A leap second counts as the second after it.
    let second = number(clock.next()?, 2).filter(|second| *second <= 60)?;
    if clock.next().is_some() || date.next().is_some() {
        return None;
    }
    let minutes = days_before(year, month, day) * 1_440 + hour * 60 + minute - i64::from(offset);
    Some((minutes * 60 + second) * 1_000 + milliseconds(fraction)?)
}

/// The time without its zone, and the zone's minutes east of UTC.
fn split_zone(time: &str, offset: i32) -> Option<(&str, i32)> {
    if let Some(time) = time.strip_suffix(['Z', 'z']) {
        return Some((time, 0));
    }
    match time.find(['+', '-']) {
        Some(at) => Some((&time[..at], offset_minutes(&time[at..])?)),
        None => Some((time, offset)),
    }
}

/// The first three digits behind a point.
fn milliseconds(fraction: &str) -> Option<i64> {
    let is_number = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let digits = fraction.bytes().chain([b'0'; 3]).take(3);
    is_number.then(|| digits.fold(0, |ms, digit| ms * 10 + i64::from(digit - b'0')))
}

fn number(text: &str, digits: usize) -> Option<i64> {
    let fits = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    fits.then(|| text.parse().ok())?
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_become_milliseconds_in_utc() {
        let seconds = TimeFormat::Number { unit_ms: 1_000 };
        let milliseconds = TimeFormat::Number { unit_ms: 1 };
        let east = TimeFormat::Text {
            offset_minutes: 480,
        };
        let west = TimeFormat::Text {
            offset_minutes: -210,
        };
        let utc = TimeFormat::Text { offset_minutes: 0 };
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
        let text = TimeFormat::Text {
            offset_minutes: 480,
        };
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
    fn offsets_are_minutes_east_of_utc() {
        let table = [
            ("+08:00", Some(480)),
            ("-03:30", Some(-210)),
            ("+00:00", Some(0)),
            ("08:00", None),
            ("+8:00", None),
            ("+24:00", None),
            ("+08:60", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(offset_minutes(text), expected, "{text}");
        }
    }
}
