//! The caller's `cache-control` (RFC 9111, section 5.2.1).

use http::{HeaderMap, header};
use std::time::Duration;

/// What the caller allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CallerDirectives {
    /// Whether the response may be recorded; false for `no-store`.
    pub stores: bool,
    /// Whether a recorded response may be sent; false for `no-cache`, `max-age=0` and `no-store`.
    pub reads: bool,
    /// The highest age of a recorded response.
    pub age_max: Option<Duration>,
}

impl CallerDirectives {
    pub fn of(headers: &HeaderMap) -> Self {
        let mut allowed = Self {
            stores: true,
            reads: true,
            age_max: None,
        };
        let lines = headers.get_all(header::CACHE_CONTROL).iter();
        // A line that cannot be read may be one that forbids something.
        let texts = lines.map(|line| line.to_str().unwrap_or("no-store"));
        for directive in texts.flat_map(|line| line.split(',')) {
            let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
            match &*name.trim().to_ascii_lowercase() {
                "no-store" => (allowed.stores, allowed.reads) = (false, false),
                "no-cache" => allowed.reads = false,
                "max-age" => allowed.limit_age(value.trim().trim_matches('"')),
                _ => {}
            }
        }
        allowed
    }

    /// An age that is no number is 0, the strictest one.
    fn limit_age(&mut self, seconds: &str) {
        let seconds = match seconds.parse::<u64>() {
            Ok(seconds) => seconds,
            Err(_) if !seconds.is_empty() && seconds.bytes().all(|byte| byte.is_ascii_digit()) => {
                u64::MAX
            }
            Err(_) => 0,
        };
        let age_max = Duration::from_secs(seconds);
        self.reads &= seconds > 0;
        self.age_max = Some(self.age_max.map_or(age_max, |other| other.min(age_max)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn the_strictest_directive_of_all_lines_applies() {
        for (lines, stores, reads, age_max) in [
            (&[][..], true, true, None),
            (&["no-store"], false, false, None),
            (&["no-cache"], true, false, None),
            (&["No-Cache, max-age=60"], true, false, Some(60)),
            (&["max-age=60"], true, true, Some(60)),
            (&["max-age=\"60\""], true, true, Some(60)),
            (&["max-age=60, max-age=30"], true, true, Some(30)),
            (&["max-age=60", "no-store"], false, false, Some(60)),
            (&["max-age=0"], true, false, Some(0)),
            (&["max-age=x"], true, false, Some(0)),
            (&["max-age"], true, false, Some(0)),
            (&["max-age=-1"], true, false, Some(0)),
            (
                &["max-age=99999999999999999999999"],
                true,
                true,
                Some(u64::MAX),
            ),
            (&["private, stale-if-error=5"], true, true, None),
            (&["\u{e9}"], false, false, None),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                let value = HeaderValue::from_bytes(line.as_bytes()).unwrap();
                headers.append(header::CACHE_CONTROL, value);
            }
            let expected = CallerDirectives {
                stores,
                reads,
                age_max: age_max.map(Duration::from_secs),
            };
            assert_eq!(CallerDirectives::of(&headers), expected, "{lines:?}");
        }
    }
}
