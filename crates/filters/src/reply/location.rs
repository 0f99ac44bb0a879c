//! The URL of a redirect: what a client may be sent to.

use http::HeaderValue;

/// The schemes of a URL that clients follow.
const SCHEMES: [&str; 2] = ["http", "https"];

/// The value of a `location` header: an `http` or `https` URL, or a relative reference.
///
/// # Errors
/// Why a client cannot be redirected there, as the end of a sentence, without the text.
pub fn header_value(text: &str) -> Result<HeaderValue, &'static str> {
    if text.is_empty() {
        return Err("must not be empty");
    }
    if !text.bytes().all(is_of_urls) {
        return Err("has characters that a URL must not have; percent-encode them");
    }
    let head = text.split(['/', '?', '#']).next().unwrap_or_default();
    if let Some((scheme, _)) = head.split_once(':') {
        let is_known = SCHEMES
            .iter()
            .any(|known| known.eq_ignore_ascii_case(scheme));
        let rest = text[scheme.len()..].strip_prefix("://");
        let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next());
        if !is_known || host.is_none_or(str::is_empty) {
            return Err("must be an `http` or `https` URL, or a path");
        }
    }
    HeaderValue::from_str(text)
        .map_err(|_| "has characters that a URL must not have; percent-encode them")
}

/// Whether RFC 3986 has this byte in URLs.
fn is_of_urls(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_sent_to_web_addresses_and_paths_only() {
        for text in [
            "/v1/models",
            "models?after=a:b",
            "//other.example/x",
            "https://find.example/?q=cats#top",
            "HTTP://[::1]:8080/%20",
            "?page=2",
            "/a:b",
        ] {
            assert_eq!(header_value(text).unwrap(), text);
        }
        for text in [
            "",
            "javascript:alert(1)",
            "JavaScript:alert(1)",
            "data:text/html,x",
            "https:",
            "https:///x",
            "https:find.example",
            "ftp://find.example/",
            "/a b",
            "/a\r\nset-cookie: x=y",
            "/ü",
            "/\\other.example",
            "/<script>",
        ] {
            assert!(header_value(text).is_err(), "{text:?}");
        }
    }
}
