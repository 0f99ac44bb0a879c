//! Times at which credentials expire, by the clock of the server that issued them.

use chrono::DateTime;
use headgate_core::state::calendar::unix_ms;
use http::{HeaderMap, header};
use std::time::Duration;

/// The longest lifetime that is believed.
pub(crate) const LIFETIME_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// How long a credential is valid that expires at `time`, in RFC 3339, of a response with these headers; at most
/// [`LIFETIME_MAX`].
///
/// # Errors
/// `time` is none, or has passed.
pub(crate) fn time_until(time: &str, headers: &HeaderMap) -> Result<Duration, &'static str> {
    let expires = DateTime::parse_from_rfc3339(time).map_err(|_| "its end is no time")?;
    let left = expires
        .timestamp_millis()
        .saturating_sub(server_time(headers));
    let left = u64::try_from(left).ok().filter(|left| *left > 0);
    left.map(|left| Duration::from_millis(left).min(LIFETIME_MAX))
        .ok_or("it has expired already")
}

/// The time of the server, in Unix milliseconds, so that a wrong clock here shortens no credential; that of this machine if the
/// server tells none.
fn server_time(headers: &HeaderMap) -> i64 {
    let date = headers.get(header::DATE);
    let date = date.and_then(|date| DateTime::parse_from_rfc2822(date.to_str().ok()?).ok());
    let own = || i64::try_from(unix_ms()).unwrap_or(i64::MAX);
    date.map_or_else(own, |date| date.timestamp_millis())
}
