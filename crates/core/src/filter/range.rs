//! The `range` of a request: one range of bytes, as RFC 9110 has it.

use http::HeaderValue;

/// The part of a file that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestedRange {
    /// No range, or one that a server may ignore: of another unit, malformed, or several.
    Whole,
    /// From the first byte to before the second.
    Part(u64, u64),
    Unsatisfiable,
}

impl RequestedRange {
    pub fn parse(range: Option<&str>, size: u64) -> Self {
        let spec = range.and_then(|range| range.trim().strip_prefix("bytes="));
        let Some((first, last)) = spec.and_then(|spec| spec.trim().split_once('-')) else {
            return Self::Whole;
        };
        let number = |text: &str| {
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| text.parse().unwrap_or(u64::MAX))
        };
        let (start, end) = match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last => (first, last.saturating_add(1)),
            (Some(first), None) if last.is_empty() => (first, size),
            (None, Some(last)) if first.is_empty() => (size.saturating_sub(last), size),
            _ => return Self::Whole,
        };
        let end = end.min(size);
        match start < end {
            true => Self::Part(start, end),
            false => Self::Unsatisfiable,
        }
    }

    /// The value of `content-range` in a response with a file of `size` bytes; `None` for the whole file.
    pub fn content_range(&self, size: u64) -> Option<HeaderValue> {
        let value = match self {
            Self::Whole => return None,
            Self::Part(start, end) => format!("bytes {start}-{}/{size}", end - 1),
            Self::Unsatisfiable => format!("bytes */{size}"),
        };
        Some(HeaderValue::try_from(value).expect("numbers are valid in headers"))
    }
}

#[cfg(test)]
mod tests {
    use super::RequestedRange::{self, Part, Unsatisfiable, Whole};

    #[test]
    fn one_range_of_bytes_is_understood() {
        for (range, expected) in [
            ("bytes=0-9", Part(0, 10)),
            ("bytes=0-0", Part(0, 1)),
            ("bytes=90-", Part(90, 100)),
            ("bytes=90-1000", Part(90, 100)),
            ("bytes=90-99999999999999999999", Part(90, 100)),
            ("bytes=-10", Part(90, 100)),
            ("bytes=-1000", Part(0, 100)),
            ("bytes=100-", Unsatisfiable),
            ("bytes=100-200", Unsatisfiable),
            ("bytes=-0", Unsatisfiable),
            ("bytes=9-0", Whole),
            ("bytes=a-b", Whole),
            ("bytes=-", Whole),
            ("bytes=+1-2", Whole),
            ("bytes=0-1,5-6", Whole),
            ("items=0-9", Whole),
            ("", Whole),
        ] {
            assert_eq!(RequestedRange::parse(Some(range), 100), expected, "{range}");
        }
        assert_eq!(RequestedRange::parse(None, 100), Whole);
        assert_eq!(RequestedRange::parse(Some("bytes=0-"), 0), Unsatisfiable);
    }
}
