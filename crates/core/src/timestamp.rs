//! Times as logs and admin pages show them: RFC 3339 in UTC, to the millisecond.

use chrono::{DateTime, SecondsFormat, Utc};
use std::cell::RefCell;
use std::time::SystemTime;

/// `time` by RFC 3339.
pub fn rfc3339(time: SystemTime) -> String {
    DateTime::<Utc>::from(time).to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// `time` by RFC 3339, to the second.
pub fn rfc3339_seconds(time: SystemTime) -> String {
    DateTime::<Utc>::from(time).to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// The day of `time` in UTC, such as `2026-11-28`.
pub fn utc_date(time: SystemTime) -> String {
    DateTime::<Utc>::from(time).format("%Y-%m-%d").to_string()
}

/// The time that a text names by RFC 3339, in any zone; `None` for any other text.
pub fn parse_rfc3339(text: &str) -> Option<SystemTime> {
    DateTime::parse_from_rfc3339(text)
        .ok()
        .map(SystemTime::from)
}

/// Appends `time` by RFC 3339. Each thread keeps the text of the last second, since a log has many lines in one.
pub fn append_rfc3339(out: &mut Vec<u8>, time: SystemTime) {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    let Ok(since) = since else {
        return out.extend_from_slice(rfc3339(time).as_bytes());
    };
    LAST_SECOND.with_borrow_mut(|(second, text)| {
        if *second != since.as_secs() || text.is_empty() {
            *text = rfc3339(time);
            *second = since.as_secs();
        }
        out.extend_from_slice(&text.as_bytes()[..text.len() - "000Z".len()]);
        out.extend_from_slice(&three_digits(since.subsec_millis()));
        out.push(b'Z');
    });
}

/// A number below 1,000 as decimal digits.
#[inline]
pub fn three_digits(number: u32) -> [u8; 3] {
    let (hundreds, rest) = (number / 100, number % 100);
    let digit = |digit: u32| b'0' + digit as u8;
    [digit(hundreds % 10), digit(rest / 10), digit(rest % 10)]
}

thread_local! {
    /// A second since the epoch, and a time in it as text.
    static LAST_SECOND: RefCell<(u64, String)> = const { RefCell::new((0, String::new())) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_time_has_milliseconds_always() {
        for (millis, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (1_795_319_026_455, "2026-11-22T03:43:46.455Z"),
            (1_795_319_026_007, "2026-11-22T03:43:46.007Z"),
            (1_795_319_026_500, "2026-11-22T03:43:46.500Z"),
        ] {
            let time = SystemTime::UNIX_EPOCH + Duration::from_millis(millis);
            assert_eq!(rfc3339(time), expected);
            let mut appended = Vec::new();
            append_rfc3339(&mut appended, time);
            assert_eq!(appended, expected.as_bytes());
        }
    }
}
