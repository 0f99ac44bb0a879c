//! Times as logs and admin pages show them: RFC 3339 in UTC, to the millisecond.

use chrono::{DateTime, SecondsFormat, Utc};
use std::time::SystemTime;

/// `time` by RFC 3339.
pub fn rfc3339(time: SystemTime) -> String {
    DateTime::<Utc>::from(time).to_rfc3339_opts(SecondsFormat::Millis, true)
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
            (1_795_319_026_500, "2026-11-22T03:43:46.500Z"),
        ] {
            let time = SystemTime::UNIX_EPOCH + Duration::from_millis(millis);
            assert_eq!(rfc3339(time), expected);
        }
    }
}
