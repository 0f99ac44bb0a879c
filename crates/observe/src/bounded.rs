//! Bounds texts from callers and providers for logs, and redacts what looks like a key.

use headgate_protocol::redact::redact;
use std::borrow::Cow;

/// Maximum length of a log field in bytes, before JSON escaping.
pub const FIELD_BYTES_MAX: usize = 1024;
/// Maximum length of a log field whose values are usually short, in bytes.
pub const SHORT_BYTES_MAX: usize = 256;

/// The first `most` bytes of `text` at most. A cut text ends with a mark that gives its full length.
pub fn bounded(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let mark = format!("…({} bytes)", text.len());
    let kept = text.floor_char_boundary(most.saturating_sub(mark.len()));
    Cow::Owned(format!("{}{mark}", &text[..kept]))
}

/// Like [`bounded`], for bytes that may not be UTF-8; redacts what looks like a key.
pub fn cleaned(bytes: &[u8], most: usize) -> Cow<'_, str> {
    match redact(bytes, &[]) {
        Cow::Borrowed(clean) => match std::str::from_utf8(clean) {
            Ok(text) => bounded(text, most),
            Err(_) => Cow::Owned(bounded(&String::from_utf8_lossy(clean), most).into_owned()),
        },
        Cow::Owned(clean) => {
            let text = String::from_utf8_lossy(&clean);
            Cow::Owned(bounded(&text, most).into_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters_and_states_its_length() {
        for (text, most, expected) in [
            ("", 0, String::new()),
            ("abc", 3, "abc".into()),
            ("\u{1f600}", 4, "\u{1f600}".into()),
            (&"a".repeat(40), 20, format!("{}…(40 bytes)", "a".repeat(7))),
            (
                &"\u{e9}".repeat(20),
                20,
                format!("{}…(40 bytes)", "\u{e9}".repeat(3)),
            ),
            (&"\u{1f600}".repeat(10), 20, "\u{1f600}…(40 bytes)".into()),
        ] {
            let cut = bounded(text, most);
            assert_eq!(cut, expected);
            assert!(cut.len() <= most, "{cut}");
        }
    }

    #[test]
    fn keys_and_broken_characters_are_no_part_of_it() {
        let key = format!("{} sk-0123456789abcdef0123", "x".repeat(100));
        for (bytes, expected) in [
            (&b"curl/8 (a)"[..], "curl/8 (a)"),
            (b"a\xffb", "a\u{fffd}b"),
            (b"Bearer 0123456789abcdef", "Bearer [redacted]"),
            (b"\xff sk-0123456789abcdef", "\u{fffd} [redacted]"),
        ] {
            assert_eq!(cleaned(bytes, 100), expected);
        }
        // A key across the cut is redacted too.
        assert!(!cleaned(key.as_bytes(), 118).contains("sk-"));
    }
}
