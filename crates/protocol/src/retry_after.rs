//! The wait that a provider's error response asks for, from its headers or its body.

use super::date::read_rfc3339;
use super::json::skim;
use chrono::{Offset, Utc};
use http::HeaderMap;
use memchr::memmem::Finder;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The maximum; a longer wait is reduced to it.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(24 * 60 * 60);

static RETRY_DELAY: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"retryDelay\""));

/// The wait that the headers ask for; `None` if they contain no valid one.
///
/// Read in this order: `retry-after-ms`, `retry-after` in seconds or as a date, then the reset of a limit that is used
/// up: `x-ratelimit-reset-…` as `1s` or `6m0s`, `anthropic-ratelimit-…-reset` as a date, and
/// `anthropic-ratelimit-unified-…-reset` as a date or in Unix seconds.
pub fn from_headers(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let milliseconds = text("retry-after-ms").and_then(|text| number(text, 1e-3));
    let retry_after = || {
        let text = text("retry-after")?;
        number(text, 1.0).or_else(|| Some(until(httpdate::parse_http_date(text).ok()?, now)))
    };
    let requested = milliseconds
        .or_else(retry_after)
        .or_else(|| reset_of_what_is_used_up(headers, now))
        .or_else(|| unified_reset(headers, now));
    requested.map(|requested| requested.min(RETRY_AFTER_MAX))
}

/// The wait in the body of an error, as Google's APIs have it: `{"error": {"details": [{"retryDelay": "34.5s"}]}}`, in some of
/// them as the only element of a list.
pub fn from_error_body(body: &[u8]) -> Option<Duration> {
    RETRY_DELAY.find(body)?;
    let whole = 0..body.len();
    let root = match body.trim_ascii_start().first() {
        Some(b'[') => skim::elements(body, whole).next()?,
        _ => whole,
    };
    let member = |object, name: &[u8]| {
        let mut members = skim::members(body, object);
        members.find_map(|(key, value)| (key == name).then_some(value))
    };
    let details = member(member(root, b"error")?, b"details")?;
    let delays = skim::elements(body, details).filter_map(|detail| {
        let delay = skim::members(body, detail).find(|(key, _)| *key == b"retryDelay");
        spelled_out(skim::plain_string(body, delay?.1)?)
    });
    delays.max().map(|delay| delay.min(RETRY_AFTER_MAX))
}

fn reset_of_what_is_used_up(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: String| headers.get(name)?.to_str().ok().map(str::trim);
    ["requests", "tokens", "input-tokens", "output-tokens"]
        .iter()
        .filter_map(|what| {
            let used_up = |name| text(name) == Some("0");
            if used_up(format!("x-ratelimit-remaining-{what}")) {
                return spelled_out(text(format!("x-ratelimit-reset-{what}"))?);
            }
            if used_up(format!("anthropic-ratelimit-{what}-remaining")) {
                let reset = text(format!("anthropic-ratelimit-{what}-reset"))?;
                return Some(until(read_rfc3339(reset, Utc.fix())?.into(), now));
            }
            None
        })
        .max()
}

/// The reset of the windows that an account of a subscription has, by the windows that refuse requests; without one that
/// says so, the common reset.
fn unified_reset(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    const PREFIX: &str = "anthropic-ratelimit-unified-";
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let wait = |text: &str| match text.parse() {
        Ok(seconds) => {
            let at = UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
            // A time that is later than the system's last one is a wait.
            Some(at.map_or(RETRY_AFTER_MAX, |at| until(at, now)))
        }
        Err(_) => Some(until(read_rfc3339(text, Utc.fix())?.into(), now)),
    };
    let windows = headers.keys().filter_map(|name| {
        let window = name.as_str().strip_prefix(PREFIX)?.strip_suffix("-reset")?;
        let status = text(&format!("{PREFIX}{window}-status"))?;
        (status == "rejected").then(|| wait(text(name.as_str())?))?
    });
    let common = || wait(text(&format!("{PREFIX}reset"))?);
    windows.max().or_else(common)
}

fn number(text: &str, unit: f64) -> Option<Duration> {
    let number: f64 = text.parse().ok()?;
    let wait = Duration::try_from_secs_f64(number * unit).ok();
    // A wait that is longer than a duration can be is a wait.
    let is_whole = text.bytes().all(|byte| byte.is_ascii_digit());
    wait.or(is_whole.then_some(RETRY_AFTER_MAX))
}

/// Parses `1s`, `6m0s`, `1h2m3.5s` or `120ms`; a number without a unit is in seconds.
fn spelled_out(text: &str) -> Option<Duration> {
    if let Some(seconds) = number(text, 1.0) {
        return Some(seconds);
    }
    let mut rest = text;
    let mut whole = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (count, after) = rest.split_at(digits);
        let letters = after
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(after.len());
        let (unit, next) = after.split_at(letters);
        let unit = match unit {
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        whole = whole.checked_add(number(count, unit)?)?;
        rest = next;
    }
    Some(whole)
}

