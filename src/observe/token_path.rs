//! Paths of the gateway's own URLs without the token in them, which gives access to what it names.

/// The prefixes of paths that continue with a token, each with what logs show in place of the path.
const TOKEN_PATHS: [(&str, &str); 2] = [
    ("/_headgate/callback/", "/_headgate/callback/…"),
    ("/_headgate/media/", "/_headgate/media/…"),
];

/// The path as logs and messages may show it.
pub fn without_token(path: &str) -> &str {
    let shown = TOKEN_PATHS
        .iter()
        .find(|(prefix, _)| path.len() > prefix.len() && path.contains(prefix));
    shown.map_or(path, |(_, shown)| shown)
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
            ("/_headgate/media/", "/_headgate/media/"),
            ("/v1/chat/completions", "/v1/chat/completions"),
        ] {
            assert_eq!(without_token(path), shown, "{path}");
        }
    }
}
