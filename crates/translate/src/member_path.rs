//! Paths of members in texts that callers and logs get: bounded, and without what a caller may write.

/// The longest name that is shown.
const NAME_BYTES_MAX: usize = 64;

/// A path for any element of arrays, with names that are no free text: `messages[2].content` is `messages[].content`.
pub(crate) fn path_without_indexes(path: &str) -> String {
    let names = path.split('.').map(|name| {
        let (name, index) = name.split_once('[').unwrap_or((name, ""));
        let arrays = index.matches(']').count();
        format!("{}{}", plain_name(name), "[]".repeat(arrays))
    });
    names.collect::<Vec<_>>().join(".")
}

/// A name as identifiers are; other text is not shown.
pub(crate) fn plain_name(name: &str) -> &str {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    match name.len() <= NAME_BYTES_MAX && name.bytes().all(is_plain) {
        true => name,
        false => "?",
    }
}
