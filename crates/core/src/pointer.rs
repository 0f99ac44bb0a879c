//! JSON pointers (RFC 6901): how places in a configuration are named.

use std::fmt;

/// The reference tokens of a JSON pointer, unescaped.
pub fn tokens(pointer: &str) -> impl Iterator<Item = String> {
    let escaped = pointer.split('/').skip(1);
    escaped.map(|token| token.replace("~1", "/").replace("~0", "~"))
}

/// A pointer one token longer: a key, or an index of a list.
pub fn child(pointer: &str, token: impl fmt::Display) -> String {
    let token = token.to_string().replace('~', "~0").replace('/', "~1");
    format!("{pointer}/{token}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_escape_and_unescape() {
        let pointer = child(&child("", "a/b~c"), 3);
        assert_eq!(pointer, "/a~1b~0c/3");
        assert_eq!(tokens(&pointer).collect::<Vec<_>>(), ["a/b~c", "3"]);
    }
}
