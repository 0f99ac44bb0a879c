//! Rate limit headers of responses, with the names and formats of each protocol.

use super::date::rfc3339;
use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use smallvec::SmallVec;
use std::time::Duration;

/// The maximum number of headers: three for each unit.
const HEADERS_MAX: usize = 6;
/// Enough for the values of all headers, unless limits have more than ten digits.
const VALUES_BYTES: usize = 96;

/// The state of one of a caller's limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallerRateLimitStatus {
    pub limit: u64,
    pub remaining: u64,
    /// The time until the whole limit is free again.
    pub reset: Duration,
}

/// What the limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateLimitUnit {
    Requests,
    Tokens,
}

/// The rate limit headers of a protocol.
#[derive(Debug)]
pub struct CallerRateLimitHeaderFormat {
    /// The names for the limit, what remains of it, and its reset.
    pub requests: [HeaderName; 3],
    pub tokens: [HeaderName; 3],
    pub reset: ResetFormat,
}

/// How a header says when a limit is free again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetFormat {
    /// `6m0s`
    Duration,
    /// A point in time of RFC 3339.
    Time,
}

/// The headers for the limits of each unit; `now` is in Unix milliseconds.
pub fn headers(
    format: &CallerRateLimitHeaderFormat,
    limits: impl IntoIterator<Item = (RateLimitUnit, CallerRateLimitStatus)>,
    now: u64,
) -> Vec<(HeaderName, HeaderValue)> {
    // All values are slices of one piece of memory, since every response has these headers.
    let mut values = String::with_capacity(VALUES_BYTES);
    let mut ends = SmallVec::<[_; HEADERS_MAX]>::new();
    for (counted, status) in limits {
        let [limit, remaining, reset] = match counted {
            RateLimitUnit::Requests => &format.requests,
            RateLimitUnit::Tokens => &format.tokens,
        };
        push_decimal(&mut values, status.limit);
        ends.push((limit, values.len()));
        push_decimal(&mut values, status.remaining);
        ends.push((remaining, values.len()));
        push_reset(&mut values, format.reset, status.reset, now);
        ends.push((reset, values.len()));
    }
    let values = Bytes::from(values);
    let mut start = 0;
    let header = |(name, end): (&HeaderName, usize)| {
        let value = values.slice(std::mem::replace(&mut start, end)..end);
        let value = HeaderValue::from_maybe_shared(value);
        let value = value.expect("numbers, durations and dates are plain text");
        (name.clone(), value)
    };
    ends.into_iter().map(header).collect()
}

fn push_reset(text: &mut String, format: ResetFormat, reset: Duration, now: u64) {
    match format {
        ResetFormat::Time => {
            let reset_ms = u64::try_from(reset.as_millis()).unwrap_or(u64::MAX);
            // Rounded down: rounded up, the time would lie after the end of the window.
            text.push_str(&rfc3339(now.saturating_add(reset_ms) / 1000));
        }
        ResetFormat::Duration => push_duration(text, reset),
    }
}

/// A duration as `12s`, `6m0s` or `23h59m1s`, rounded up to the second.
pub fn duration_text(duration: Duration) -> String {
    let mut text = String::new();
    push_duration(&mut text, duration);
    text
}

fn push_duration(text: &mut String, duration: Duration) {
    let seconds = whole_seconds(duration);
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    if hours > 0 {
        push_decimal(text, hours);
        text.push('h');
    }
    if hours > 0 || minutes > 0 {
        push_decimal(text, minutes);
        text.push('m');
    }
    push_decimal(text, seconds % 60);
    text.push('s');
}

fn push_decimal(text: &mut String, number: u64) {
    text.push_str(itoa::Buffer::new().format(number));
}

/// Seconds, rounded up, so that a client that waits for this long is not too early.
pub fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Protocol;

    #[test]
    fn durations_are_written_as_clients_read_them() {
        for (ms, words) in [
            (0, "0s"),
            (1, "1s"),
            (1000, "1s"),
            (59_001, "1m0s"),
            (360_000, "6m0s"),
            (3_600_000, "1h0m0s"),
            (86_399_000, "23h59m59s"),
            (2_592_000_000, "720h0m0s"),
        ] {
            assert_eq!(duration_text(Duration::from_millis(ms)), words);
        }
    }

    #[test]
    fn each_protocol_has_its_header_names() {
        let allowance = CallerRateLimitStatus {
            limit: 60,
            remaining: 7,
            reset: Duration::from_millis(61_500),
        };
        let reported = |protocol, counted| {
            let format = Protocol::descriptor_for(protocol).rate_limits;
            let headers = headers(format, [(counted, allowance)], 951_782_399_000);
            let lines = headers.iter();
            let lines = lines.map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()));
            lines.collect::<Vec<_>>()
        };
        for protocol in [None, Some(Protocol::Chat), Some(Protocol::Responses)] {
            assert_eq!(
                reported(protocol, RateLimitUnit::Requests),
                [
                    "x-ratelimit-limit-requests: 60",
                    "x-ratelimit-remaining-requests: 7",
                    "x-ratelimit-reset-requests: 1m2s",
                ]
            );
        }
        assert_eq!(
            reported(Some(Protocol::Messages), RateLimitUnit::Tokens),
            [
                "anthropic-ratelimit-tokens-limit: 60",
                "anthropic-ratelimit-tokens-remaining: 7",
                "anthropic-ratelimit-tokens-reset: 2000-02-29T00:01:00Z",
            ]
        );
    }
}
