//! Rate limit headers of responses, with the names and formats of each protocol.

use super::Protocol;
use super::date::rfc3339;
use http::{HeaderName, HeaderValue};
use std::time::Duration;

/// The state of one of a caller's limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimitStatus {
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

impl RateLimitStatus {
    /// The names and values of the headers; `now` is in Unix milliseconds.
    ///
    /// The messages protocol has its own names and points in time; other protocols have chat's names and durations.
    pub fn headers(
        &self,
        protocol: Option<Protocol>,
        counted: RateLimitUnit,
        now: u64,
    ) -> [(HeaderName, HeaderValue); 3] {
        let reset = match protocol {
            Some(Protocol::Messages) => {
                let reset_ms = u64::try_from(self.reset.as_millis()).unwrap_or(u64::MAX);
                // Rounded down: rounded up, the time would lie after the end of the window.
                text_value(rfc3339(now.saturating_add(reset_ms) / 1000))
            }
            _ => text_value(duration_text(self.reset)),
        };
        let [limit, remaining, at] = names(protocol, counted).clone();
        [
            (limit, HeaderValue::from(self.limit)),
            (remaining, HeaderValue::from(self.remaining)),
            (at, reset),
        ]
    }
}

fn text_value(text: String) -> HeaderValue {
    HeaderValue::try_from(text).expect("durations and dates are plain text")
}

/// The names of the headers for the limit, what remains of it, and its reset.
fn names(protocol: Option<Protocol>, counted: RateLimitUnit) -> &'static [HeaderName; 3] {
    static REQUESTS: [HeaderName; 3] = [
        HeaderName::from_static("x-ratelimit-limit-requests"),
        HeaderName::from_static("x-ratelimit-remaining-requests"),
        HeaderName::from_static("x-ratelimit-reset-requests"),
    ];
    static TOKENS: [HeaderName; 3] = [
        HeaderName::from_static("x-ratelimit-limit-tokens"),
        HeaderName::from_static("x-ratelimit-remaining-tokens"),
        HeaderName::from_static("x-ratelimit-reset-tokens"),
    ];
    static MESSAGES_REQUESTS: [HeaderName; 3] = [
        HeaderName::from_static("anthropic-ratelimit-requests-limit"),
        HeaderName::from_static("anthropic-ratelimit-requests-remaining"),
        HeaderName::from_static("anthropic-ratelimit-requests-reset"),
    ];
    static MESSAGES_TOKENS: [HeaderName; 3] = [
        HeaderName::from_static("anthropic-ratelimit-tokens-limit"),
        HeaderName::from_static("anthropic-ratelimit-tokens-remaining"),
        HeaderName::from_static("anthropic-ratelimit-tokens-reset"),
    ];
    match (protocol, counted) {
        (Some(Protocol::Messages), RateLimitUnit::Requests) => &MESSAGES_REQUESTS,
        (Some(Protocol::Messages), RateLimitUnit::Tokens) => &MESSAGES_TOKENS,
        (_, RateLimitUnit::Requests) => &REQUESTS,
        (_, RateLimitUnit::Tokens) => &TOKENS,
    }
}

/// A duration as `12s`, `6m0s` or `23h59m1s`, rounded up to the second.
pub fn duration_text(duration: Duration) -> String {
    let seconds = whole_seconds(duration);
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m{seconds}s"),
        (hours, minutes, seconds) => format!("{hours}h{minutes}m{seconds}s"),
    }
}

/// Seconds, rounded up, so that a client that waits for this long is not too early.
pub fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let allowance = RateLimitStatus {
            limit: 60,
            remaining: 7,
            reset: Duration::from_millis(61_500),
        };
        let reported = |protocol, counted| {
            allowance
                .headers(protocol, counted, 951_782_399_000)
                .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
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
