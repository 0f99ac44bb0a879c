//! Paths of members in texts that callers and logs get: bounded, and without what a caller may write.

use std::borrow::Cow;

/// The longest name that is shown.
const NAME_BYTES_MAX: usize = 64;

/// A path for any element of arrays, with names that are no free text: `messages[2].content` is `messages[].content`.
pub fn path_without_indexes(path: &str) -> Cow<'_, str> {
    if plain_name(path) == path {
        return Cow::Borrowed(path);
    }
    let mut any = String::with_capacity(path.len());
    for (position, name) in path.split('.').enumerate() {
        let (name, index) = name.split_once('[').unwrap_or((name, ""));
        if position > 0 {
            any.push('.');
        }
        any.push_str(plain_name(name));
        for _ in index.matches(']') {
            any.push_str("[]");
        }
    }
    Cow::Owned(any)
}

/// A name as identifiers are; other text is not shown.
pub fn plain_name(name: &str) -> &str {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    match name.len() <= NAME_BYTES_MAX && name.bytes().all(is_plain) {
        true => name,
        false => "?",
    }
}
