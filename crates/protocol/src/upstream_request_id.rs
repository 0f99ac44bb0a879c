//! The provider's request id, which its support asks for.

use super::json::skim;
use http::{HeaderMap, HeaderValue};

/// Response headers with a request id: the provider's own first, those of the CDN before it last.
const HEADERS: [&str; 11] = [
    "x-request-id",
    "request-id",
    "x-dashscope-request-id",
    "x-amzn-requestid",
    "x-amzn-request-id",
    "x-ms-request-id",
    "apim-request-id",
    "x-tt-logid",
    "x-goog-request-id",
    "x-correlation-id",
    "cf-ray",
];

/// The id in a response's headers; empty values are ignored.
pub fn from_headers(headers: &HeaderMap) -> Option<&HeaderValue> {
    // A response has few headers, so that comparing each with all names costs less than a lookup of each name.
    let rank = |name: &str| HEADERS.iter().position(|known| *known == name);
    let ids = headers
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .filter_map(|(name, value)| Some((rank(name.as_str())?, value)));
    let first = ids.min_by_key(|(rank, _)| *rank);
    first.map(|(_, value)| value)
}

/// The id in a JSON body, if it has one.
pub fn from_body(body: &[u8]) -> Option<HeaderValue> {
    let id = skim::find_string(body, &["request_id"])?;
    HeaderValue::from_str(id).ok().filter(|id| !id.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderName;

    #[test]
    fn the_providers_own_id_precedes_those_of_proxies() {
        for (headers, expected) in [
            (
                &[("cf-ray", "ray"), ("x-request-id", "own")][..],
                Some("own"),
            ),
            (&[("x-request-id", "own"), ("cf-ray", "ray")], Some("own")),
            (&[("x-request-id", ""), ("cf-ray", "ray")], Some("ray")),
            (&[("x-request-id", "a"), ("x-request-id", "b")], Some("a")),
            (&[("x-request", "a"), ("date", "b")], None),
            (&[], None),
        ] {
            let map: HeaderMap = headers
                .iter()
                .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
                .collect::<Vec<(HeaderName, HeaderValue)>>()
                .into_iter()
                .collect();
            let found = from_headers(&map).and_then(|id| id.to_str().ok());
            assert_eq!(found, expected, "{headers:?}");
        }
    }

    #[test]
    fn a_body_that_names_a_request_id_has_one() {
        for (body, expected) in [
            (r#"{"request_id":"a-1","output":{}}"#, Some("a-1")),
            (
                r#"{"error":{"request_id":"inner"},"request_id":"outer"}"#,
                Some("outer"),
            ),
            (r#"{"request_id":null}"#, None),
            (r#"{"request_id":""}"#, None),
            (r#"{"request_id":7}"#, None),
            (r#"{"error":{"request_id":"inner"}}"#, None),
            ("<html>", None),
            ("", None),
        ] {
            let found = from_body(body.as_bytes());
            let found = found.as_ref().and_then(|id| id.to_str().ok());
            assert_eq!(found, expected, "{body}");
        }
    }
}
