//! The caller's `cache-control` (RFC 9111, section 5.2.1).

use http::{HeaderMap, header};
use std::time::Duration;

/// What the caller allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallerCacheControl {
    /// Neither reading nor recording: `no-store`.
    Bypass,
    /// Recording only: `no-cache` and `max-age=0`.
    Record,
    /// Recording, and reading of responses that are not older than this.
    ReadAndRecord { age_max: Option<Duration> },
}

impl CallerCacheControl {
    pub fn from_headers(headers: &HeaderMap) -> Self {
        let lines = headers.get_all(header::CACHE_CONTROL).iter();
        // A line that cannot be read may be one that forbids something.
        let texts = lines.map(|line| line.to_str().unwrap_or("no-store"));
        let each = texts.flat_map(|line| line.split(',')).map(Self::parse);
        each.fold(Self::ReadAndRecord { age_max: None }, Self::strictest)
    }

    fn parse(directive: &str) -> Self {
        let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
        match &*name.trim().to_ascii_lowercase() {
            "no-store" => Self::Bypass,
            "no-cache" => Self::Record,
            "max-age" => match seconds(value.trim().trim_matches('"')) {
                0 => Self::Record,
                age_max => Self::ReadAndRecord {
                    age_max: Some(Duration::from_secs(age_max)),
                },
            },
            _ => Self::ReadAndRecord { age_max: None },
        }
    }

    fn strictest(self, other: Self) -> Self {
        match (self, other) {
            (Self::Bypass, _) | (_, Self::Bypass) => Self::Bypass,
            (Self::Record, _) | (_, Self::Record) => Self::Record,
            (Self::ReadAndRecord { age_max: one }, Self::ReadAndRecord { age_max: other }) => {
                Self::ReadAndRecord {
                    age_max: [one, other].into_iter().flatten().min(),
                }
            }
        }
    }
}

/// The seconds of an age; one that is no number is 0, the strictest one.
fn seconds(text: &str) -> u64 {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match is_number {
        true => text.parse().unwrap_or(u64::MAX),
        false => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::CallerCacheControl::{Bypass, ReadAndRecord, Record};
    use super::*;
    use http::HeaderValue;

    #[test]
    fn the_strictest_directive_of_all_lines_applies() {
        let up_to = |seconds| ReadAndRecord {
            age_max: Some(Duration::from_secs(seconds)),
        };
        let any = ReadAndRecord { age_max: None };
        for (lines, expected) in [
            (&[][..], any),
            (&["no-store"], Bypass),
            (&["no-store, max-age=60"], Bypass),
            (&["no-cache", "no-store"], Bypass),
            (&["no-cache"], Record),
            (&["No-Cache, max-age=60"], Record),
            (&["max-age=60"], up_to(60)),
            (&["max-age=\"60\""], up_to(60)),
            (&["max-age=60, max-age=30"], up_to(30)),
            (&["max-age=30", "private, max-age=60"], up_to(30)),
            (&["max-age=60", "no-store"], Bypass),
            (&["max-age=0"], Record),
            (&["max-age=60, max-age=0"], Record),
            (&["max-age=x"], Record),
            (&["max-age"], Record),
            (&["max-age=-1"], Record),
            (&["max-age=+1"], Record),
            (&["max-age=99999999999999999999999"], up_to(u64::MAX)),
            (&["private, stale-if-error=5"], any),
            (&["\u{e9}"], Bypass),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                let value = HeaderValue::from_bytes(line.as_bytes()).unwrap();
                headers.append(header::CACHE_CONTROL, value);
            }
            assert_eq!(
                CallerCacheControl::from_headers(&headers),
                expected,
                "{lines:?}"
            );
        }
    }
}
