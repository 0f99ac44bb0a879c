//! A recorded response, and the format in which records keep it.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The version of the format; a record with another one is a miss.
const FORMAT: u8 = 1;
/// The memory of an entry besides its body and its headers, in bytes.
const ENTRY_OVERHEAD: usize = 512;
/// The memory of a header besides name and value, in bytes.
const HEADER_OVERHEAD: usize = 64;

/// The SHA-256 of everything that a response depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CacheKey(pub [u8; 32]);

/// A complete response with status 200, as its caller received it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedResponse {
    /// Without the headers of the exchange, such as the request id.
    pub headers: HeaderMap,
    /// The body as it is, or all events of a stream.
    pub body: Bytes,
    /// When it was recorded, in Unix milliseconds.
    pub recorded_ms: u64,
}

/// What a record has besides the body.
#[derive(Serialize, Deserialize)]
struct ResponseRecordHead {
    recorded_ms: u64,
    headers: Vec<(String, String)>,
}

impl CachedResponse {
    /// How long ago the response was recorded; 0 if a clock was set back.
    pub fn age_at(&self, now_ms: u64) -> Duration {
        Duration::from_millis(now_ms.saturating_sub(self.recorded_ms))
    }

    /// The memory that the entry takes, in bytes.
    pub fn bytes_in_memory(&self) -> usize {
        let headers = self.headers.iter();
        let headers = headers.map(|(name, value)| name.as_str().len() + value.len());
        let headers: usize = headers.map(|bytes| bytes + HEADER_OVERHEAD).sum();
        self.body.len() + headers + ENTRY_OVERHEAD
    }

    /// The version of the format, the head as one line of JSON, and the body.
    pub(super) fn encode(&self) -> Bytes {
        let text = |value: &HeaderValue| value.to_str().ok().map(str::to_owned);
        let headers = self.headers.iter();
        let headers = headers.filter_map(|(name, value)| Some((name.to_string(), text(value)?)));
        let head = ResponseRecordHead {
            recorded_ms: self.recorded_ms,
            headers: headers.collect(),
        };
        let mut value = vec![FORMAT];
        serde_json::to_writer(&mut value, &head).expect("plain fields are JSON");
        value.push(b'\n');
        value.extend_from_slice(&self.body);
        value.into()
    }

    /// The response in a record; `None` if it is not in this format.
    pub(super) fn decode(value: &Bytes) -> Option<Self> {
        let line_end = memchr::memchr(b'\n', value)?;
        let json = value[..line_end].strip_prefix(&[FORMAT])?;
        let head: ResponseRecordHead = serde_json::from_slice(json).ok()?;
        let mut headers = HeaderMap::with_capacity(head.headers.len());
        for (name, value) in head.headers {
            let name = name.parse::<HeaderName>().ok()?;
            headers.append(name, value.parse::<HeaderValue>().ok()?);
        }
        Some(Self {
            headers,
            body: value.slice(line_end + 1..),
            recorded_ms: head.recorded_ms,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::header;

    #[test]
    fn a_response_is_the_same_after_it_was_in_a_record() {
        let mut headers = HeaderMap::new();
        headers.append(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        headers.append(header::CACHE_CONTROL, HeaderValue::from_static("a"));
        headers.append(header::CACHE_CONTROL, HeaderValue::from_static("b"));
        for body in [&b""[..], b"\n", b"{\"a\":\"\\n\"}\n\n", &[0, 255, 10, 13]] {
            let response = CachedResponse {
                headers: headers.clone(),
                body: Bytes::copy_from_slice(body),
                recorded_ms: 7,
            };
            assert_eq!(CachedResponse::decode(&response.encode()), Some(response));
        }
    }

    #[test]
    fn a_record_of_another_format_is_no_response() {
        for value in [
            &b""[..],
            b"\n",
            b"\x02{}\n",
            b"\x01{}\nbody",
            b"\x01no json\n",
        ] {
            let value = Bytes::copy_from_slice(value);
            assert_eq!(CachedResponse::decode(&value), None, "{value:?}");
        }
    }

    #[test]
    fn an_age_is_never_negative() {
        let response = CachedResponse {
            headers: HeaderMap::new(),
            body: Bytes::new(),
            recorded_ms: 5_000,
        };
        for (now_ms, expected_ms) in [(4_000, 0), (5_000, 0), (6_500, 1_500)] {
            let age = response.age_at(now_ms);
            assert_eq!(age, Duration::from_millis(expected_ms));
        }
    }
}
