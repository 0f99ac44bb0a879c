//! The media type of streams of frames.

use http::{HeaderMap, header};

const MEDIA_TYPE: &str = "application/vnd.amazon.eventstream";

/// Whether a body consists of frames, by the headers of its response.
pub fn declares_frames(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let essence = content_type.and_then(|value| value.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case(MEDIA_TYPE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn the_media_type_counts_without_its_parameters() {
        for (content_type, expected) in [
            ("application/vnd.amazon.eventstream", true),
            ("Application/VND.amazon.EventStream ; charset=utf-8", true),
            ("application/vnd.amazon.eventstreams", false),
            ("text/event-stream", false),
            ("", false),
        ] {
            let value = HeaderValue::from_static(content_type);
            let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, value)]);
            assert_eq!(declares_frames(&headers), expected, "{content_type}");
        }
        assert!(!declares_frames(&HeaderMap::new()));
    }
}
