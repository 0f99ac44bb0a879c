//! The URL under which others reach this gateway, and the gateway's own paths below it.

use std::sync::Arc;

/// `server.public_url`, without a trailing slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl(Arc<str>);

impl PublicUrl {
    /// Takes a URL that was checked when the configuration was built.
    pub fn new(url: &str) -> Self {
        Self(url.trim_end_matches('/').into())
    }

    /// The URL of a path of this gateway; `path` begins with a slash.
    pub fn join(&self, path: &str) -> String {
        format!("{}{path}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_appended_to_the_prefix() {
        for url in [
            "https://gate.example.com/ai",
            "https://gate.example.com/ai/",
        ] {
            let joined = PublicUrl::new(url).join("/_headgate/media/x");
            assert_eq!(joined, "https://gate.example.com/ai/_headgate/media/x");
        }
    }
}
