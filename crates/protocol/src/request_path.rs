//! Paths of requests: the one normal form that routing, access control and providers see, and the text of segments.

use crate::percent_encoding::{decoded, decoded_bytes, push_encoded};
use std::borrow::Cow;

/// Why a path is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestPathError {
    #[error("the path has characters that must be percent-encoded")]
    Character,
    #[error("the path has empty or dot segments; remove `//`, `.` and `..`")]
    Segment,
    #[error(
        "the path has a `%` without two hexadecimal digits after it; write a percent sign as `%25`"
    )]
    Escape,
    #[error("the path has percent-encoded bytes that are not UTF-8; encode its text as UTF-8")]
    Encoding,
    #[error("the path has a percent-encoded backslash or control character; send it without")]
    HiddenCharacter,
    #[error(
        "the path has a percent-encoded slash or percent sign where only the text of a path parameter may have one; send it without"
    )]
    HiddenSlash,
}

/// The normal form of a path that begins with `/`: only what RFC 3986, section 3.3 does not allow in a segment is
/// percent-encoded, in upper case. Paths whose segments have the same text have the same normal form.
///
/// # Errors
/// Parsers could read the path differently, or one of its segments has no text.
pub fn normalised(path: &str) -> Result<Cow<'_, str>, RequestPathError> {
    if is_plain(path) {
        return Ok(Cow::Borrowed(path));
    }
    let mut normal = String::with_capacity(path.len());
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let text = decode_segment(segment)?;
        let is_empty = text.is_empty() && segments.peek().is_some();
        if is_empty || matches!(&*text, "." | "..") {
            return Err(RequestPathError::Segment);
        }
        normal.push('/');
        push_encoded(&mut normal, &text);
    }
    Ok(Cow::Owned(normal))
}

/// The text of a segment of a path in normal form.
pub fn segment_text(segment: &str) -> Cow<'_, str> {
    decoded(segment)
}

/// Whether a path in normal form has an escape that some servers decode once more or take for a separator. Such a path is
/// not sent to a provider.
pub fn has_hidden_slash(path: &str) -> bool {
    let path = path.as_bytes();
    let mut escapes = memchr::memchr_iter(b'%', path);
    escapes.any(|at| matches!(&path[at + 1..], [b'2', b'F' | b'5', ..]))
}

/// Whether a path has only characters that mean the same to every parser, and no empty segment.
fn is_plain(path: &str) -> bool {
    let mut last = 0;
    path.bytes().all(|byte| {
        let is_empty_segment = (last, byte) == (b'/', b'/');
        last = byte;
        let is_mark = matches!(byte, b'/' | b'-' | b'_');
        !is_empty_segment && (is_mark || byte.is_ascii_alphanumeric())
    })
}

fn decode_segment(segment: &str) -> Result<Cow<'_, str>, RequestPathError> {
    let is_allowed = |byte: u8| byte.is_ascii_graphic() && byte != b'\\';
    if !segment.bytes().all(is_allowed) {
        return Err(RequestPathError::Character);
    }
    let is_escape = |after: &str| {
        let digits = after.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    if !segment.split('%').skip(1).all(is_escape) {
        return Err(RequestPathError::Escape);
    }
    if !segment.contains('%') {
        return Ok(Cow::Borrowed(segment));
    }
    let text = String::from_utf8(decoded_bytes(segment.as_bytes()))
        .map_err(|_| RequestPathError::Encoding)?;
    match text.contains(|character: char| character == '\\' || character.is_control()) {
        true => Err(RequestPathError::HiddenCharacter),
        false => Ok(Cow::Owned(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_one_normal_form_and_its_segments_have_one_text() {
        for (path, normal, last) in [
            ("/v1/messages", "/v1/messages", "messages"),
            ("/v1/models/", "/v1/models/", ""),
            ("/", "/", ""),
            ("/v1/%6dodels", "/v1/models", "models"),
            ("/v1/models/a%20b", "/v1/models/a%20b", "a b"),
            ("/v1/models/gpt-4%2e1", "/v1/models/gpt-4.1", "gpt-4.1"),
            ("/v1/models/a%3ab", "/v1/models/a:b", "a:b"),
            ("/v1/models/a:b@c+d", "/v1/models/a:b@c+d", "a:b@c+d"),
            (
                "/v1/models/claude[1m]",
                "/v1/models/claude%5B1m%5D",
                "claude[1m]",
            ),
            (
                "/v1/models/claude%5b1m%5d",
                "/v1/models/claude%5B1m%5D",
                "claude[1m]",
            ),
            (
                "/v1/models/%e4%b8%ad%E6%96%87",
                "/v1/models/%E4%B8%AD%E6%96%87",
                "中文",
            ),
            ("/v1/models/a%2fb", "/v1/models/a%2Fb", "a/b"),
            ("/v1/models/50%25", "/v1/models/50%25", "50%"),
            ("/v1/models/%252e", "/v1/models/%252e", "%2e"),
            ("/v1/models/%2E%2e%2e", "/v1/models/...", "..."),
        ] {
            let found = normalised(path).unwrap();
            assert_eq!(found, normal, "{path}");
            let segment = found.rsplit('/').next().unwrap();
            assert_eq!(segment_text(segment), last, "{path}");
            assert_eq!(normalised(&found).unwrap(), normal, "{path} once more");
        }
    }

    #[test]
    fn a_path_that_parsers_could_read_differently_is_refused() {
        use RequestPathError::{Character, Encoding, Escape, HiddenCharacter, Segment};
        for (path, reason) in [
            ("/v1//messages", Segment),
            ("//v1/messages", Segment),
            ("/v1/./messages", Segment),
            ("/v1/../messages", Segment),
            ("/v1/%2e%2e/messages", Segment),
            ("/v1/.%2E", Segment),
            ("/v1/%2e", Segment),
            ("/v1/a b", Character),
            ("/v1/caf\u{e9}", Character),
            ("/v1\\messages", Character),
            ("/v1/%zz", Escape),
            ("/v1/%2", Escape),
            ("/v1/%", Escape),
            ("/v1/%+1", Escape),
            ("/v1/%c3%28", Encoding),
            ("/v1/%ff", Encoding),
            ("/v1/%c0%ae%c0%ae", Encoding),
            ("/v1/%ed%a0%80", Encoding),
            ("/v1%5cmessages", HiddenCharacter),
            ("/v1/%00", HiddenCharacter),
            ("/v1/a%0d%0aX:b", HiddenCharacter),
            ("/v1/%7f", HiddenCharacter),
            ("/v1/%c2%85", HiddenCharacter),
        ] {
            assert_eq!(normalised(path), Err(reason), "{path}");
        }
    }

    #[test]
    fn only_escapes_that_servers_decode_to_separators_hide_a_slash() {
        for (path, hides) in [
            ("/v1/responses/a%2Fb", true),
            ("/v1/responses/a%25b", true),
            ("/v1/responses/a%20b%5B", false),
            ("/v1/responses/a2F25", false),
        ] {
            assert_eq!(has_hidden_slash(path), hides, "{path}");
        }
    }
}
