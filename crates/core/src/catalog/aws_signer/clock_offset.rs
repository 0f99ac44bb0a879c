//! How far the clock of AWS is ahead of the gateway's, by answers that refuse the time of a signature.

use chrono::DateTime;
use http::{HeaderMap, header};
use memchr::memmem;
use std::sync::atomic::{AtomicI64, Ordering};

/// An offset in milliseconds, zero until an answer says otherwise.
#[derive(Default)]
pub(super) struct ClockOffset(AtomicI64);

/// A larger offset is no skew of clocks; a response must not move signatures further.
const OFFSET_MS_MAX: u64 = 15 * 60_000;
/// What errors about the time of a signature have, by AWS's lists of common errors.
const MESSAGES: [&[u8]; 4] = [
    b"Signature expired",
    b"Signature not yet current",
    b"RequestExpired",
    b"RequestTimeTooSkewed",
];

impl ClockOffset {
    /// The time of AWS at `now_ms`, both in Unix milliseconds.
    pub fn add_to(&self, now_ms: u64) -> u64 {
        now_ms.saturating_add_signed(self.0.load(Ordering::Relaxed))
    }

    /// Reads an error response that came at `now_ms`, in Unix milliseconds. Returns whether it is about the time, so that
    /// a request signed now may be accepted.
    pub fn learn(&self, headers: &HeaderMap, body: &[u8], now_ms: u64) -> bool {
        let is_about_time = |message: &&[u8]| memmem::find(body, message).is_some();
        if !MESSAGES.iter().any(is_about_time) {
            return false;
        }
        let date = headers
            .get(header::DATE)
            .and_then(|date| date.to_str().ok());
        let date = date.and_then(|date| DateTime::parse_from_rfc2822(date).ok());
        let Some((date, now)) = date.zip(i64::try_from(now_ms).ok()) else {
            return false;
        };
        let offset = date.timestamp_millis().saturating_sub(now);
        let is_skew = offset.unsigned_abs() <= OFFSET_MS_MAX;
        if is_skew {
            self.0.store(offset, Ordering::Relaxed);
        }
        is_skew
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_is_learned_from_an_error_about_the_time_alone() {
        // Sun, 30 Aug 2015 12:36:00 GMT.
        const DATE_MS: u64 = 1_440_938_160_000;
        const EARLY: &str = r#"{"message":"Signature not yet current: 1 is still later than 2"}"#;
        const MINUTE_MS: u64 = 60_000;
        for (body, date, now_ms, expected) in [
            (EARLY, true, DATE_MS - 10 * MINUTE_MS, DATE_MS),
            (EARLY, true, DATE_MS + 15 * MINUTE_MS, DATE_MS),
            (
                r#"{"message":"Signature expired: 1"}"#,
                true,
                DATE_MS - 1,
                DATE_MS,
            ),
            (r#"{"__type":"RequestExpired"}"#, true, DATE_MS - 1, DATE_MS),
            (
                EARLY,
                true,
                DATE_MS - 16 * MINUTE_MS,
                DATE_MS - 16 * MINUTE_MS,
            ),
            (EARLY, true, u64::MAX, u64::MAX),
            (EARLY, false, DATE_MS - 1, DATE_MS - 1),
            (r#"{"message":"denied"}"#, true, DATE_MS - 1, DATE_MS - 1),
        ] {
            let mut headers = HeaderMap::new();
            if date {
                let date = "Sun, 30 Aug 2015 12:36:00 GMT";
                headers.insert(header::DATE, date.parse().unwrap());
            }
            let offset = ClockOffset::default();
            let is_learned = offset.learn(&headers, body.as_bytes(), now_ms);
            assert_eq!(offset.add_to(now_ms), expected, "{body} {now_ms}");
            assert_eq!(is_learned, expected != now_ms, "{body} {now_ms}");
        }
    }
}
