//! The head of a data URI (RFC 2397): its media type and parameters, up to the comma.

/// Longest text between `data:` and the comma.
pub(super) const HEAD_BYTES_MAX: usize = 256;

const SCHEME: &[u8] = b"data:";

/// Whether a text begins like a data URI, in any case of letters.
pub fn has_data_scheme(text: &[u8]) -> bool {
    let scheme = text.get(..SCHEME.len());
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case(SCHEME))
}

/// The media type in lower case and the base64 of a data URI, in a text without escapes; `None` for any other text.
pub fn split_data_uri(text: &str) -> Option<(String, &str)> {
    if !has_data_scheme(text.as_bytes()) {
        return None;
    }
    let rest = &text[SCHEME.len()..];
    let mut end = HeadEnd::default();
    let head = rest.bytes().take(HEAD_BYTES_MAX);
    let comma = head.enumerate().find(|(_, byte)| end.is_at(*byte));
    let (comma, _) = comma?;
    let media_type = media_type_in(&rest[..comma])?;
    Some((media_type, &rest[comma + 1..]))
}

/// The media type in lower case, without parameters; `None` if the data is not in base64.
pub(super) fn media_type_in(head: &str) -> Option<String> {
    let (media_type, parameters) = head.split_once(';')?;
    let last = parameters.rsplit(';').next()?;
    let is_base64 = last.trim().eq_ignore_ascii_case("base64");
    is_base64.then(|| media_type.trim().to_ascii_lowercase())
}

/// Finds the comma that ends the head: one in a quoted value of a parameter does not.
#[derive(Default)]
pub(super) struct HeadEnd {
    is_quoted: bool,
}

impl HeadEnd {
    /// Whether `byte`, the next one of the head, ends it.
    pub fn is_at(&mut self, byte: u8) -> bool {
        self.is_quoted ^= byte == b'"';
        byte == b',' && !self.is_quoted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_uri_is_split_at_the_comma_that_ends_its_head() {
        for (text, expected) in [
            ("data:image/png;base64,AA", Some(("image/png", "AA"))),
            ("DATA:Image/PNG;BASE64,AA", Some(("image/png", "AA"))),
            (
                "data:video/mp4;codecs=\"a, b\";base64,AA",
                Some(("video/mp4", "AA")),
            ),
            ("data:;charset=utf-8;base64,AA", Some(("", "AA"))),
            ("data:image/png,AA", None),
            ("data:image/png;base64;a=b,AA", None),
            ("data:image/png;a=\";base64,AA", None),
            ("https://x.example/data:image/png;base64,AA", None),
            ("dat", None),
        ] {
            let split = split_data_uri(text);
            let split = split.as_ref().map(|(kind, data)| (&**kind, *data));
            assert_eq!(split, expected, "{text}");
        }
    }
}