fn until(time: SystemTime, now: SystemTime) -> Duration {
    time.duration_since(now).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderName, HeaderValue};

    #[test]
    fn a_wait_may_be_in_the_body_of_an_error() {
        let cases = [
            (
                r#"{"error":{"details":[{"a":1},{"@type":"RetryInfo","retryDelay":"34.5s"}]}}"#,
                Some(34_500),
            ),
            (
                r#"{"error":{"details":[{"retryDelay":"1s"},{"retryDelay":"2s"}]}}"#,
                Some(2000),
            ),
            (
                r#" [{"error":{"code":429,"details":[{"retryDelay":"3s"}]}}]"#,
                Some(3000),
            ),
            (r#"[{"error":{"details":[]}}]"#, None),
            (r#"[["retryDelay"]]"#, None),
            (
                r#"{"error":{"details":[{"retryDelay":"999999999s"}]}}"#,
                Some(86_400_000),
            ),
            (r#"{"error":{"details":[{"retryDelay":"soon"}]}}"#, None),
            (r#"{"error":{"details":[{"retryDelay":34}]}}"#, None),
            (r#"{"error":{"details":"retryDelay"}}"#, None),
            (r#"{"error":{"message":"\"retryDelay\":\"1s\""}}"#, None),
            ("", None),
        ];
        for (body, milliseconds) in cases {
            let wait = from_error_body(body.as_bytes());
            assert_eq!(wait, milliseconds.map(Duration::from_millis), "{body}");
        }
    }

    #[test]
    fn every_retry_after_format_is_parsed() {
        let now = UNIX_EPOCH + Duration::from_secs(784_111_777 - 30);
        for (headers, milliseconds) in [
            (&[("retry-after", "2")][..], Some(2_000)),
            (&[("retry-after", "0.5")], Some(500)),
            (
                &[("retry-after", "7"), ("retry-after-ms", "250")],
                Some(250),
            ),
            (
                &[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")],
                Some(30_000),
            ),
            (&[("retry-after", "Sun, 06 Nov 1994 08:49:00 GMT")], Some(0)),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "1e300")], None),
            (
                &[("retry-after", "100000000000000000000")],
                Some(86_400_000),
            ),
            (&[("retry-after", "Thu, 01 Jan 1970 00:00:00 GMT")], Some(0)),
            (&[("retry-after", "99999999")], Some(86_400_000)),
            (
                &[
                    ("x-ratelimit-remaining-requests", "0"),
                    ("x-ratelimit-reset-requests", "6m0s"),
                ],
                Some(360_000),
            ),
            (
                &[
                    ("x-ratelimit-remaining-tokens", "0"),
                    ("x-ratelimit-reset-tokens", "120ms"),
                ],
                Some(120),
            ),
            (
                &[
                    ("x-ratelimit-remaining-tokens", "5"),
                    ("x-ratelimit-reset-tokens", "1h"),
                ],
                None,
            ),
            (
                &[
                    ("anthropic-ratelimit-tokens-remaining", "0"),
                    ("anthropic-ratelimit-tokens-reset", "1994-11-06T08:49:37Z"),
                ],
                Some(30_000),
            ),
            (
                &[("anthropic-ratelimit-unified-reset", "18446744073709551615")],
                Some(86_400_000),
            ),
            (
                &[("anthropic-ratelimit-unified-reset", "784111777")],
                Some(30_000),
            ),
            (
                &[
                    ("anthropic-ratelimit-unified-reset", "784115347"),
                    ("anthropic-ratelimit-unified-5h-reset", "784111777"),
                    ("anthropic-ratelimit-unified-5h-status", "rejected"),
                    ("anthropic-ratelimit-unified-7d-reset", "784119999"),
                    ("anthropic-ratelimit-unified-7d-status", "allowed"),
                ],
                Some(30_000),
            ),
            (
                &[
                    ("retry-after", "2"),
                    ("anthropic-ratelimit-unified-reset", "784111777"),
                ],
                Some(2_000),
            ),
            (&[("anthropic-ratelimit-unified-reset", "soon")], None),
            (&[], None),
        ] {
            let map: HeaderMap = headers
                .iter()
                .map(|(name, value)| {
                    (
                        HeaderName::from_static(name),
                        HeaderValue::from_static(value),
                    )
                })
                .collect();
            let expected = milliseconds.map(Duration::from_millis);
            assert_eq!(from_headers(&map, now), expected, "{headers:?}");
        }
    }
}
