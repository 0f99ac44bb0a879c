//! Paths of the gateway's own URLs without the token in them, which gives access to what it names.

use std::borrow::Cow;

/// The prefixes of paths that continue with a token, each with what logs show in place of the path.
const TOKEN_PATHS: [(&str, &str); 2] = [
    ("/_headgate/callback/", "/_headgate/callback/…"),
    ("/_headgate/media/", "/_headgate/media/…"),
];

/// The path as logs and messages may show it. Clients that change the case of a path or escape more of it than they
/// should do not get what they want, but their tokens are valid.
pub fn without_token(path: &str) -> &str {
    // Most paths have no underscore, and nothing that could be one.
    if !path.bytes().any(|byte| matches!(byte, b'_' | b'%')) {
        return path;
    }
    let plain = plain(path);
    let shown = TOKEN_PATHS
        .iter()
        .find(|(prefix, _)| plain.len() > prefix.len() && plain.contains(prefix));
    shown.map_or(path, |(_, shown)| shown)
}

/// The path in lower case and without escapes.
fn plain(path: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte != b'%' && !byte.is_ascii_uppercase();
    if path.bytes().all(is_plain) {
        return Cow::Borrowed(path);
    }
    let mut plain = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(start) = rest.chars().next() {
        let escaped = rest.strip_prefix('%').and_then(|digits| digits.get(..2));
        match escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                plain.push(char::from(byte).to_ascii_lowercase());
                rest = &rest[3..];
            }
            None => {
                plain.push(start.to_ascii_lowercase());
                rest = &rest[start.len_utf8()..];
            }
        }
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_not_shown_wherever_its_path_begins() {
        for (path, shown) in [
            ("/_headgate/callback/abc", "/_headgate/callback/…"),
            ("/_headgate/callback/abc/def", "/_headgate/callback/…"),
            ("/v1/_headgate/media/abc", "/_headgate/media/…"),
            ("/%5Fheadgate/media/abc", "/_headgate/media/…"),
            ("/_headgate/media%2fabc", "/_headgate/media/…"),
            ("/_Headgate/Media/abc", "/_headgate/media/…"),
            ("/_headgate%2Fcallback%2Fabc%", "/_headgate/callback/…"),
            ("/%zz/é%", "/%zz/é%"),
            ("/_headgate/media/", "/_headgate/media/"),
            ("/v1/chat/completions", "/v1/chat/completions"),
        ] {
            assert_eq!(without_token(path), shown, "{path}");
        }
    }
}
