//! Names and values of headers that operators may set.

use super::descriptor::InvalidSettings;
use http::{HeaderName, HeaderValue};

/// Parses a header name that operators may set or remove. The gateway itself sets framing and connection headers.
///
/// # Errors
/// The name is not a header name, or it is a framing or connection header.
pub fn header_name(name: &str) -> Result<HeaderName, InvalidSettings> {
    let parsed = HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| InvalidSettings::new(format!("`{name}` is not a header name")))?;
    match parsed.as_str() {
        "connection" | "content-length" | "host" | "keep-alive" | "proxy-connection" | "te"
        | "trailer" | "transfer-encoding" | "upgrade" => Err(InvalidSettings::new(format!(
            "`{name}` is a connection header that the gateway sets; it cannot be changed here"
        ))),
        _ => Ok(parsed),
    }
}

/// The value of a header that operators set; `None` unless it has only visible ASCII characters, spaces and tabs.
pub fn header_value(text: &str) -> Option<HeaderValue> {
    let value = HeaderValue::from_str(text).ok()?;
    value.to_str().is_ok().then_some(value)
}

/// The error about a value in settings that [`header_value`] refuses.
pub fn invalid_value() -> InvalidSettings {
    InvalidSettings::new("not a valid header value: use visible ASCII characters, spaces and tabs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_visible_ascii() {
        for (text, is_valid) in [
            ("a\tb c~", true),
            ("", true),
            ("two\nlines", false),
            ("a\r", false),
            ("grün", false),
            ("\u{7f}", false),
        ] {
            assert_eq!(header_value(text).is_some(), is_valid, "{text:?}");
        }
    }

    #[test]
    fn a_header_of_the_connection_is_refused() {
        for name in [
            "Connection",
            "content-length",
            "Transfer-Encoding",
            "host",
            "no spaces",
        ] {
            assert!(header_name(name).is_err(), "{name}");
        }
    }
}
