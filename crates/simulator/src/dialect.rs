//! The dialects the simulated provider answers in, errors and headers included.

use http::HeaderMap;

/// Whose shapes an answer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApiDialect {
    Chat,
    Messages,
    Responses,
    Images,
    FamilyA,
    FamilyB,
}

impl ApiDialect {
    /// The dialect in which a request to `path` is answered.
    pub fn of(path: &str, headers: &HeaderMap) -> Self {
        if path.contains("/contents/generations/tasks") {
            return Self::FamilyA;
        }
        if path.contains("/api/v1/services/") || path.contains("/api/v1/tasks") {
            return Self::FamilyB;
        }
        let path = path.trim_start_matches("/v1/");
        if path.starts_with("messages")
            || (path.starts_with("models") || path.starts_with("files"))
                && headers.contains_key("anthropic-version")
        {
            Self::Messages
        } else if path.starts_with("responses")
            || path.starts_with("conversations")
            || path.starts_with("containers")
        {
            Self::Responses
        } else if path.starts_with("images") {
            Self::Images
        } else {
            Self::Chat
        }
    }
}
